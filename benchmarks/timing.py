"""Wall and CPU time of alternatives, taken in turn so that what the machine does meanwhile hits all of them."""

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

Setup = Callable[[int], Callable[[], object]]
"""Prepares, untimed, what the repetition with this number will run."""


def interleaved(contenders: Mapping[str, Setup], repetitions: int, number: int = 1) -> dict[str, dict[str, Any]]:
    """Return medians and quartiles, in ms a call; one repetition before the first is thrown away.

    Args:
        contenders: What to time, by name.
        repetitions: How often each is timed.
        number: Calls of the function in one repetition; their mean is the time.
    """
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    for repetition in range(-1, repetitions):
        for name, setup in contenders.items():
            function = setup(max(repetition, 0))
            gc.collect()
            cpu_start, start = time.process_time(), time.perf_counter()
            for _ in range(number):
                function()
            elapsed, cpu_elapsed = time.perf_counter() - start, time.process_time() - cpu_start
            if repetition >= 0:
                wall[name].append(1e3 * elapsed / number)
                cpu[name].append(1e3 * cpu_elapsed / number)
    return {name: _summary(wall[name], cpu[name]) for name in contenders}


def _summary(wall: list[float], cpu: list[float]) -> dict[str, Any]:
    return {
        "repetitions": len(wall),
        "wall_ms": statistics.median(wall),
        "wall_quartiles_ms": _quartiles(wall),
        "cpu_ms": statistics.median(cpu),
        "cpu_quartiles_ms": _quartiles(cpu),
    }


def _quartiles(values: list[float]) -> list[float]:
    if len(values) < 2:
        return [values[0], values[0]]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


def is_one_thread() -> bool:
    """Return whether the user restricted BLAS and OpenMP to one thread."""
    return all(os.environ.get(name) == "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))


def hardware() -> str:
    """Return the hardware in words."""
    info = Path("/proc/cpuinfo")
    is_virtual = info.exists() and " hypervisor" in info.read_text()
    return f"{os.cpu_count()}-core {platform.machine()} {'virtual ' if is_virtual else ''}machine, {platform.system()}"


def machine() -> dict[str, Any]:
    """Return the hardware and the versions in words."""
    packages = ("regretstop", "numpy", "scipy", "torch", "botorch", "gpytorch", "optuna")
    return {
        "hardware": hardware(),
        "python": platform.python_version(),
        "threads": "one (OPENBLAS_NUM_THREADS=1, OMP_NUM_THREADS=1)" if is_one_thread() else "default pools",
        "load": round(os.getloadavg()[0], 2),
        **{name: version(name) for name in packages},
    }

"""What it changed that the modes of the hyperparameters are searched for: the same points, before and after.

`data/modes_before.jsonl.gz` was written by `run` with the source that it names, whose search for a mode started from
the prior medians and from the mode at the last of 8, 16, 32, … observations.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import histories
from benchmarks.histories import History
from benchmarks.paths import DELTA, EVERY_FOURTH
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, Matern52, UCBbr
from regretstop.model import Embedding, GaussianProcess, HyperparameterDensity, Treatment, standardize

PATH = RESULTS / "modes.jsonl.gz"
BEFORE = histories.DATA / "modes_before.jsonl.gz"
TREATMENTS: tuple[Treatment, ...] = ("map", "posterior")
SIZES = (40, 60, 100)


def run(seeds: int, path: Path = PATH) -> None:
    """Run the records that the file does not hold yet: real histories in both treatments, the others at the mode.

    Args:
        seeds: How many histories of each of the benchmark's problems, three at most.
        path: The file.
    """
    keys = [{"history": each.name, "treatment": treatment} for each in histories.real() for treatment in TREATMENTS]
    keys += [{"history": each.name, "treatment": "map"} for each in histories.recorded(seeds)]
    run_pending(_run, keys, path, processes=1)


def _run(key: dict[str, Any]) -> dict[str, Any]:
    found = {each.name: each for each in (*histories.recorded(), *histories.real())}
    return key | assess(found[key["history"]], key["treatment"])


def assess(history: History, treatment: Treatment) -> dict[str, Any]:
    """Return what UCBbr says along a history, and −log density and σ (in the values' spreads) of the mode."""
    sizes = EVERY_FOURTH.up_to(len(history.observations)) if history.regrets else list(SIZES)
    optimizer = GPUCB(history.space, direction=history.direction, surrogate=_surrogate(treatment), seed=0)
    at_mode = _surrogate("map", model_check=False)
    columns: dict[str, list[float | None]] = {name: [] for name in ("minus_log", "noise_std", "bounds", "named")}
    for n in sizes:
        optimizer.replace_history(history.observations[:n])
        certificate = UCBbr(history.epsilon, DELTA).assess(optimizer.snapshot())
        points, values = history.first(n).encoded()
        mode = at_mode.fit(points, values, categories=history.space.categories, sign=1.0).posteriors[0]
        theta = np.log([*mode.lengthscales, mode.prior_std, mode.noise_std])
        embedding, data = Embedding(history.space.categories), standardize(values)
        density = HyperparameterDensity(points, data.values, kernel=Matern52(), embedding=embedding, noise_std=None)
        named = certificate.incumbent if history.regrets else None
        columns["minus_log"].append(compact(density(theta)[0]))
        columns["noise_std"].append(compact(mode.noise_std, 3))
        columns["bounds"].append(compact(certificate.bound, 4))
        columns["named"].append(None if named is None else history.regrets[named])
    return {"problem": history.problem, "epsilon": history.epsilon, "sizes": sizes, **columns}


def _surrogate(treatment: Treatment, *, model_check: bool = True) -> GaussianProcess:
    return GaussianProcess(kernel=Matern52(), hyperparameters=treatment, model_check=model_check)

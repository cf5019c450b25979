"""What importing the package costs, what it loads, and what it offers."""

import importlib
import json
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

import regretstop

PUBLIC = {
    "GPUCB",
    "PRB",
    "Categorical",
    "Certificate",
    "Float",
    "Int",
    "Matern52",
    "Observation",
    "OptimalityGap",
    "RegretBound",
    "Result",
    "Rule",
    "Space",
    "SquaredExponential",
    "Surrogate",
    "UCBbr",
    "AcquisitionThreshold",
    "DeltaCB",
    "DeltaES",
    "instantaneous_regret_bound",
    "minimize",
}
FOREIGN = {"torch", "gpytorch", "botorch", "optuna", "ray", "skopt", "sklearn", "pandas", "matplotlib", "plotly"}

_TIMED = """
import json, sys, time
start = time.process_time()
import regretstop
print(json.dumps([time.process_time() - start, sorted(sys.modules)]))
"""

_USED = """
import json, sys
import regretstop
for name in regretstop.__all__:
    getattr(regretstop, name)
space = regretstop.Space({"x": regretstop.Float(0.0, 1.0), "c": regretstop.Categorical(["a", "b"])})
f = lambda p: (p["x"] - 0.3) ** 2
print(regretstop.minimize(f, space, rule=regretstop.UCBbr(0.1), max_trials=8, seed=0).certificate, file=sys.stderr)
print(json.dumps([0.0, sorted(sys.modules)]))
"""


def run(script: str) -> tuple[float, set[str]]:
    """Return the CPU seconds that a fresh interpreter reports, and the top-level packages it has loaded."""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    seconds, modules = json.loads(done.stdout)
    return seconds, {module.partition(".")[0] for module in modules}


def test_importing_takes_less_than_half_a_second() -> None:
    assert min(run(_TIMED)[0] for _ in range(3)) < 0.5


@pytest.mark.parametrize("script", [_TIMED, _USED], ids=["imported", "used"])
def test_no_framework_is_loaded(script: str) -> None:
    assert not run(script)[1] & FOREIGN


def test_public_names() -> None:
    assert set(regretstop.__all__) >= PUBLIC
    assert set(dir(regretstop)) >= PUBLIC
    assert sorted(regretstop.__all__) == sorted(set(regretstop.__all__))
    for name in regretstop.__all__:
        value = getattr(regretstop, name)
        assert getattr(importlib.import_module(value.__module__), name) is value
        assert value.__doc__


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="module 'regretstop' has no attribute 'gpucb'"):
        _ = regretstop.gpucb
    with pytest.raises(ImportError):
        from regretstop import nothing  # noqa: F401


def test_the_package_is_typed_and_depends_on_numpy_and_scipy_only() -> None:
    assert (Path(regretstop.__file__).parent / "py.typed").exists()
    required = [line for line in metadata("regretstop").get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert sorted(line.split(">")[0].strip() for line in required) == ["numpy", "scipy"]

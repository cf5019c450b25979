"""Constraints: certificates of the feasible optimum where better points are forbidden, and without a model of them.

Three problems of the literature on two parameters. The default rule is asked after every evaluation, by a model that is
told the values of the constraints and by one that is told only whether they are met.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, Float, Space, UCBbr

PATH = RESULTS / "constrained.jsonl.gz"
DELTA, TRIALS = 0.05, 80
Values = NDArray[np.float64]
Function = Callable[[Values, Values], Values]
VALUES, FLAGS = "the values", "whether they are met"
# Whose points, and what the model is told of the constraints.
WAYS = (("our sampler", VALUES), ("our sampler", FLAGS), ("TPE", VALUES), ("TPE", FLAGS))


@dataclass(frozen=True)
class Constrained:
    """A problem on a rectangle, to be minimised where no constraint is above 0; ε is about 1 % of its range."""

    low: tuple[float, float]
    high: tuple[float, float]
    objective: Function
    constraints: tuple[Function, ...]
    epsilon: float

    @property
    def space(self) -> Space:
        """The search space."""
        return Space({name: Float(*ends) for name, *ends in zip("xy", self.low, self.high, strict=True)})


PROBLEMS = {
    "Branin in a disk": Constrained(
        (-5.0, 0.0),
        (10.0, 15.0),
        lambda x, y: (
            (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10
        ),
        (lambda x, y: (x - 2.5) ** 2 + (y - 7.5) ** 2 - 50,),
        3.0,
    ),
    # Gardner et al. 2014, Bayesian optimization with inequality constraints, the first simulation
    "Gardner": Constrained(
        (0.0, 0.0),
        (6.0, 6.0),
        lambda x, y: np.cos(2 * x) * np.cos(y) + np.sin(x),
        (lambda x, y: np.cos(x) * np.cos(y) - np.sin(x) * np.sin(y) + 0.5,),
        0.04,
    ),
    # Gramacy et al. 2016, Modeling an augmented Lagrangian for blackbox constrained optimization, eq. (2)
    "Gramacy": Constrained(
        (0.0, 0.0),
        (1.0, 1.0),
        lambda x, y: x + y,
        (
            lambda x, y: 1.5 - x - 2 * y - 0.5 * np.sin(2 * np.pi * (x**2 - 2 * y)),
            lambda x, y: x**2 + y**2 - 1.5,
        ),
        0.02,
    ),
}


@cache
def optimum(name: str) -> float:
    """Return the feasible optimum, from ever finer grids around the best point."""
    problem = PROBLEMS[name]
    low, high = np.array(problem.low), np.array(problem.high)
    best, center, reach = np.inf, (low + high) / 2, (high - low) / 2
    for _ in range(5):
        sides = np.linspace(np.maximum(center - reach, low), np.minimum(center + reach, high), 1001).T
        x, y = np.meshgrid(*sides)
        is_met = np.all([constraint(x, y) <= 0.0 for constraint in problem.constraints], axis=0)
        values = np.where(is_met, problem.objective(x, y), np.inf)
        at = np.unravel_index(np.argmin(values), values.shape)
        best, center, reach = min(best, float(values[at])), np.array([x[at], y[at]]), reach / 20
    return best


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"problem": name, "points": points, "told": told, "seed": seed}
        for seed in range(seeds)
        for points, told in WAYS
        for name in PROBLEMS
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any], trials: int = TRIALS) -> dict[str, Any]:
    """Return where the search stopped, and how far the certified trial is from the feasible optimum."""
    start = time.process_time()
    problem, seed = PROBLEMS[key["problem"]], key["seed"]
    model = GPUCB(problem.space, direction="minimize", seed=seed)
    study = None if key["points"] == "our sampler" else _tpe(seed)
    n_feasible, stop, regret = 0, None, None
    while stop is None and len(model.history) < trials:
        trial = None if study is None else study.ask()
        params = model.ask(epsilon=problem.epsilon) if trial is None else _suggested(trial, problem)
        x, y = np.array(params["x"]), np.array(params["y"])
        value = float(problem.objective(x, y))
        constraints = [float(constraint(x, y)) for constraint in problem.constraints]
        if study is not None and trial is not None:
            trial.set_user_attr("constraints", constraints)
            study.tell(trial, value)
        is_met = max(constraints) <= 0.0
        n_feasible += is_met
        model.tell(params, value, feasible=is_met, constraints=constraints if key["told"] == VALUES else None)
        certificate = model.certificate(UCBbr(problem.epsilon, DELTA))
        if certificate.stop:
            assert certificate.incumbent_value is not None
            stop, regret = len(model.history), certificate.incumbent_value - optimum(key["problem"])
    return key | {
        "epsilon": problem.epsilon,
        "delta": DELTA,
        "stop": stop,
        "regret": None if regret is None else compact(max(regret, 0.0), 4),
        "n": len(model.history),
        "n_feasible": n_feasible,
        "cpu_s": round(time.process_time() - start, 2),
    }


def _tpe(seed: int) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the argument has been experimental, and deprecated
        sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=lambda trial: trial.user_attrs["constraints"])
    return optuna.create_study(sampler=sampler)


def _suggested(trial: Any, problem: Constrained) -> dict[str, float]:
    ends = zip("xy", problem.low, problem.high, strict=True)
    return {name: trial.suggest_float(name, low, high) for name, low, high in ends}

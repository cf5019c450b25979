"""The tables of the conditional studies, and what is searched in their place.

Optuna's own first example needs no surrogate: one branch is a function of one number and exact, the other of one
integer with noise. It is recorded at a fine grid, again and again; an evaluation is one of what was recorded, and true
is the mean of that. Of the others trees on 2,000 evaluations are searched, as of the jobs in `job_tables`, with the
noise of recorded pairs of evaluations that are about as good.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import job_tables
from benchmarks.conditional_jobs import CONDITIONAL_JOBS
from benchmarks.histories import DATA
from benchmarks.records import append, pack, read
from regretstop import Categorical, Float, Int, Space

PATH = DATA / "conditional.jsonl.gz"
CLASSIFIER = "classifier"
NAMES = (CLASSIFIER, *CONDITIONAL_JOBS)
EPSILON, BEST_POSSIBLE = 0.01, 1.0
_N_GRID, _N_AGAIN = 4001, 60
# Of a batch of 50 so many are evaluated twice.
_PAIRS = 15
# Scores of the example are means over three folds of 50.
_N_FLOWERS = 150
_COST, _DEPTH = Float(1e-10, 1e10, log=True), Int(2, 32, log=True)
_EXAMPLE = Space(
    {"classifier": Categorical(["SVC", "RandomForest"]), "svc_c": _COST, "rf_max_depth": _DEPTH},
    when={"svc_c": {"classifier": ["SVC"]}, "rf_max_depth": {"classifier": ["RandomForest"]}},
)


@dataclass(frozen=True)
class Searched:
    """What a study searches.

    Attributes:
        space: The space, which the study is not told.
        evaluate: Returns the mean score of repeated evaluations, and that of one.
        optimum: The highest mean score.
    """

    space: Space
    evaluate: Callable[[Mapping[str, Any], np.random.Generator], tuple[float, float]]
    optimum: float


def record(path: Path = PATH, n_points: int = job_tables.N_POINTS) -> None:
    """Evaluate what the file does not hold yet."""
    if all(each["job"] != CLASSIFIER for each in read(path)):
        append(path, _example_recorded())
    job_tables.record(path, n_points, CONDITIONAL_JOBS, _PAIRS)
    pack(path)


@cache
def searched_in(name: str, path: Path = PATH) -> Searched:
    """Return what the study of this name searches."""
    if name == CLASSIFIER:
        return _example(*example_table(path))
    found = job_tables.problem(name, path)

    def evaluate(params: Mapping[str, Any], rng: np.random.Generator) -> tuple[float, float]:
        value = found.objective(params)
        return value, job_tables.observed(name, value, rng, path)

    return Searched(found.space, evaluate, found.optimum)


def example_table(path: Path = PATH) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of the example: SVC by log C, shape (grid,), and forests by depth from 2, shape (31, again)."""
    (found,) = (each for each in read(path) if each["job"] == CLASSIFIER)
    return np.array(found["SVC"]) / _N_FLOWERS, np.array(found["RandomForest"]) / _N_FLOWERS


def _example(svc: NDArray[np.float64], forest: NDArray[np.float64]) -> Searched:
    def recorded(params: Mapping[str, Any]) -> NDArray[np.float64]:
        if params["classifier"] == "RandomForest":
            return forest[params["rf_max_depth"] - _DEPTH.low]
        return svc[[round(_COST.encode(params["svc_c"]) * (len(svc) - 1))]]

    def evaluate(params: Mapping[str, Any], rng: np.random.Generator) -> tuple[float, float]:
        scores = recorded(params)
        return float(scores.mean()), float(rng.choice(scores))

    return Searched(_EXAMPLE, evaluate, float(max(svc.max(), forest.mean(axis=1).max())))


def _example_recorded() -> dict[str, Any]:
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    from benchmarks.progress import track

    x, y = load_iris(return_X_y=True)

    def hits(model: Any) -> int:
        return round(float(np.mean(cross_val_score(model, x, y, cv=3))) * _N_FLOWERS)

    grid = track(np.linspace(0.0, 1.0, _N_GRID), "SVC", _N_GRID)
    depths = track(range(_DEPTH.low, _DEPTH.high + 1), "forests", _DEPTH.count)
    return {
        "job": CLASSIFIER,
        "batch": 0,
        "SVC": [hits(SVC(C=_COST.decode(u), gamma="auto")) for u in grid],
        "RandomForest": [
            [hits(RandomForestClassifier(max_depth=d, n_estimators=10, random_state=s)) for s in range(_N_AGAIN)]
            for d in depths
        ],
    }

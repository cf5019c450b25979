"""Tuning jobs whose trials report a score at every step: recorded curves, and what is searched in their place.

Two jobs are real: a network on digits by epochs, and boosted trees on diabetes by trees. Each was run to the end at so
many points, half of them all over the space, half near the best of those before; an ensemble of trees on the whole
curves is the job that is searched, so an evaluation is free and the optimum of the last value is known. Others are
drawn: the last value, how far below it a curve begins and how fast it rises are draws of a process of their own. Where
they are slow, curves rise the more slowly the larger x0 is: what looks good early lies on one side.
"""

import math
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.draws import cube_draw
from benchmarks.histories import DATA
from benchmarks.job_tables import around, everywhere, highest
from benchmarks.records import append, compact, pack, read
from regretstop import Float, Int, Space

Array = NDArray[np.float64]
Params = Mapping[str, Any]

PATH = DATA / "curves.jsonl.gz"
N_STEPS = 27
N_POINTS = 400
_BATCH = 50
_BEST = 0.1
DRAWN, SLOW = "drawn, d = 3", "drawn, slow at x0 = 1"
# Of a draw with unit deviation: its lengthscale, ε, how far below its last value a curve begins (times e to a draw that
# is half as large), and after how many steps a third of it is left (likewise).
_LENGTHSCALE, _DRAWN_EPSILON, _DEPTH, _STEPS = 0.7, 0.1, 1.5, 6.0
# The same depth everywhere, and after how many steps a third is left at x0 = 0, and how many times as many at 1.
_SLOW_DEPTH, _SLOW_STEPS, _SLOWER = 2.5, 3.0, 5.0


@dataclass(frozen=True)
class Job:
    """A job with curves.

    Attributes:
        space: The parameters.
        direction: Of the score.
        best_possible: The best value that the score could ever have.
        run: Returns the score after each step, shape (N_STEPS,).
    """

    space: Space
    direction: Literal["maximize", "minimize"]
    best_possible: float
    run: Callable[[Params], Array]


@dataclass(frozen=True)
class Curves:
    """What is searched.

    Attributes:
        space: The parameters.
        direction: Of the values.
        best_possible: The best value that there could ever be, None if none is known.
        epsilon: ε in the units of the values.
        optimum: The best last value of all.
        curve: Returns the value after each step, shape (N_STEPS,).
    """

    space: Space
    direction: Literal["maximize", "minimize"]
    best_possible: float | None
    epsilon: float
    optimum: float
    curve: Callable[[Params], Array]


def _network(params: Params) -> Array:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    points, target = load_digits(return_X_y=True)
    points = points / 16.0
    model = MLPClassifier(
        (params["units"],),
        learning_rate_init=params["rate"],
        batch_size=params["batch"],
        alpha=params["alpha"],
        random_state=0,
    )
    scores: list[float] = []
    for _ in range(N_STEPS):
        model.partial_fit(points[:500], target[:500], classes=np.arange(10))
        scores.append(model.score(points[500:], target[500:]))
    return np.array(scores)


def _boosting(params: Params) -> Array:
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.model_selection import KFold

    points, target = load_diabetes(return_X_y=True)
    errors: list[list[float]] = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(points):
        model = GradientBoostingRegressor(**params, n_estimators=4 * N_STEPS, random_state=0)
        model.fit(points[train], target[train])
        stages = list(model.staged_predict(points[test]))[3::4]
        errors.append([float(np.mean((stage - target[test]) ** 2)) for stage in stages])
    return np.sqrt(np.mean(errors, axis=0))


JOBS = {
    "network, digits": Job(
        Space(
            {
                "rate": Float(1e-4, 1e-1, log=True),
                "units": Int(4, 64, log=True),
                "batch": Int(8, 256, log=True),
                "alpha": Float(1e-6, 10.0, log=True),
            }
        ),
        "maximize",
        1.0,
        _network,
    ),
    "boosting, diabetes": Job(
        Space(
            {
                "learning_rate": Float(0.005, 1.0, log=True),
                "max_depth": Int(1, 6),
                "subsample": Float(0.3, 1.0),
                "min_samples_leaf": Int(1, 50, log=True),
            }
        ),
        "minimize",
        0.0,
        _boosting,
    ),
}
NAMES = (*JOBS, DRAWN, SLOW)


def record(path: Path = PATH, n_points: int = N_POINTS) -> None:
    """Run what the file does not hold yet."""
    from benchmarks.progress import track

    todo = [(name, batch) for batch in range(-(-n_points // _BATCH)) for name in JOBS]
    known = {(each["job"], each["batch"]) for each in read(path)}
    todo = [each for each in todo if each not in known]
    for name, batch in track(iter(todo), "curves", len(todo)):
        append(path, _recorded(path, name, batch))
    pack(path)


def _recorded(path: Path, name: str, batch: int) -> dict[str, Any]:
    job = JOBS[name]
    points, curves = table(name, path)
    rng = np.random.default_rng([zlib.crc32(name.encode()), batch])
    sign = 1.0 if job.direction == "maximize" else -1.0
    if batch % 2 == 0 or not len(points):
        new = everywhere(job.space, _BATCH, rng)
    else:
        best = points[np.argsort(-sign * curves[:, -1])[: max(int(_BEST * len(points)), 10)]]
        new = around(job.space, best, _BATCH, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rate so high that nothing is learned is for the score to say
        found = [job.run(job.space.decode(point)) for point in new]
    return {
        "job": name,
        "batch": batch,
        "points": [[compact(x, 5) for x in point] for point in new.tolist()],
        "curves": [[compact(value, 4) for value in curve.tolist()] for curve in found],
    }


def table(name: str, path: Path = PATH) -> tuple[Array, Array]:
    """Return encoded points, shape (n, d), and their curves, shape (n, N_STEPS)."""
    records = [each for each in read(path) if each["job"] == name]
    points = np.array([p for each in records for p in each["points"]]).reshape(-1, JOBS[name].space.dim)
    return points, np.array([c for each in records for c in each["curves"]]).reshape(-1, N_STEPS)


@cache
def curves_of(name: str, seed: int, path: Path = PATH) -> Curves:
    """Return what is searched; ε is 0.01 of an accuracy, 1 % of an untuned error, a tenth of a draw's deviation."""
    return _real(name, path) if name in JOBS else _drawn(name, seed)


@cache
def _real(name: str, path: Path) -> Curves:
    from sklearn.ensemble import ExtraTreesRegressor

    job = JOBS[name]
    points, curves = table(name, path)
    trees = ExtraTreesRegressor(100, min_samples_leaf=3, random_state=0).fit(points, curves)
    sign = 1.0 if job.direction == "maximize" else -1.0

    def curve(params: Params) -> Array:
        return np.asarray(trees.predict(job.space.encode(params)[None])[0], dtype=float)

    return Curves(
        job.space,
        job.direction,
        job.best_possible,
        0.01 if job.direction == "maximize" else 0.01 * float(np.median(curves[:_BATCH, -1])),
        sign * highest(job.space, points, lambda x: sign * np.asarray(trees.predict(x))[:, -1]),
        curve,
    )


def _drawn(name: str, seed: int) -> Curves:
    rng = np.random.default_rng([seed, 11])
    last, depth, steps = (cube_draw(np.full(3, ell), rng) for ell in (_LENGTHSCALE, 1.0, 1.0))
    at = np.arange(1, N_STEPS + 1)

    def curve(params: Params) -> Array:
        if name == SLOW:
            deep, slow = _SLOW_DEPTH, _SLOW_STEPS * _SLOWER ** params["x0"]
        else:
            deep, slow = (a * math.exp(0.5 * b.objective(params)) for a, b in ((_DEPTH, depth), (_STEPS, steps)))
        left = np.exp(-at / slow)
        return last.objective(params) - deep * (left - left[-1])

    return Curves(last.space, "maximize", None, _DRAWN_EPSILON, last.find_maximum(), curve)

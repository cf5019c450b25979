"""Tables of real tuning jobs, and the surrogates that are searched in their place.

Each job was evaluated at 2,000 points: half of them all over the space, half near the best of those before. An ensemble
of trees on them is the job that is searched, as in HPOBench and YAHPO: its optimum is known, and an evaluation is free.
The noise is that of repeated evaluations of points that are about as good.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.conditional_jobs import CONDITIONAL_JOBS
from benchmarks.histories import DATA
from benchmarks.objectives import Problem
from benchmarks.records import append, compact, pack, read
from benchmarks.tuning_jobs import JOBS, TuningJob
from regretstop import Space

PATH = DATA / "jobs.jsonl.gz"
N_POINTS = 2000
# Evaluations of one record, so that a killed run loses little, of which so many are repeated, with other folds and
# seeds.
_BATCH, _AGAIN = 50, 3
_EVERY_JOB = JOBS | CONDITIONAL_JOBS
# Pairs that tell the noise of a score, at most; and of all pairs a quarter.
_N_NEAR = 50
# Steps away from one of the best tenth, as a share of an axis.
_STEP, _BEST = 0.08, 0.1
# Where the optimum of a surrogate is looked for, besides at the points of the table and around the best of them.
_N_EVERYWHERE, _N_AROUND, _ROUNDS = 40_000, 4_000, 10


def record(
    path: Path = PATH,
    n_points: int = N_POINTS,
    names: Iterable[str] = tuple(JOBS),
    n_again: int = _AGAIN,
    processes: int = 1,
) -> None:
    """Evaluate what the file does not hold yet of these jobs; so many processes, with one thread each."""
    from benchmarks.progress import track

    known = {(each["job"], each["batch"]) for each in read(path)}
    rounds = [[name for name in names if (name, batch) not in known] for batch in range(-(-n_points // _BATCH))]
    for each in track(_batches(path, rounds, n_again, processes), "jobs", sum(map(len, rounds))):
        append(path, each)
    pack(path)


def _batches(path: Path, rounds: list[list[str]], n_again: int, processes: int) -> Iterator[dict[str, Any]]:
    """Evaluate the jobs side by side and the batches of each in turn, for a batch looks at those before it."""
    from joblib import Parallel, delayed

    run = Parallel(processes, return_as="generator_unordered")
    for batch, names in enumerate(rounds):
        yield from run(delayed(_evaluated)(path, name, batch, n_again) for name in names)


def _evaluated(path: Path, name: str, batch: int, n_again: int) -> dict[str, Any]:
    job = _EVERY_JOB[name]
    points, scores = table(name, path)
    rng = np.random.default_rng([zlib.crc32(name.encode()), batch])
    sign = 1.0 if job.direction == "maximize" else -1.0
    if batch % 2 == 0 or not len(points):
        new = everywhere(job.space, _BATCH, rng)
    else:
        best = points[np.argsort(-sign * scores)[: max(int(_BEST * len(points)), 10)]]
        new = around(job.space, best, _BATCH, rng)
    seeds = batch * _BATCH + np.arange(_BATCH)
    scored = [job.score(job.space.decode(p), int(s)) for p, s in zip(new, seeds, strict=True)]
    again = [job.score(job.space.decode(p), int(s) + 10**6) for p, s in zip(new[:n_again], seeds, strict=False)]
    return {
        "job": name,
        "batch": batch,
        "points": [[compact(x, 8) for x in point] for point in new.tolist()],
        "scores": [compact(score, 8) for score in scored],
        "again": [compact(score, 8) for score in again],
    }


def table(name: str, path: Path = PATH) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return encoded points, shape (n, d), and their scores, shape (n,)."""
    records = [each for each in read(path) if each["job"] == name]
    points = np.array([p for each in records for p in each["points"]]).reshape(-1, _EVERY_JOB[name].space.dim)
    return points, np.array([s for each in records for s in each["scores"]])


def observed(name: str, value: float, rng: np.random.Generator, path: Path = PATH) -> float:
    """Return a score: of a noisy accuracy with the noise of a recorded pair about as good, and no better than those.

    A normal deviate near the best possible value makes scores up there that no evaluation has had. So does the noise of
    a model that now and then fails, where it is added and not subtracted.
    """
    if not _EVERY_JOB[name].is_noisy:
        return value
    a, b = _pairs(name, path)
    near = np.argsort(np.abs(0.5 * (a + b) - value))[: min(_N_NEAR, max(len(a) // 4, 1))]
    one = rng.choice(near)
    score = value + float(rng.choice([-1.0, 1.0]) * (a[one] - b[one]) / np.sqrt(2.0))
    most = max(value, float(np.max([a[near], b[near]])))
    return min(score, most)


@cache
def _pairs(name: str, path: Path) -> NDArray[np.float64]:
    """Return the scores of points that were evaluated twice, shape (2, n)."""
    records = [each for each in read(path) if each["job"] == name]
    return np.array([pair for r in records for pair in zip(r["scores"], r["again"], strict=False)]).T


@cache
def problem(name: str, path: Path = PATH) -> Problem:
    """Return the surrogate of a job, in the direction and units of its score; ε is 0.01, or 1 % of an untuned score."""
    job = _EVERY_JOB[name]
    points, scores = table(name, path)
    predict = _fitted(points, scores, job)
    sign = 1.0 if job.direction == "maximize" else -1.0
    untuned = float(np.median(scores[:_BATCH]))
    epsilon = 0.01 if job.direction == "maximize" else 0.01 * untuned
    return Problem(
        job.space,
        lambda params: float(predict(job.space.encode(params)[None])[0]),
        sign * highest(job.space, points, lambda x: sign * predict(x)),
        (epsilon,),
        direction=job.direction,
    )


def _fitted(
    points: NDArray[np.float64], scores: NDArray[np.float64], job: TuningJob
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    from sklearn.ensemble import ExtraTreesRegressor

    # Trees average what is noise: leaves of one point for exact scores, of five for noisy ones.
    trees = ExtraTreesRegressor(100, min_samples_leaf=5 if job.is_noisy else 1, random_state=0)
    trees.fit(_columns(job, points), scores)
    return lambda x: np.asarray(trees.predict(_columns(job, x)), dtype=float)


def _columns(job: TuningJob, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return encoded points with a column for each category."""
    parts = [
        points[:, [j]] if k == 0 else np.eye(k)[points[:, j].astype(int)] for j, k in enumerate(job.space.categories)
    ]
    return np.hstack(parts)


def highest(
    space: Space, points: NDArray[np.float64], value: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> float:
    """Return the maximum of a function that is constant between the points of a table, by search."""
    rng = np.random.default_rng(0)
    known = np.vstack([points, everywhere(space, _N_EVERYWHERE, rng)])
    values = value(known)
    for _ in range(_ROUNDS):
        best = np.argsort(-values)[:50]
        known, values = known[best], values[best]
        more = around(space, known, _N_AROUND, rng)
        known, values = np.vstack([known, more]), np.concatenate([values, value(more)])
    return float(values.max())


def everywhere(space: Space, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n points of a space, encoded, shape (n, d)."""
    return space.snap(_drawn(space, n, rng))


def _drawn(space: Space, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return points all over the space with values on all axes, those that are inactive as well."""
    categories = space.categories
    return np.where(
        categories > 0,
        rng.integers(0, np.maximum(categories, 1), (n, len(categories))),
        rng.random((n, len(categories))),
    )


def around(space: Space, best: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n points near some of the best, encoded, shape (n, d)."""
    start = best[rng.integers(len(best), size=n)]
    moved = np.clip(start + _STEP * rng.standard_normal(start.shape), 0.0, 1.0)
    anew = rng.random(start.shape) < 1.0 / start.shape[1]
    is_category = space.categories > 0
    drawn = _drawn(space, n, rng)
    near = np.where(is_category, np.where(anew, drawn, start), moved)
    # What a step into another branch activates has no place to step from.
    is_new = space.active(near) & ~space.active(start)
    return space.snap(np.where(is_new, drawn, near))

"""Forecasts by simulation: the search itself, continued on draws of its own posterior.

At a moment of a search nine paths of its posterior are drawn, and on each the search goes on, model, points and rule as
they are, until it stops or is no longer in sight. A further one lies between the least and the largest of nine with a
probability of 80 %. Beside it stands what the forecast says at the same moment, which costs next to nothing.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.doubt import searched_in
from benchmarks.forecast import DELTA, TRIALS
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS
from regretstop import GPUCB, Certificate, UCBbr, forecast
from regretstop.model import HasPaths
from regretstop.statement._forecast import SIGHT

PATH = RESULTS / "continuations.jsonl.gz"
PROBLEMS = (("Branin", 0.05), ("Hartmann-3", 0.05), ("SVM", 0.05), ("priors, d = 2", None), ("GP 3e-3, d = 2", None))
MOMENTS = (10, 20)
# (k − 1)/(k + 1) of k draws and one more.
N_PATHS = 9


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"problem": name, "share": share, "seed": seed, "trials": TRIALS}
        for seed in range(1, 2 * seeds, 2)  # the odd ones, which no constant of the forecast is from
        for name, share in PROBLEMS
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return when the search stopped, and what was simulated and forecast at its moments."""
    searched, epsilon = searched_in(key)
    rng, rule = np.random.default_rng([key["seed"], 7]), UCBbr(epsilon, DELTA)
    optimizer = GPUCB(searched.space, direction=searched.direction, seed=key["seed"])
    said: list[Certificate] = []
    moments: list[dict[str, Any]] = []
    for n in range(1, key["trials"] + 1):
        params = optimizer.ask(epsilon=epsilon)
        optimizer.tell(params, searched.objective(params) + searched.noise(rng))
        said.append(optimizer.certificate(rule))
        if said[-1].stop:
            break
        if n in MOMENTS:
            start = time.process_time()
            simulated = [_continued(optimizer, rule, epsilon, seed) for seed in range(N_PATHS)]
            told = forecast(said, own_points=True)
            moments.append(
                {
                    "n": n,
                    "simulated": simulated,
                    "low": None if told is None else told.low,
                    "high": None if told is None else told.high,
                    "cpu_s": round(time.process_time() - start, 2),
                }
            )
    return key | {"epsilon": epsilon, "stop": len(said) if said[-1].stop else None, "moments": moments}


def _continued(optimizer: GPUCB, rule: UCBbr, epsilon: float, seed: int) -> int | None:
    """Return after how many more evaluations the search stops on a draw of its posterior; None if not in sight."""
    snapshot = optimizer.snapshot()
    if snapshot.obstacle is not None:
        return None
    (posterior,), units = snapshot.model.posteriors, snapshot.model.units
    assert isinstance(posterior, HasPaths)
    rng = np.random.default_rng(seed)
    path, space = posterior.paths(1, rng), optimizer.space
    sign = 1.0 if optimizer.direction == "maximize" else -1.0
    going = GPUCB(space, direction=optimizer.direction, seed=seed)
    going.replace_history(optimizer.history)
    for more in range(1, SIGHT * len(optimizer.history) + 1):
        params = going.ask(epsilon=epsilon)
        drawn = path.values(space.encode(params)[None])[0] + posterior.noise_std * rng.standard_normal(1)
        going.tell(params, sign * float(units.values(drawn)[0]))
        if going.certificate(rule).stop:
            return more
    return None

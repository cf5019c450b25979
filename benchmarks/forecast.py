"""How far the bound is from ε along whole searches, to see whether forecasts of the stop hold.

The default rule is asked after every evaluation, as a callback would, until it stops the search or the search is as
long as it may get. Its bounds are kept. A forecast is a function of these, so that any can be made and judged
afterwards.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.doubt import PRIORS, ROWS, searched_in
from benchmarks.misspecified_problems import NAMES, SHARES
from benchmarks.objectives import Problem
from benchmarks.paths import distributions_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, UCBbr

PATH = RESULTS / "forecast.jsonl.gz"
DELTA = 0.05
TRIALS = 120
# Of these also with the points of a sampler that does not look for what the bound asks.
TPE = ("priors, d = 2", "GP 3e-3, d = 2", "Branin", "Hartmann-3", "Rosenbrock-4", "SVM", "boosting")


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    problems = [(name, None) for name in (*PRIORS, *ROWS)]
    problems += [(name, share) for name in (*NAMES, "Shekel-4") for share in SHARES]
    keys = [
        {"problem": name, "share": share, "sampler": sampler, "seed": seed, "trials": TRIALS}
        for seed in range(seeds)
        for name, share in problems
        for sampler in ("GPUCB", "TPE")
        if sampler == "GPUCB" or name in TPE
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds of one search."""
    start = time.process_time()
    searched, epsilon = searched_in(key)
    rng = np.random.default_rng([key["seed"], 7])
    optimizer = GPUCB(searched.space, direction=searched.direction, seed=key["seed"])
    rule = UCBbr(epsilon, DELTA)
    next_point = _next_point(searched, optimizer, epsilon, key)
    said: list[tuple[int, float | None, float | None, float | None]] = []
    for n in range(1, key["trials"] + 1):
        params, tell = next_point()
        value = searched.objective(params) + searched.noise(rng)
        optimizer.tell(params, value)
        tell(value)
        certificate = optimizer.certificate(rule)
        needs = certificate.terms.get("noise_needs")
        said.append(
            (
                n,
                compact(certificate.bound, 4),
                None if certificate.left is None else compact(certificate.left.probability, 3),
                None if needs is None else compact(float(needs), 3),
            )
        )
        if certificate.stop:
            break
    ns, bounds, left, noise_needs = zip(*said, strict=True)
    return key | {
        "epsilon": epsilon,
        "stop": ns[-1] if certificate.stop else None,
        "n": ns,
        "bounds": bounds,
        "left": left,
        "noise needs": noise_needs,
        "cpu_s": round(time.process_time() - start, 2),
    }


NextPoint = Callable[[], tuple[dict[str, Any], Callable[[float], None]]]


def _next_point(searched: Problem, optimizer: GPUCB, epsilon: float, key: dict[str, Any]) -> NextPoint:
    """Return what returns the next point, and who else is to be told its value."""
    if key["sampler"] == "GPUCB":
        return lambda: (optimizer.ask(epsilon=epsilon), lambda _: None)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction=searched.direction, sampler=optuna.samplers.TPESampler(seed=key["seed"]))
    distributions = distributions_of(searched.space)

    def ask() -> tuple[dict[str, Any], Callable[[float], None]]:
        trial = study.ask(distributions)
        return trial.params, lambda value: study.tell(trial, value)

    return ask

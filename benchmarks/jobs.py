"""Stops on real tuning jobs: whether, when, and how far from the optimum, whoever chooses the points.

Along each search the default rule is asked, by a model that is told the best possible value of the score and by one
that is not. Kept is what each says, with the true regrets: so patience, a fixed budget and other decisions by the same
numbers can be read off. A search ends when the rule has stopped by both models.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.job_tables import observed, problem
from benchmarks.objectives import Problem
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from benchmarks.samplers import Choose, of_optuna
from benchmarks.tuning_jobs import JOBS
from regretstop import GPUCB, Certificate, Observation, UCBbr

PATH = RESULTS / "jobs.jsonl.gz"
DELTA = 0.05
# Above six parameters more.
_TRIALS, _MORE_TRIALS, _MANY = 100, 150, 6
# Every evaluation up to here, then every third.
_DENSE, _EVERY = 30, 3
SAMPLERS: dict[str, Callable[[Problem, int], Choose] | None] = {
    "regretstop": None,
    "TPE": partial(of_optuna, name="TPESampler"),
    "GPSampler": of_optuna,
    "random": partial(of_optuna, name="RandomSampler"),
}
MODELS = ("declared", "plain")


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"job": name, "sampler": sampler, "seed": seed}
        for seed in range(seeds)
        for sampler in SAMPLERS
        for name in JOBS
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what was said along one search."""
    start = time.process_time()
    job, searched = JOBS[key["job"]], problem(key["job"])
    (epsilon,) = searched.epsilons
    rng = np.random.default_rng([key["seed"], 7])
    models = {
        name: GPUCB(
            searched.space,
            direction=searched.direction,
            seed=key["seed"],
            best_possible=job.best_possible if name == "declared" else None,
        )
        for name in MODELS
    }
    make = SAMPLERS[key["sampler"]]
    choose = (lambda _: models["declared"].ask(epsilon=epsilon)) if make is None else make(searched, key["seed"])
    sign = 1.0 if searched.direction == "maximize" else -1.0
    history: list[Observation] = []
    regrets: list[float] = []
    said: dict[str, list[list[Any]]] = {name: [] for name in MODELS}
    trials = _MORE_TRIALS if searched.space.dim > _MANY else _TRIALS
    for n in range(1, trials + 1):
        params = choose(history)
        value = searched.objective(params)
        regrets.append(max(sign * (searched.optimum - value), 0.0))
        history.append(Observation(params, observed(key["job"], value, rng), n - 1))
        if n > _DENSE and n % _EVERY:
            continue
        for name, model in models.items():
            if said[name] and said[name][-1][1] is not None and said[name][-1][1] < epsilon:
                continue  # it has stopped
            model.replace_history(history)
            said[name].append([n, *_numbers(model.certificate(UCBbr(epsilon, DELTA)), regrets)])
        if all(each and each[-1][1] is not None and each[-1][1] < epsilon for each in said.values()):
            break
    return key | {
        "epsilon": compact(epsilon),
        "delta": DELTA,
        "regrets": [compact(regret, 4) for regret in regrets],
        "values": [compact(each.value or 0.0) for each in history],
        "said": said,
        "cpu_s": round(time.process_time() - start, 2),
    }


def _numbers(certificate: Certificate, regrets: list[float]) -> list[Any]:
    """Return bound, its kind, the count, √β = 2, the probability left, and the certified trial's true regret."""
    trial = certificate.incumbent
    return [
        compact(certificate.bound, 4),
        certificate.maximum,
        *(None if name not in certificate.terms else compact(certificate.terms[name], 4) for name in _TERMS),
        None if certificate.left is None else compact(certificate.left.probability, 3),
        None if trial is None else compact(regrets[trial], 4),
    ]


_TERMS = ("counted", "two_deviations")

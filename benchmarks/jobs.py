"""Stops on real tuning jobs: whether, when, and how far from the optimum, whoever chooses the points.

Along each search, which goes on to its last trial, the default rule is asked, told the best possible value of the score
as a user would; beside it the largest expected improvement, and Optuna's terminator. Kept is what they say, with the
true regrets: so stops at any ε and price, patience and a fixed budget can be read off. Most searches are on surrogates
of the jobs; some train the models themselves.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.job_tables import observed, problem
from benchmarks.objectives import Problem
from benchmarks.paths import distributions_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from benchmarks.samplers import Choose, of_optuna
from benchmarks.tuning_jobs import JOBS, TuningJob
from regretstop import GPUCB, AcquisitionThreshold, Certificate, Observation, UCBbr

PATH = RESULTS / "jobs.jsonl.gz"
DELTA = 0.05
# Above six parameters more.
_TRIALS, _MORE_TRIALS, _MANY = 100, 150, 6
# The first test, up to where there is one after every evaluation, and then after every third.
_FIRST, _DENSE, _EVERY = 8, 30, 3
# Optuna's terminator is asked along searches of its own samplers; it takes a second.
_TERMINATOR_EVERY = 6
OURS, SURROGATE, JOB = "regretstop", "surrogate", "job"
SAMPLERS: dict[str, Callable[[Problem, int], Choose] | None] = {
    OURS: None,
    "TPE": partial(of_optuna, name="TPESampler"),
    "GPSampler": of_optuna,
    "random": partial(of_optuna, name="RandomSampler"),
}
CERTIFIED = (OURS, "TPE")
# How many seeds the others have, and the searches on the jobs themselves.
_FEW_SEEDS, _JOB_SEEDS = 5, 3


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"job": name, "on": on, "sampler": sampler, "seed": seed}
        for seed in range(seeds)
        for on in (SURROGATE, JOB)
        for sampler in SAMPLERS
        if (on == SURROGATE or (seed < _JOB_SEEDS and sampler == OURS)) and (sampler in CERTIFIED or seed < _FEW_SEEDS)
        for name in JOBS
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what was said along one search."""
    start = time.process_time()
    job, searched = JOBS[key["job"]], problem(key["job"])
    (epsilon,) = searched.epsilons
    rng = np.random.default_rng([key["seed"], 7])
    model = GPUCB(searched.space, direction=searched.direction, seed=key["seed"], best_possible=job.best_possible)
    make = SAMPLERS[key["sampler"]]
    choose = (lambda _: model.ask(epsilon=epsilon)) if make is None else make(searched, key["seed"])
    # The price of one evaluation is no part of what this rule says, but it has to have one.
    rules = {"UCBbr": UCBbr(epsilon, DELTA), "improvement": AcquisitionThreshold(0.01 * epsilon)}
    sign = 1.0 if searched.direction == "maximize" else -1.0
    history: list[Observation] = []
    regrets: list[float] = []
    said: list[list[Any]] = []
    terminator: list[list[Any]] = []
    has_stopped = False
    for n in range(1, n_trials(job) + 1):
        params = dict(choose(history))
        value = searched.objective(params)
        regrets.append(max(sign * (searched.optimum - value), 0.0))
        score = job.score(params, 10**6 * (key["seed"] + 2) + n) if key["on"] == JOB else None
        history.append(Observation(params, observed(key["job"], value, rng) if score is None else score, n - 1))
        model.replace_history(history)
        if key["sampler"] in CERTIFIED and n >= _FIRST and (n <= _DENSE or n % _EVERY == 0) and not has_stopped:
            certificates = {name: model.certificate(rule) for name, rule in rules.items()}
            said.append([n, *_numbers(certificates["UCBbr"], regrets), compact(certificates["improvement"].bound, 3)])
            has_stopped = certificates["UCBbr"].stop
        if key["sampler"] == "TPE" and n % _TERMINATOR_EVERY == 0:
            terminator.append([n, _ask_terminator(searched, history)])
    return key | {
        "epsilon": compact(epsilon),
        "delta": DELTA,
        "regrets": [compact(regret, 4) for regret in regrets],
        "values": [compact(each.value or 0.0) for each in history],
        "said": said,
        "terminator": terminator,
        "cpu_s": round(time.process_time() - start, 2),
    }


def n_trials(job: TuningJob) -> int:
    """Return after how many trials a search of a job ends."""
    return _MORE_TRIALS if job.space.dim > _MANY else _TRIALS


def _numbers(certificate: Certificate, regrets: list[float]) -> list[Any]:
    """Return the bound, the count, √β = 2, what is left, its expected gain, and the certified trial's true regret."""
    trial, left, gain = certificate.incumbent, certificate.left, certificate.expected_regret
    return [
        compact(certificate.bound, 4),
        *(None if name not in certificate.terms else compact(certificate.terms[name], 4) for name in _TERMS),
        None if left is None else compact(left.probability, 3),
        None if gain is None else compact(gain.value, 3),
        None if trial is None else compact(regrets[trial], 4),
    ]


_TERMS = ("counted", "two_deviations")


def _ask_terminator(searched: Problem, history: list[Observation]) -> float | None:
    """Return Optuna's bound on the regret."""
    import optuna
    from optuna.terminator import RegretBoundEvaluator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        trials = [
            optuna.create_trial(params=dict(o.params), distributions=distributions_of(searched.space), value=o.value)
            for o in history
        ]
        direction = optuna.study.StudyDirection[searched.direction.upper()]
        return compact(RegretBoundEvaluator(seed=0).evaluate(trials, direction), 4)

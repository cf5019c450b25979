"""Stops by family: whether, when, and how far from the optimum, by the rules that people can have.

A search goes on to its last evaluation. Along it rules are asked until they stop: the default one, told the best
possible value where a user would know it; a price for each evaluation; and Optuna's terminator. Patience, a fixed
budget and how good the search is can be read off the values and the true regrets that are kept.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import families
from benchmarks.objectives import Problem
from benchmarks.paths import distributions_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from benchmarks.samplers import Choose, of_optuna
from regretstop import GPUCB, AcquisitionThreshold, Certificate, Observation, UCBbr
from regretstop.rules import Rule

PATH = RESULTS / "jobs.jsonl.gz"
DELTA = 0.05
# What an evaluation costs, in ε: the rule of Xie et al. for equal costs.
PRICE = 0.05
DEFAULT, PRICED = "default", "price"
# What was said at every tenth evaluation is kept, and the last; of the price only that.
_FIRST, _KEPT = 8, 10
# Optuna's terminator is asked along searches by TPE, from as many evaluations on as it waits for; its own threshold is
# computed from these.
_TERMINATOR_FIRST, _TERMINATOR_EVERY, _THRESHOLD_AT = 20, 3, 30
OURS, TPE, GPSAMPLER, RANDOM = "regretstop", "TPE", "GPSampler", "random"
SAMPLERS: dict[str, Callable[[Problem, int], Choose] | None] = {
    OURS: None,
    TPE: partial(of_optuna, name="TPESampler"),
    GPSAMPLER: of_optuna,
    RANDOM: partial(of_optuna, name="RandomSampler"),
}
# Whose searches of a family there are, and how many seeds at most.
SEARCHES: dict[str, dict[str, int]] = {
    families.SURROGATES: {OURS: 20, TPE: 20, GPSAMPLER: 20, RANDOM: 3},
    families.BY_ERROR: {OURS: 20, TPE: 20},
    families.THEMSELVES: {OURS: 3},
    families.TEXTBOOK: {OURS: 20, GPSAMPLER: 20},
    families.DRAWS: {OURS: 20},
    families.NOISY: {OURS: 40},
    families.NETWORK: {OURS: 3},
}


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"family": family, "problem": name, "sampler": sampler, "seed": seed}
        for seed in range(seeds)
        for family, samplers in SEARCHES.items()
        for sampler, most in samplers.items()
        if seed < most
        for name in families.NAMES[family]
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what was said along one search."""
    start = time.process_time()
    searched = families.searched_in(key["family"], key["problem"], key["seed"])
    problem, seed = searched.problem, key["seed"]
    (epsilon,) = problem.epsilons
    model = GPUCB(problem.space, direction=problem.direction, seed=seed, best_possible=searched.best_possible)
    make = SAMPLERS[key["sampler"]]
    choose = (lambda _: model.ask(epsilon=epsilon)) if make is None else make(problem, seed)
    is_asked = key["sampler"] in (OURS, TPE)
    rules: dict[str, Rule] = {DEFAULT: UCBbr(epsilon, DELTA), PRICED: AcquisitionThreshold(PRICE * epsilon)}
    sign = 1.0 if problem.direction == "maximize" else -1.0
    history: list[Observation] = []
    regrets: list[float] = []
    said: dict[str, list[list[Any]]] = {name: [] for name in rules} if is_asked else {}
    terminator = _Terminator(problem)
    for n in range(1, searched.trials + 1):
        params = dict(choose(history))
        value = problem.objective(params)
        regrets.append(max(sign * (problem.optimum - value), 0.0))
        history.append(Observation(params, searched.observe(params, value, n), n - 1))
        if is_asked:
            model.replace_history(history)
        if is_asked and n >= _FIRST:
            for name in tuple(rules):
                certificate = model.certificate(rules[name])
                kept = [each for each in said[name] if name == DEFAULT and each[0] % _KEPT == 0]
                said[name] = [*kept, [n, *_numbers(certificate, regrets)]]
                if certificate.stop:
                    del rules[name]
        if key["sampler"] == TPE:
            terminator.look(history)
    return key | {
        "epsilon": compact(epsilon),
        "delta": DELTA,
        "regrets": [compact(regret, 4) for regret in regrets],
        "values": [compact(each.value or 0.0) for each in history],
        "said": said,
        "terminator": terminator.bounds,
        "median_error": terminator.threshold,
        "cpu_s": round(time.process_time() - start, 2),
    }


def _numbers(certificate: Certificate, regrets: list[float]) -> list[Any]:
    """Return the bound, whether it stops, the certified trial's true regret, and what the default rule says besides."""
    trial, left = certificate.incumbent, certificate.left
    return [
        compact(certificate.bound, 4),
        certificate.stop,
        None if trial is None else compact(regrets[trial], 4),
        *(None if name not in certificate.terms else compact(certificate.terms[name], 4) for name in _TERMS),
        None if left is None else compact(left.probability, 3),
    ]


_TERMS = ("counted", "two_deviations")


class _Terminator:
    """Optuna's bounds on the regret, and the threshold that it would make of earlier ones."""

    def __init__(self, problem: Problem) -> None:
        self.bounds: list[list[Any]] = []
        self.threshold: float | None = None
        self._problem = problem

    def look(self, history: list[Observation]) -> None:
        """Ask about so many evaluations."""
        import optuna
        from optuna.terminator import MedianErrorEvaluator, RegretBoundEvaluator

        n = len(history)
        if n < _TERMINATOR_FIRST or n % _TERMINATOR_EVERY:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is deprecated
            distributions = distributions_of(self._problem.space)
            trials = [
                optuna.create_trial(params=dict(each.params), distributions=distributions, value=each.value)
                for each in history
            ]
            direction = optuna.study.StudyDirection[self._problem.direction.upper()]
            evaluator = RegretBoundEvaluator(seed=0)
            self.bounds.append([n, compact(evaluator.evaluate(trials, direction), 4)])
            if n == _THRESHOLD_AT:
                self.threshold = compact(MedianErrorEvaluator(evaluator).evaluate(trials, direction), 4)

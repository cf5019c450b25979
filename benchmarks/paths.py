"""Every stopping rule along the same paths: a stopping test never changes the path, so each is run once to its end.

A path is chosen by one sampler at the mode of the hyperparameters. Along it every rule is asked at every fourth
evaluation (PRB, whose posterior paths are dear, at every eighth), or at every one for a while. It is asked at the mode
or over samples of the hyperparameters ("treatment"), with the model check and, where that changes anything, without
it. The two treatments of a path, and Optuna's terminator, are records of their own, so that a run that is killed loses
one of them at most. Records hold the bounds, not the stops: any ε can be asked for later, but for PRB, whose paths
depend on it.
"""

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.objectives import Problem
from benchmarks.pending import run_pending
from benchmarks.records import compact
from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    Categorical,
    DeltaCB,
    DeltaES,
    Int,
    Kernel,
    Matern52,
    Observation,
    OptimalityGap,
    Space,
    SquaredExponential,
    UCBbr,
)
from regretstop.gap import calibrated_gap
from regretstop.model import GaussianProcess
from regretstop.snapshot import Snapshot

DELTA = 0.05
EVERY = 4
# Paths are dear: PRB is asked at every second test.
PRB_EVERY = 8
SQRT_BETA = 2.0
KERNELS: dict[str, type[Kernel]] = {"Matérn-5/2": Matern52, "SE": SquaredExponential}
# What GPUCB is given to choose the points with; "exceedance" looks for more than the smallest ε of the problem.
SAMPLERS: dict[str, dict[str, Any]] = {
    "√β = 2": {"beta": SQRT_BETA**2},
    "exceedance": {"beta": SQRT_BETA**2},
    "matched": {"beta": "matched"},
    "theory": {"beta": "theory"},
    # The paper's B, beside the 2 of its experiments.
    "√β = 1": {"beta": 1.0},
    "√β = 5": {"beta": 25.0},
}
CHECKS = ("inflated", "without")
TERMINATOR = "Optuna's terminator"
PATH_KEYS = ("problem", "kernel", "sampler", "seed", "trials")
ProblemOf = Callable[[Mapping[str, Any]], Problem]


@dataclass(frozen=True)
class Moments:
    """When the rules are asked.

    Attributes:
        first: After how many evaluations for the first time.
        each_until: Up to here after every evaluation, and then after every fourth.
    """

    first: int = 8
    each_until: int = 0

    def up_to(self, trials: int) -> list[int]:
        """Return after how many evaluations the rules are asked on a path of this length."""
        return [n for n in range(self.first, trials + 1) if n <= self.each_until or n % EVERY == 0]

    def include_prb(self, n: int) -> bool:
        """Return whether PRB is asked too."""
        return n <= self.each_until or n % PRB_EVERY == 0


EVERY_FOURTH = Moments()


def run(
    keys: list[dict[str, Any]], path: Path, problem_of: ProblemOf, processes: int, moments: Moments = EVERY_FOURTH
) -> None:
    """Run the records that the file does not hold yet; each is saved when it ends.

    Args:
        keys: Each with "problem", "kernel", "sampler", "treatment", "seed" and "trials".
        path: Where the records go.
        problem_of: Returns the problem of a key; a function of a module.
        processes: How many run at a time.
        moments: When the rules are asked.
    """
    run_pending(partial(run_path, problem_of=problem_of, moments=moments), keys, path, processes)


def run_path(key: dict[str, Any], problem_of: ProblemOf, moments: Moments = EVERY_FOURTH) -> dict[str, Any]:
    """Return the true regrets along one path, and each rule's bounds and the regrets of the trials that it named."""
    start = time.process_time()
    problem, history, regrets = _followed(problem_of, **{name: key[name] for name in PATH_KEYS})
    found: dict[str, Any]
    if key["treatment"] == TERMINATOR:
        found = {"rules": {TERMINATOR: _ask_terminator(problem, history, regrets, moments.up_to(len(history)))}}
    else:
        found = _ask_rules(problem, key, history, regrets, moments)
    return key | {
        "epsilons": list(problem.epsilons),
        "regrets": [compact(regret, 4) for regret in regrets],
        "tests": moments.up_to(len(history)),
        **found,
        "cpu_s": round(time.process_time() - start, 2),
    }


@lru_cache(maxsize=1)
def _followed(problem_of: ProblemOf, **key: Any) -> tuple[Problem, list[Observation], list[float]]:
    """Return a path; the treatments of one path come one after the other, and it is followed once."""
    problem = problem_of(key)
    return problem, *follow(problem, key)


def follow(problem: Problem, key: Mapping[str, Any]) -> tuple[list[Observation], list[float]]:
    """Return the observations of a path and the true regret of each trial."""
    sampler = optimizer(problem, key, "map")
    noise = np.random.default_rng([key["seed"], 1])
    sign = 1.0 if problem.direction == "maximize" else -1.0
    regrets: list[float] = []
    for _ in range(key["trials"]):
        params = sampler.ask()
        value = problem.objective(params)
        # The optimum of a draw was searched for, and may be passed by a hair.
        regrets.append(max(sign * (problem.optimum - value), 0.0))
        sampler.tell(params, value + problem.noise(noise))
    return list(sampler.history), regrets


def optimizer(problem: Problem, key: Mapping[str, Any], treatment: str, *, model_check: bool = True) -> GPUCB:
    """Return the search of a path, or a model of its own of the same data."""
    options: dict[str, Any] = dict(SAMPLERS[key["sampler"]])
    if key["sampler"] == "exceedance":
        options["exceedance"] = min(problem.epsilons)
    if problem.declared:
        options["surrogate"] = GaussianProcess(hyperparameters="fixed", **problem.declared)
    else:
        options["surrogate"] = GaussianProcess(
            kernel=KERNELS[key["kernel"]](),
            hyperparameters="posterior" if treatment == "posterior" else "map",
            model_check=model_check,
        )
    return GPUCB(problem.space, direction=problem.direction, seed=key["seed"], **options)


Answers = dict[str, tuple[float | None, float | None]]
"""By rule: its bound, and the true regret of the trial that it names; None for what is infinite or not there."""


def _ask_rules(
    problem: Problem, key: Mapping[str, Any], history: list[Observation], regrets: list[float], moments: Moments
) -> dict[str, Any]:
    checked = optimizer(problem, key, key["treatment"])
    unchecked = optimizer(problem, key, key["treatment"], model_check=False)
    inflations: list[float] = []
    with_check: list[Answers] = []
    without: list[Answers] = []
    for n in moments.up_to(len(history)):
        checked.replace_history(history[:n])
        snapshot = checked.snapshot()
        epsilons = problem.epsilons if moments.include_prb(n) else ()
        with_check.append(_ask(problem, snapshot, regrets, with_check, epsilons))
        inflations.append(1.0 if snapshot.model.check is None else snapshot.model.check.inflation)
        if inflations[-1] > 1.0 or without != with_check[:-1]:
            unchecked.replace_history(history[:n])
            without.append(_ask(problem, unchecked.snapshot(), regrets, without, epsilons))
        else:
            without.append(with_check[-1])
    found: dict[str, Any] = {"inflations": [compact(i, 4) for i in inflations], "rules": _series(with_check)}
    if without != with_check:
        found["rules without check"] = _series(without)
    return found


def _ask(
    problem: Problem,
    snapshot: Snapshot,
    regrets: list[float],
    before: list[Answers],
    prb_epsilons: tuple[float, ...],
) -> Answers:
    """Return what the rules say of a snapshot; PRB, the dearest, only until it has stopped."""
    if snapshot.obstacle is not None:
        return {}
    answers: Answers = {}

    def note(rule: str, bound: float, trial: int | None) -> None:
        answers[rule] = compact(bound, 4), None if trial is None else compact(regrets[trial], 4)

    smallest = min(problem.epsilons)
    paper = UCBbr(smallest, DELTA, simultaneous=True).assess(snapshot)  # as the records have it
    note("UCBbr", paper.bound, paper.incumbent)
    by_grid = OptimalityGap(smallest, DELTA, simultaneous=True, beta="grid").assess(snapshot)
    note("certified gap", by_grid.bound, by_grid.incumbent)
    if paper.left is not None:
        note(f"probability left {smallest:.6g}", paper.left.probability, paper.incumbent)
    gap = calibrated_gap(snapshot, SQRT_BETA)
    note("calibrated gap", gap.bound, int(snapshot.data.numbers[gap.incumbent]))
    for rule in (DeltaCB(smallest, DELTA), DeltaES(smallest, DELTA), AcquisitionThreshold()):
        if rule.obstacle(snapshot) is None:
            estimate = rule.estimate(snapshot)
            note(type(rule).__name__, estimate.bound, int(snapshot.data.numbers[estimate.incumbent]))
    for epsilon in prb_epsilons:
        name = f"PRB {epsilon:.6g}"
        if not any(_is_below(earlier.get(name), epsilon) for earlier in before):
            certificate = PRB(epsilon, DELTA).assess(snapshot)
            note(name, certificate.bound, certificate.incumbent)
    return answers


def _is_below(answer: tuple[float | None, float | None] | None, epsilon: float) -> bool:
    return answer is not None and answer[0] is not None and answer[0] < epsilon


def _series(answers: list[Answers]) -> dict[str, dict[str, list[float | None]]]:
    names = dict.fromkeys(name for answer in answers for name in answer)
    found = {name: [answer.get(name, (None, None)) for answer in answers] for name in names}
    return {
        name: {"bounds": [bound for bound, _ in pairs], "regrets": [regret for _, regret in pairs]}
        for name, pairs in found.items()
    }


def _ask_terminator(
    problem: Problem, history: list[Observation], regrets: list[float], tests: list[int]
) -> dict[str, list[float | None]]:
    """Ask Optuna's terminator about the same trials; it names none, so the best value seen counts."""
    import optuna
    from optuna.terminator import RegretBoundEvaluator

    distributions = distributions_of(problem.space)
    direction = optuna.study.StudyDirection[problem.direction.upper()]
    sign = 1.0 if problem.direction == "maximize" else -1.0
    bounds: list[float | None] = []
    named: list[float | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        evaluator = RegretBoundEvaluator(seed=0)
        trials = [
            optuna.create_trial(params=dict(o.params), distributions=dict(distributions), value=o.value)
            for o in history
        ]
        for n in tests:
            bounds.append(compact(evaluator.evaluate(trials[:n], direction), 4))
            best = max(range(n), key=lambda i: sign * (history[i].value or 0.0))
            named.append(compact(regrets[best], 4))
    return {"bounds": bounds, "regrets": named}


def distributions_of(space: Space) -> dict[str, Any]:
    """Return Optuna's distributions of a space."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, Any] = {}
    for name, parameter in space.items():
        if isinstance(parameter, Categorical):
            found[name] = CategoricalDistribution(parameter.choices)
        else:
            kind = IntDistribution if isinstance(parameter, Int) else FloatDistribution
            found[name] = kind(parameter.low, parameter.high, log=parameter.log)
    return found


def stop_of(
    record: Mapping[str, Any], rule: str, epsilon: float, check: str = "inflated", first: int = 0
) -> tuple[int, float] | None:
    """Return after how many evaluations a rule first stopped, and the regret of the trial it named; None if never.

    Args:
        record: Of a path.
        rule: Its name; for PRB without its ε.
        epsilon: ε; for AcquisitionThreshold it is its own.
        check: As for `answers_of`.
        first: The least number of evaluations to stop after.
    """
    level = AcquisitionThreshold().epsilon if rule == "AcquisitionThreshold" else epsilon
    answers = answers_of(record, rule, epsilon, check)
    return next(((n, regret) for n, bound, regret in answers if n >= first and bound < level), None)


def answers_of(
    record: Mapping[str, Any], rule: str, epsilon: float, check: str = "inflated"
) -> list[tuple[int, float, float]]:
    """Return what a rule said: after how many evaluations, its bound, and the regret of the trial that it named.

    Args:
        record: Of a path.
        rule: Its name; for PRB without its ε.
        epsilon: ε of PRB.
        check: What is done where the model check objects (κ > 1): deviations are "inflated", as the rules have it, or
            "without", nothing is done. PRB is not asked again once it has stopped.
    """
    if check not in CHECKS:
        raise ValueError(f"check must be one of {CHECKS}, got {check!r}")
    rules = record.get("rules without check", record["rules"]) if check == "without" else record["rules"]
    series = rules.get(f"PRB {epsilon:.6g}" if rule == "PRB" else rule)
    if series is None:
        return []
    return [
        (n, math.inf if bound is None else bound, math.inf if regret is None else regret)
        for n, bound, regret in zip(record["tests"], series["bounds"], series["regrets"], strict=True)
        if (bound, regret) != (None, None)
    ]

"""The paper's table of times: what a fit, the next point and each rule cost an iteration, beside other libraries.

The points are those of one path with √β = 2. What goes on in a running study is timed: earlier checkpoints of the fit
are there, each rule starts from a model that is fitted and searches of its own, and the others' models have had the
observations before the last one.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.objectives import Problem
from benchmarks.paper_problems import EPSILON, problem_of
from benchmarks.paths import DELTA, distributions_of, follow, optimizer
from benchmarks.progress import track
from benchmarks.records import RESULTS, provenance
from benchmarks.timing import Setup, interleaved, machine
from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    DeltaCB,
    DeltaES,
    Observation,
    OptimalityGap,
    Rule,
    UCBbr,
    instantaneous_regret_bound,
)
from regretstop.bound import ledger_for
from regretstop.gap import certified_gap
from regretstop.rules import Heuristic, probability_left
from regretstop.snapshot import Snapshot

PATH = RESULTS / "runtime.json"
NAMES = ("Branin", "Rosenbrock-4", "Levy-4")
SIZES = (25, 50, 100)
RULES: tuple[Rule, ...] = (
    UCBbr(EPSILON, DELTA),
    OptimalityGap(EPSILON, DELTA),
    PRB(EPSILON, DELTA),
    DeltaCB(EPSILON, DELTA),
    DeltaES(EPSILON, DELTA),
    AcquisitionThreshold(),
)
FORMULA = "the theorem's bound from numbers"
GAP, LEFT = "OptimalityGap, its bound alone", "the probability left alone"
FIT, NEXT, EXCEEDING = "GP fit", "next point, by its confidence bound", "next point, by exceedance sampling"
SAMPLED_FIT, SAMPLED = "GP fit, over samples", "UCBbr, over samples"
OPTUNA, TERMINATOR, SKOPT = "Optuna's GPSampler", "Optuna's terminator", "scikit-optimize's step"
# In ms of CPU, at the largest size in four dimensions.
TARGETS = {
    FORMULA: 0.2,
    "UCBbr": 0.2,
    GAP: 20.0,
    "OptimalityGap": 20.0,
    "DeltaCB, its bound alone": 20.0,
    "DeltaCB": 20.0,
    "PRB": 1000.0,
}
_KEY = {"kernel": "Matérn-5/2", "sampler": "√β = 2", "treatment": "map", "seed": 0}


def run(repetitions: int, sizes: tuple[int, ...] = SIZES, names: tuple[str, ...] = NAMES, path: Path = PATH) -> None:
    """Time everything and write the file."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    result: dict[str, Any] = {"machine": machine(), **provenance(), "results": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # experimental and deprecated parts of the others
        for name in track(names, "runtime"):
            key = _KEY | {"problem": name, "trials": max(sizes)}
            problem = problem_of(key)
            history, _ = follow(problem, key)
            for n in sizes:
                result["results"][f"{name} {n}"] = {
                    **interleaved(_contenders(problem, key, history[:n]), repetitions),
                    **interleaved({FORMULA: _formula(problem, key, history[:n])}, repetitions, number=100),
                }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1))


def _contenders(problem: Problem, key: dict[str, Any], history: list[Observation]) -> dict[str, Setup]:
    def fit(treatment: str) -> Setup:
        def setup(_: int) -> Callable[[], object]:
            model = optimizer(problem, key, treatment)
            model.replace_history(history[:-1])
            model.snapshot()
            model.replace_history(history)
            return model.snapshot

        return setup

    def fitted(treatment: str = "map") -> GPUCB:
        model = optimizer(problem, key, treatment)
        model.replace_history(history)
        model.snapshot()
        return model

    def exceeding(_: int) -> Callable[[], object]:
        model = optimizer(problem, key | {"sampler": "exceedance"}, "map")
        # It is what an odd number of observations is followed by.
        model.replace_history(history[: len(history) - (len(history) + 1) % 2])
        model.snapshot()
        return model.ask

    def on_snapshot(compute: Callable[[Snapshot], object], treatment: str = "map") -> Setup:
        def setup(_: int) -> Callable[[], object]:
            snapshot = fitted(treatment).snapshot()
            return lambda: compute(snapshot)

        return setup

    return {
        FIT: fit("map"),
        SAMPLED_FIT: fit("posterior"),
        NEXT: lambda _: fitted().ask,
        EXCEEDING: exceeding,
        **{type(rule).__name__: on_snapshot(rule.assess) for rule in RULES},
        SAMPLED: on_snapshot(UCBbr(EPSILON, DELTA).assess, "posterior"),
        GAP: on_snapshot(lambda snapshot: certified_gap(snapshot, ledger_for(problem.space, DELTA, 10.0))),
        **{_alone(rule): on_snapshot(rule.estimate) for rule in RULES if isinstance(rule, Heuristic)},
        LEFT: on_snapshot(lambda snapshot: probability_left(snapshot, 0, EPSILON)),
        **_others(problem, history),
    }


def _alone(rule: Rule) -> str:
    return f"{type(rule).__name__}, its bound alone"


def _formula(problem: Problem, key: dict[str, Any], history: list[Observation]) -> Setup:
    def setup(_: int) -> Callable[[], object]:
        model = optimizer(problem, key, "map")
        model.replace_history(history)
        snapshot = model.snapshot()
        posterior = snapshot.model.posteriors[0]
        std = float(np.median(posterior.mean_std(snapshot.data.points)[1])) / posterior.prior_std
        noise_std = posterior.noise_std / posterior.prior_std
        t, dim = len(history) + 1, problem.space.dim
        return lambda: instantaneous_regret_bound(t=t, posterior_std=std, noise_std=noise_std, dim=dim, delta=DELTA)

    return setup


def _others(problem: Problem, history: list[Observation]) -> dict[str, Setup]:
    """Return one step of the other libraries with the same observations."""
    import optuna
    from optuna.terminator import RegretBoundEvaluator
    from skopt import Optimizer
    from skopt.space import Real
    from skopt.utils import cook_estimator, normalize_dimensions

    distributions = distributions_of(problem.space)
    trials = [
        optuna.create_trial(params=dict(o.params), distributions=dict(distributions), value=o.value) for o in history
    ]

    def sampler(repetition: int) -> Callable[[], object]:
        study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=repetition))
        study.add_trials(trials[:-1])
        study.ask(distributions)  # it remembers the last fit
        study.add_trial(trials[-1])
        return lambda: study.ask(distributions)

    def terminator(repetition: int) -> Callable[[], object]:
        evaluator = RegretBoundEvaluator(seed=repetition)
        return lambda: evaluator.evaluate(trials, optuna.study.StudyDirection.MINIMIZE)

    def skopt(repetition: int) -> Callable[[], object]:
        space = normalize_dimensions([Real(axis.low, axis.high, name=name) for name, axis in problem.space.items()])
        # As gp_minimize makes it.
        search = Optimizer(
            space,
            cook_estimator("GP", space=space, random_state=repetition, noise="gaussian"),
            acq_func="gp_hedge",
            acq_optimizer="lbfgs",
            n_initial_points=1,
            random_state=repetition,
        )
        points = [[o.params[name] for name in problem.space] for o in history]
        values = [o.value for o in history]
        search.tell(points[:-1], values[:-1], fit=False)

        def step() -> object:
            search.tell(points[-1], values[-1])
            return search.ask()

        return step

    return {OPTUNA: sampler, TERMINATOR: terminator, SKOPT: skopt}

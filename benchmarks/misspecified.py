"""False stops where the model is wrong: every rule along the same paths, under the MAP and under samples."""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.misspecified_problems import Misspecified, problems
from benchmarks.progress import track
from benchmarks.records import RESULTS, append, compact, pending, provenance
from regretstop import GPUCB, PRB, Observation, OptimalityGap, Rule, UCBbr

PATH = RESULTS / "misspecified.jsonl"
SHARES = (0.01, 0.05)
DELTA = 0.05
FIRST = 8
# PRB and Optuna's terminator are asked every so many evaluations; the others always.
EVERY = 4
TREATMENTS = ("map", "posterior")


def run(seeds: int, trials: int, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet."""
    keys = [
        {"problem": name, "seed": seed, "trials": trials, "exceedance": exceedance}
        for seed in range(seeds)
        for name in problems()
        for exceedance in (False, True)
    ]
    source = provenance()
    for key in track(pending(path, keys), "misspecified"):
        append(path, run_path(key) | source)


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return the true regrets along one path, and for each rule, ε and treatment the bounds, trials and the stop."""
    problem = problems()[key["problem"]]
    noise = np.random.default_rng([key["seed"], 1])
    tolerances = {share: share * problem.span for share in SHARES}
    models = {
        treatment: GPUCB(
            problem.space,
            direction="minimize",
            hyperparameters=treatment,
            seed=key["seed"],
            exceedance=tolerances[0.01] if key["exceedance"] else None,
        )
        for treatment in TREATMENTS
    }
    sampler = models["map"]
    history: list[Observation] = []
    regrets: list[float | None] = []
    stops: dict[str, dict[str, Any]] = {}
    start = time.process_time()
    for n in range(1, key["trials"] + 1):
        params = sampler.ask()
        value = problem.objective(params)
        regrets.append(compact(value - problem.minimum))
        history.append(Observation(params, value + problem.noise(noise), n - 1))
        for model in models.values():
            model.replace_history(history)
        if n < FIRST:
            continue
        for treatment, model in models.items():
            _assess(stops, treatment, model, tolerances, regrets, n)
        if n % EVERY == 0:
            _ask_terminator(stops, problem, history, tolerances, regrets, n)
    return key | {
        "epsilons": {str(share): compact(epsilon) for share, epsilon in tolerances.items()},
        "regrets": regrets,
        "stops": stops,
        "cpu_s": round(time.process_time() - start, 2),
    }


def _assess(
    stops: dict[str, dict[str, Any]],
    treatment: str,
    model: GPUCB,
    tolerances: dict[float, float],
    regrets: list[float | None],
    n: int,
) -> None:
    for share, epsilon in tolerances.items():
        rules: dict[str, Rule] = {
            "UCBbr": UCBbr(epsilon, DELTA),
            "gap": OptimalityGap(epsilon, DELTA),
            "calibrated gap": OptimalityGap(epsilon, DELTA, beta=4.0),
        }
        if n % EVERY == 0:
            rules["PRB"] = PRB(epsilon, DELTA)
        for name, rule in rules.items():
            label = f"{name}, {treatment}, {share}"
            if label in stops:
                continue
            certificate = model.certificate(rule)
            if certificate.stop and certificate.incumbent is not None:
                _stop(stops, label, n, regrets[certificate.incumbent], epsilon, compact(certificate.bound))


def _ask_terminator(
    stops: dict[str, dict[str, Any]],
    problem: Misspecified,
    history: list[Observation],
    tolerances: dict[float, float],
    regrets: list[float | None],
    n: int,
) -> None:
    """Ask Optuna's terminator about the same trials; it says nothing of a trial, so the best one counts."""
    import optuna
    from optuna.terminator import RegretBoundEvaluator
    from regretstop_optuna._space import Distributions

    distributions: Distributions = {
        name: optuna.distributions.IntDistribution(p.low, p.high)
        if isinstance(p.low, int)
        else optuna.distributions.FloatDistribution(p.low, p.high)
        for name, p in problem.space.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trials = [
            optuna.create_trial(params=dict(o.params), distributions=dict(distributions), value=o.value)
            for o in history
        ]
        improvement = RegretBoundEvaluator(seed=0).evaluate(trials, optuna.study.StudyDirection.MINIMIZE)
    best = min(history, key=lambda o: float("inf") if o.value is None else o.value)
    for share, epsilon in tolerances.items():
        label = f"Optuna's terminator, –, {share}"
        if label not in stops and improvement < epsilon:
            _stop(stops, label, n, regrets[best.number], epsilon, compact(improvement))


def _stop(
    stops: dict[str, dict[str, Any]], label: str, n: int, regret: float | None, epsilon: float, bound: float | None
) -> None:
    stops[label] = {"n": n, "regret": regret, "false": regret is None or regret > epsilon, "bound": bound}

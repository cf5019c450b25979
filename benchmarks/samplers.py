"""Where to look next: how soon rules stop, and how good the best value is, by how the points are chosen."""

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import misspecified_problems
from benchmarks.draws import cube_draw
from benchmarks.objectives import Problem
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, PRB, GaussianProcess, Observation, Rule, UCBbr
from regretstop.gap import calibrated_gap

PATH = RESULTS / "samplers.jsonl.gz"
DELTA = 0.05
FIRST, EVERY, PRB_EVERY = 8, 4, 8
SQRT_BETA = 2.0
# Dimension and lengthscale.
DRAWS = {"draws, d = 4, ℓ = 0.7": (4, 0.7), "draws, d = 6, ℓ = 1": (6, 1.0)}
NAMES = ("Branin", "Hartmann-3", "Hartmann-6", "Levy-4", "Rosenbrock-4", "SVM", "boosting", *DRAWS)
Choose = Callable[[list[Observation]], Mapping[str, Any]]


def run(seeds: int, trials: int, processes: int, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet."""
    keys = [
        {"problem": name, "sampler": sampler, "seed": seed, "trials": trials}
        for seed in range(seeds)
        for name in NAMES
        for sampler in SAMPLERS
    ]
    run_pending(run_path, keys, path, processes)


def problem_of(name: str, seed: int) -> Problem:
    """Return a problem of the other benchmark, or a draw with ε a tenth of the prior deviation."""
    if name not in DRAWS:
        return misspecified_problems.problem(name)
    dim, lengthscale = DRAWS[name]
    draw = cube_draw(np.full(dim, lengthscale), np.random.default_rng([seed, dim]))
    return Problem(draw.space, draw.objective, draw.find_maximum(), (0.1,), direction="maximize")


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return the true regrets along one path, and where UCBbr and PRB stopped at the mode of the hyperparameters."""
    start = time.process_time()
    problem = problem_of(key["problem"], key["seed"])
    choose = SAMPLERS[key["sampler"]](problem, key["seed"])
    model = GPUCB(problem.space, direction=problem.direction, beta=SQRT_BETA**2, seed=key["seed"])
    rules: dict[str, Rule] = {"UCBbr": UCBbr(problem.epsilons[0], DELTA), "PRB": PRB(problem.epsilons[0], DELTA)}
    sign = 1.0 if problem.direction == "maximize" else -1.0
    history: list[Observation] = []
    regrets: list[float] = []
    stops: dict[str, dict[str, Any]] = {}
    for n in range(1, key["trials"] + 1):
        params = choose(history)
        value = problem.objective(params)
        regrets.append(max(sign * (problem.optimum - value), 0.0))
        history.append(Observation(params, value, n - 1))
        for name, rule in rules.items():
            every = PRB_EVERY if name == "PRB" else EVERY
            if n < FIRST or n % every or name in stops:
                continue
            model.replace_history(history)
            certificate = model.certificate(rule)
            if certificate.stop and certificate.incumbent is not None:
                stops[name] = {"n": n, "regret": compact(regrets[certificate.incumbent], 4)}
    return key | {
        "epsilon": problem.epsilons[0],
        "regrets": [compact(regret, 4) for regret in regrets],
        "stops": stops,
        "cpu_s": round(time.process_time() - start, 2),
    }


def _gpucb(problem: Problem, seed: int, **options: Any) -> Choose:
    sampler = GPUCB(problem.space, direction=problem.direction, seed=seed, **options)

    def choose(history: list[Observation]) -> Mapping[str, Any]:
        sampler.replace_history(history)
        return sampler.ask()

    return choose


def _optimism(problem: Problem, seed: int) -> Choose:
    """Choose what keeps the calibrated gap open under the hyperparameter sample where it is worst."""
    model = GPUCB(
        problem.space, direction=problem.direction, surrogate=GaussianProcess(hyperparameters="posterior"), seed=seed
    )

    def choose(history: list[Observation]) -> Mapping[str, Any]:
        model.replace_history(history)
        snapshot = model.snapshot()
        if snapshot.obstacle is None:
            query = calibrated_gap(snapshot, SQRT_BETA).open_point
            if query is not None:
                return problem.space.decode(query)
        return model.ask()

    return choose


def _first_and_then(problem: Problem, seed: int) -> Choose:
    """Choose with √β = 2 for 30 evaluations, and with the matched width from then on."""
    first, then = _gpucb(problem, seed), _gpucb(problem, seed, beta="matched")
    return lambda history: (first if len(history) < 30 else then)(history)


def of_optuna(problem: Problem, seed: int, name: str = "GPSampler") -> Choose:
    """Return what one of Optuna's samplers chooses, which has to be told every evaluation."""
    import optuna

    from benchmarks.paths import distributions_of

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is experimental
        study = optuna.create_study(direction=problem.direction, sampler=getattr(optuna.samplers, name)(seed=seed))
    distributions = distributions_of(problem.space)
    asked: list[optuna.Trial] = []

    def choose(history: list[Observation]) -> Mapping[str, Any]:
        if asked:
            study.tell(asked[-1], history[-1].value)
        asked.append(study.ask(distributions))
        return asked[-1].params

    return choose


SAMPLERS: dict[str, Callable[[Problem, int], Choose]] = {
    "√β = 2": _gpucb,
    "matched": lambda problem, seed: _gpucb(problem, seed, beta="matched"),
    "√β = 2, then matched": _first_and_then,
    "optimism": _optimism,
    "exceedance of ε": lambda problem, seed: _gpucb(problem, seed, exceedance=problem.epsilons[0]),
    "exceedance of ε/10": lambda problem, seed: _gpucb(problem, seed, exceedance=problem.epsilons[0] / 10.0),
    "Optuna's GPSampler": of_optuna,
}

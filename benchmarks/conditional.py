"""Conditional studies in Optuna: does the search end by a certificate, truly, and is it no worse than others?

The studies run as a user's do: `optimize` with a define-by-run objective, so that the branches are inferred from the
trials, and `RegretBoundCallback`, beside our sampler and beside TPE. What was certified at the stop is kept; then the
study goes on without the callback to the number of evaluations at which searches are compared.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of

from benchmarks.conditional_tables import BEST_POSSIBLE, EPSILON, NAMES, searched_in
from benchmarks.conditional_tables import PATH as TABLES
from benchmarks.paths import distributions_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from benchmarks.timing import hardware
from regretstop import Certificate, Space

PATH = RESULTS / "conditional.jsonl.gz"
DELTA = 0.05
# To the stop, and where searches are compared.
TRIALS, COMPARED = 100, 60
OURS = "regretstop"
SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    OURS: lambda seed: GPUCBSampler(seed=seed, best_possible=BEST_POSSIBLE),
    "TPE": lambda seed: optuna.samplers.TPESampler(multivariate=True, group=True, seed=seed),
    "GPSampler": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}
CERTIFIED = (OURS, "TPE")


def run(seeds: int, processes: int = 1, path: Path = PATH, tables: Path = TABLES) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"study": name, "sampler": sampler, "seed": seed}
        for seed in range(seeds)
        for sampler in SAMPLERS
        for name in NAMES
    ]
    run_pending(partial(run_search, tables=tables), keys, path, processes)


def run_search(key: dict[str, Any], tables: Path = TABLES) -> dict[str, Any]:
    """Return the true regrets of one search, and what was certified where it stopped."""
    start = time.process_time()
    searched = searched_in(key["study"], tables)
    rng = np.random.default_rng([key["seed"], 7])
    regrets: list[float] = []
    branches: list[int] = []

    def objective(trial: optuna.Trial) -> float:
        params = suggested(trial, searched.space)
        true, score = searched.evaluate(params, rng)
        regrets.append(searched.optimum - true)
        branches.append(int(searched.space.branch_of(searched.space.encode(params)[None])[0]))
        return score

    certificates: list[Certificate] = []

    def keep(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        certificate = certificate_of(study)
        assert certificate is not None  # the callback before this one has stored it
        certificates.append(certificate)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some samplers are experimental
        study = optuna.create_study(direction="maximize", sampler=SAMPLERS[key["sampler"]](key["seed"]))
        if key["sampler"] in CERTIFIED:
            rule = RegretBoundCallback(epsilon=EPSILON, delta=DELTA, best_possible=BEST_POSSIBLE)
            study.optimize(objective, n_trials=TRIALS, callbacks=[rule, keep])
        if len(regrets) < COMPARED:
            study.optimize(objective, n_trials=COMPARED - len(regrets))
    return key | {
        "epsilon": EPSILON,
        "delta": DELTA,
        "regrets": [compact(regret, 4) for regret in regrets],
        "values": [compact(trial.value or 0.0) for trial in study.trials],
        "branches": branches,
        "bounds": [compact(each.bound, 4) for each in certificates],
        "last": _said(certificates[-1], regrets) if certificates else None,
        "ran_on": f"Optuna {optuna.__version__}, {hardware()}",
        "cpu_s": round(time.process_time() - start, 2),
    }


def suggested(trial: optuna.Trial, space: Space) -> dict[str, Any]:
    """Return what an objective with this space asks a trial for, one parameter after the other, parents first."""
    middle = {name: parameter.decode(0.5) for name, parameter in space.items()}
    params: dict[str, Any] = {}
    for name, distribution in distributions_of(space).items():
        if name not in space.decode(space.encode(middle | params)):
            continue
        match distribution:
            case optuna.distributions.CategoricalDistribution():
                params[name] = trial.suggest_categorical(name, distribution.choices)
            case optuna.distributions.IntDistribution(low=low, high=high, log=log):
                params[name] = trial.suggest_int(name, low, high, log=log)
            case _:
                params[name] = trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
    return params


def _said(certificate: Certificate, regrets: list[float]) -> dict[str, Any]:
    """Return what the last certificate said, and the true regret of its trial."""
    trial = certificate.incumbent
    return {
        "stop": certificate.stop,
        "n": certificate.n_observations,
        "trial": trial,
        "regret": None if trial is None else compact(regrets[trial], 4),
        "bound": compact(certificate.bound, 4),
        "maximum": certificate.maximum,
        "left": None if certificate.left is None else compact(certificate.left.probability, 3),
        "noise_std": None if certificate.noise is None else compact(certificate.noise.noise_std, 3),
        "terms": {name: compact(v, 4) for name, v in certificate.terms.items() if isinstance(v, int | float)},
        "reason": certificate.reason,
    }

"""Pruned trials: whether a certificate comes sooner, and is still right, if what they showed is used.

Optuna's pruners end trials of jobs with curves. Along each study UCBbr is asked by several models, which differ in what
they are told of the pruned trials. Certificates are about completed trials throughout. A study ends when all models
have stopped. One without a pruner stands beside those with one.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from regretstop_optuna import GPUCBSampler

from benchmarks.curve_jobs import N_STEPS, NAMES, Curves, curves_of
from benchmarks.imputed import FEWEST, PartlyImputed, Way, chain, last_value, nothing, optimistic, regression
from benchmarks.paths import distributions_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, GaussianProcess, Observation, UCBbr

PATH = RESULTS / "pruned.jsonl.gz"
DELTA = 0.05
TRIALS = 120
# Every fourth trial up to here, then every sixth.
_DENSE, _OFTEN, _EVERY = 48, 4, 6
SAMPLERS = ("TPE", "regretstop")
NO_PRUNER = "none"
PRUNERS = (NO_PRUNER, "median", "Hyperband")
NOTHING, MAIN, ORACLE = "nothing", "regression", "the value it would have had"
# Hyperparameters of completed trials alone, and imputed values with their deviation as noise, times a factor.
NOISY: dict[str, tuple[Way, float]] = {
    MAIN: (regression, 1.0),
    "regression, twice the deviation": (regression, 2.0),
    "chain": (chain, 1.0),
    "chain, twice the deviation": (chain, 2.0),
    "optimistic": (optimistic, 1.0),
    ORACLE: (nothing, 1.0),
}
# As if they had been observed.
ORDINARY: dict[str, Way] = {
    NOTHING: nothing,
    "regression, as observed": regression,
    "optimistic, as observed": optimistic,
    "last value, as observed": last_value,
    f"{ORACLE}, as observed": nothing,
}
# What takes long, or does not pay, is asked with the first seed only.
FEW_SEEDS, FEW = 1, ("chain", "chain, twice the deviation", ORACLE, *list(ORDINARY)[1:])


@dataclass(frozen=True)
class Trial:
    """A trial; values are those of a maximised objective.

    Attributes:
        params: The parameters.
        shown: What it reported, shape (s,); the whole curve unless it was pruned.
        last: The value at the end of the whole curve.
    """

    params: dict[str, Any]
    shown: np.ndarray
    last: float

    @property
    def is_complete(self) -> bool:
        """Whether it ran to the end."""
        return len(self.shown) == N_STEPS


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the studies that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"job": name, "sampler": sampler, "pruner": pruner, "seed": seed, "trials": TRIALS}
        for seed in range(seeds)
        for pruner in PRUNERS
        for sampler in SAMPLERS
        for name in NAMES
    ]
    run_pending(run_study, keys, path, processes)


def run_study(key: dict[str, Any]) -> dict[str, Any]:
    """Return what each model said along one study, and what was imputed at its end."""
    start = time.process_time()
    job = curves_of(key["job"], key["seed"])
    sign = 1.0 if job.direction == "maximize" else -1.0
    trials: list[Trial] = []

    def objective(trial: optuna.Trial) -> float:
        params = {name: trial._suggest(name, each) for name, each in distributions.items()}  # pyright: ignore[reportPrivateUsage]
        curve = job.curve(params)
        for step in range(1, N_STEPS + 1):
            trial.report(float(curve[step - 1]), step)
            if step < N_STEPS and trial.should_prune():
                trials.append(Trial(params, sign * curve[:step], sign * float(curve[-1])))
                raise optuna.TrialPruned
        trials.append(Trial(params, sign * curve, sign * float(curve[-1])))
        return float(curve[-1])

    distributions = distributions_of(job.space)
    study = _study(key, job)
    ways = _asked(key)
    surrogates = {name: PartlyImputed() if name in NOISY else GaussianProcess() for name in ways}
    models = {
        name: GPUCB(
            job.space,
            direction=job.direction,
            surrogate=surrogate,
            best_possible=job.best_possible,
            seed=key["seed"],
        )
        for name, surrogate in surrogates.items()
    }
    said: dict[str, list[list[Any]]] = {name: [] for name in ways}
    optimum = sign * job.optimum
    for n in range(1, key["trials"] + 1):
        study.optimize(objective, n_trials=1)
        # As many as a model of the completed trials alone needs.
        if n % (_OFTEN if n <= _DENSE else _EVERY) or sum(trial.is_complete for trial in trials) < job.space.dim + 4:
            continue
        for name, model in models.items():
            if stops(said[name], job.epsilon):
                continue
            surrogate, (history, imputed) = surrogates[name], told(name, trials, job)
            if isinstance(surrogate, PartlyImputed):
                surrogate.imputed = imputed
            model.replace_history(history)
            certificate = model.certificate(UCBbr(job.epsilon, DELTA))
            at = certificate.incumbent
            left = None if certificate.left is None else compact(certificate.left.probability, 3)
            regret = None if at is None else compact(max(optimum - trials[at].last, 0.0), 4)
            said[name].append([n, compact(certificate.bound, 4), regret, left])
        if all(stops(each, job.epsilon) for each in said.values()):
            break
    return key | {
        "epsilon": compact(job.epsilon),
        "delta": DELTA,
        "steps": [len(trial.shown) for trial in trials],
        "regrets": [compact(max(optimum - trial.last, 0.0), 4) for trial in trials],
        "said": said,
        "best": compact(min(optimum - trial.last for trial in trials if trial.is_complete), 4),
        "imputed": _imputed(trials, optimum),
        "cpu_s": round(time.process_time() - start, 2),
    }


def stops(said: Sequence[Sequence[Any]], epsilon: float) -> bool:
    """Return whether the last that was said is a stop."""
    return bool(said) and said[-1][1] is not None and said[-1][1] < epsilon


def _asked(key: dict[str, Any]) -> tuple[str, ...]:
    """Return which models are asked along a study."""
    if key["pruner"] == NO_PRUNER:
        return (NOTHING,)
    return tuple(name for name in (*ORDINARY, *NOISY) if name not in FEW or key["seed"] < FEW_SEEDS)


def _study(key: dict[str, Any], job: Curves) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = key["seed"]
    pruners: dict[str, optuna.pruners.BasePruner] = {
        NO_PRUNER: optuna.pruners.NopPruner(),
        "median": optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3),
        "Hyperband": optuna.pruners.HyperbandPruner(min_resource=1, max_resource=N_STEPS, reduction_factor=3),
    }
    sampler: optuna.samplers.BaseSampler = optuna.samplers.TPESampler(seed=seed)
    if key["sampler"] == "regretstop":
        sampler = GPUCBSampler(seed=seed, exceedance=job.epsilon, best_possible=job.best_possible)
    # The name says which bracket of Hyperband a trial is in.
    return optuna.create_study(
        study_name=f"{key['job']} {seed}", direction=job.direction, sampler=sampler, pruner=pruners[key["pruner"]]
    )


def told(name: str, trials: Sequence[Trial], job: Curves) -> tuple[list[Observation], dict[bytes, tuple[float, float]]]:
    """Return the history that a model is told, and what of it is imputed, by the bytes of the encoded point."""
    sign = 1.0 if job.direction == "maximize" else -1.0
    shown = [trial.shown for trial in trials]
    ceiling = np.inf if job.best_possible is None else sign * job.best_possible
    history: list[Observation] = []
    imputed: dict[bytes, tuple[float, float]] = {}
    for number, trial in enumerate(trials):
        if trial.is_complete:
            history.append(Observation(trial.params, sign * trial.last, number))
            continue
        way, factor = NOISY[name] if name in NOISY else (ORDINARY[name], 0.0)
        # What nobody knows stands for the most that there is to gain.
        found = (trial.last, 0.0) if ORACLE in name else way(trial.shown, shown)
        if found is None:
            history.append(Observation(trial.params, None, number))
            continue
        value = min(found[0], ceiling)
        imputed[job.space.encode(trial.params).tobytes()] = value, factor * found[1]
        # Not feasible: it tells the model, and is never certified.
        history.append(Observation(trial.params, sign * value, number, feasible=False))
    return history, imputed


def _imputed(trials: Sequence[Trial], optimum: float) -> list[list[float | None]]:
    """Return what is imputed at the end.

    For each pruned trial its steps; how far below the optimum are its own last value and what regression and chain
    expect of it, each of these followed by the deviation; and whether it is better than the optimistic value.
    """
    shown = [trial.shown for trial in trials]
    completed = np.array([each for each in shown if len(each) == N_STEPS])
    rows: list[list[float | None]] = []
    for trial in trials:
        if trial.is_complete or len(completed) < FEWEST:
            continue
        row: list[float | None] = [len(trial.shown), compact(optimum - trial.last, 3)]
        for way in (regression, chain):
            found = way(trial.shown, shown)
            row += [None, None] if found is None else [compact(optimum - found[0], 3), compact(found[1], 3)]
        most = trial.shown[-1] + np.max(completed[:, -1] - completed[:, len(trial.shown) - 1])
        rows.append([*row, int(trial.last > most)])
    return rows

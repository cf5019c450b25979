"""Who should end a search whose kernel is unknown: two deviations, or the default rule.

Along searches by default the paper's experiment, √β = 2, is asked after every evaluation about the trial that it would
name, and the default certificate: where the experiment would stop, and from 30 evaluations on everywhere, for samples
of the hyperparameters may then end a search in its place. Where either stops it is kept what each says: its bound, what
is left by the certificate, and how far the trial that it names really is from the optimum. So every ε-false stop can be
read off the records. A search ends when both have stopped. Along some of the draws the certificate over samples alone
is asked from the default's stop on, until it stops, or for half as many evaluations more.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import paper_problems
from benchmarks.coverage import EPSILON, objective_of
from benchmarks.misspecified_problems import NAMES, SHARES, problem
from benchmarks.objectives import Problem, shekel
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, Certificate, GaussianProcess, UCBbr
from regretstop.bound import ledger_for
from regretstop.rules import two_deviations
from regretstop.snapshot import Snapshot

PATH = RESULTS / "doubt.jsonl.gz"
DELTA = 0.05
# Draws of the model's priors, and the paper's rows whose kernel is unknown.
PRIORS = {f"priors, d = {dim}": dim for dim in (2, 4, 6)}
ROWS = tuple(name for name, row in paper_problems.ROWS.items() if not row.known and name != paper_problems.CNN)
TRIALS = 90
# From so many evaluations on the default rule may stop where the experiment would not.
DOUBTED = 30
# How many of each at most; draws of the priors may be more.
TEXTBOOK_SEEDS, PAPER_SEEDS = 20, 40
# Samples are asked along so many draws of each kind. One of eight samples under which something is left for certain
# adds 0.125, more than δ.
SAMPLED_SEEDS, N_SAMPLES = 20, 32


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    others = [(name, share) for name in (*NAMES, "Shekel-4") for share in SHARES]
    keys = [
        {"problem": name, "share": share, "seed": seed, "trials": TRIALS}
        for seed in range(seeds)
        for name, share in (
            *((name, None) for name in PRIORS),
            *((name, None) for name in ROWS if seed < PAPER_SEEDS),
            *(others if seed < TEXTBOOK_SEEDS else ()),
        )
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what each said along one search."""
    start = time.process_time()
    searched, epsilon = searched_in(key)
    rng = np.random.default_rng([key["seed"], 5])
    optimizer = GPUCB(searched.space, direction=searched.direction, seed=key["seed"])
    rule = UCBbr(epsilon, DELTA)
    over_samples: GPUCB | None = None
    n_sampled = 0
    has_ended = has_agreed = False
    sign = 1.0 if searched.direction == "minimize" else -1.0
    regrets: list[float] = []
    said: list[dict[str, Any]] = []
    for n in range(1, key["trials"] + 1):
        params = optimizer.ask(epsilon=epsilon)
        value = searched.objective(params)
        regrets.append(sign * (value - searched.optimum))
        optimizer.tell(params, value + searched.noise(rng))
        snapshot = optimizer.snapshot()
        if snapshot.obstacle is not None:
            continue
        bound, trial = experiment(snapshot)
        agrees = bound < epsilon
        has_agreed = has_agreed or agrees
        one: dict[str, Any] = {"n": n, "UCBbr": [compact(bound), compact(regrets[trial])]}
        if not has_ended and (agrees or n >= DOUBTED):
            one["mode"] = _counted(optimizer.certificate(rule), regrets)
            has_ended = stops(one, "mode", epsilon)
            if has_ended and _asks_samples(key):
                over_samples, n_sampled = _sampled(searched, key), n + max(n // 2, 10)
        if over_samples is not None:
            over_samples.replace_history(optimizer.history)
            one["samples"] = _counted(over_samples.certificate(rule), regrets)
            if stops(one, "samples", epsilon) or n >= n_sampled:
                over_samples = None
        if agrees or "samples" in one or stops(one, "mode", epsilon):
            said.append(one)
        if has_ended and has_agreed and over_samples is None:
            break
    return key | {
        "epsilon": epsilon,
        "delta": DELTA,
        "said": said,
        "evaluations": len(regrets),
        "doubted_from": DOUBTED,
        "cpu_s": round(time.process_time() - start, 2),
    }


def searched_in(key: dict[str, Any]) -> tuple[Problem, float]:
    """Return what is searched, and ε."""
    name, seed = key["problem"], key["seed"]
    if name in PRIORS:
        draw, _, noise_std = objective_of("unknown", "continuous", PRIORS[name], seed)
        found = Problem(
            draw.space,
            draw.objective,
            draw.find_maximum(),
            (EPSILON,),
            direction="maximize",
            noise=lambda rng: float(rng.normal(0.0, noise_std)),
        )
        return found, EPSILON
    if name in ROWS and key["share"] is None:
        found = paper_problems.problem_of({"problem": name, "kernel": "Matérn-5/2", "seed": seed})
        return found, found.epsilons[0]
    found = shekel(SHARES) if name == "Shekel-4" else problem(name)
    return found, found.epsilons[SHARES.index(key["share"])]


def _asks_samples(key: dict[str, Any]) -> bool:
    return key["seed"] < SAMPLED_SEEDS and (key["problem"] in PRIORS or key["problem"].startswith("GP "))


def _sampled(searched: Problem, key: dict[str, Any]) -> GPUCB:
    surrogate = GaussianProcess(hyperparameters="posterior", n_samples=N_SAMPLES)
    return GPUCB(searched.space, direction=searched.direction, surrogate=surrogate, seed=key["seed"])


def experiment(snapshot: Snapshot) -> tuple[float, int]:
    """Return the bound of the paper's experiment, and the number of the trial that it is about."""
    mean, std = snapshot.at_data()[0]
    incumbent = int(np.argmax(mean - 2.0 * std))
    ledger = ledger_for(snapshot.space, DELTA, UCBbr.n_L, simultaneous=True)
    return two_deviations(snapshot, ledger, incumbent), int(snapshot.data.numbers[incumbent])


def _counted(certificate: Certificate, regrets: list[float]) -> list[float | None]:
    """Return the bound, the true regret of the trial that it is about, and what is left by the certificate."""
    if certificate.incumbent is None or certificate.left is None:
        return [None, None, None]
    return [
        compact(certificate.bound),
        compact(regrets[certificate.incumbent]),
        compact(certificate.left.probability, 3),
    ]


def stops(said: dict[str, Any], name: str, epsilon: float) -> bool:
    """Return whether one of them would have stopped by what was kept of a test."""
    return name in said and said[name][0] is not None and said[name][0] < epsilon

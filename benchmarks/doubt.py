"""Who should end a search whose kernel is unknown: two deviations, the count at the mode, or the count over samples.

Along searches with the default points each is asked after every evaluation, and what each says is kept: its bound, and
how far the trial that it names really is from the optimum. So every way of combining them, and every ε-false stop, can
be read off the records without another search. Samples are asked only where the mode and two deviations are both below
ε, as a rule that doubts would. A search ends once UCBbr and the samples have stopped.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage import EPSILON, objective_of
from benchmarks.misspecified_problems import NAMES, SHARES, problem
from benchmarks.objectives import Problem, shekel
from benchmarks.paper_problems import problem_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, UCBbr
from regretstop.gap import CountedGap, Gap, calibrated_gap, counted_gap
from regretstop.snapshot import Snapshot

PATH = RESULTS / "doubt.jsonl.gz"
DELTA = 0.05
SQRT_BETA = 2.0
# Draws: of the model's priors, and those of the paper's rows.
PRIORS = {f"priors, d = {dim}": dim for dim in (2, 4, 6)}
ROWS = ("GP 3e-3, d = 2", "GP 3e-3, d = 6")
TRIALS = 90


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    of_draws = [(name, None) for name in (*PRIORS, *ROWS)]
    others = [(name, share) for name in (*NAMES, "Shekel-4") for share in SHARES]
    keys = [
        {"problem": name, "share": share, "seed": seed, "trials": TRIALS}
        for seed in range(seeds)
        for name, share in (*of_draws, *others)
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what each said along one search."""
    start = time.process_time()
    searched, epsilon = _problem(key)
    rng = np.random.default_rng([key["seed"], 5])
    optimizer = GPUCB(searched.space, direction=searched.direction, seed=key["seed"])
    sign = 1.0 if searched.direction == "minimize" else -1.0
    regrets: list[float] = []
    said: list[dict[str, Any]] = []
    for n in range(1, key["trials"] + 1):
        params = optimizer.ask(epsilon=epsilon)
        value = searched.objective(params)
        regrets.append(sign * (value - searched.optimum))
        optimizer.tell(params, value + searched.noise(rng))
        snapshot = optimizer.snapshot()
        if snapshot.obstacle is None:
            said.append({"n": n} | _say(snapshot, regrets, epsilon))
            if _has_stopped(said, "UCBbr", epsilon) and _has_stopped(said, "samples", epsilon):
                break
    return key | {
        "epsilon": epsilon,
        "delta": DELTA,
        "said": said,
        "evaluations": len(regrets),
        "cpu_s": round(time.process_time() - start, 2),
    }


def _problem(key: dict[str, Any]) -> tuple[Problem, float]:
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
    if name in ROWS:
        found = problem_of({"problem": name, "kernel": "Matérn-5/2", "seed": seed})
        return found, found.epsilons[0]
    found = shekel(SHARES) if name == "Shekel-4" else problem(name)
    return found, found.epsilons[SHARES.index(key["share"])]


def _say(snapshot: Snapshot, regrets: list[float], epsilon: float) -> dict[str, Any]:
    """Return bounds, and the true regrets of the trials that they are about."""
    ucb_br = UCBbr(epsilon, DELTA).assess(snapshot)
    assert ucb_br.incumbent is not None
    assert ucb_br.left is not None
    mode, deviations = counted_gap(snapshot, DELTA, epsilon), calibrated_gap(snapshot, SQRT_BETA)
    scale = snapshot.model.scale
    said = {
        "UCBbr": [*_pair(ucb_br.bound, regrets[ucb_br.incumbent]), compact(ucb_br.left.probability, 3)],
        "deviations": _of_gap(snapshot, deviations, regrets),
        "mode": [*_of_gap(snapshot, mode, regrets), compact(mode.left, 3)],
    }
    if snapshot.model.over_samples is not None and max(mode.bound, deviations.bound) * scale < epsilon:
        sampled = replace(snapshot, model=snapshot.model.over_samples())
        samples = counted_gap(sampled, DELTA, epsilon)
        said["samples"] = [*_of_gap(snapshot, samples, regrets), compact(samples.left, 3)]
    return said


def _of_gap(snapshot: Snapshot, gap: Gap | CountedGap, regrets: list[float]) -> list[Any]:
    return _pair(gap.bound * snapshot.model.scale, regrets[int(snapshot.data.numbers[gap.incumbent])])


def _pair(bound: float, regret: float) -> list[Any]:
    return [compact(bound), compact(regret)]


def _has_stopped(said: list[dict[str, Any]], name: str, epsilon: float) -> bool:
    bounds = [each[name][0] for each in said if name in each]
    return any(bound is not None and bound < epsilon for bound in bounds)

"""Who should end a search whose kernel is unknown: two deviations, the count at the mode as well, or samples as well.

Along searches with the default points UCBbr with √β = 2 is asked after every evaluation. Where it would stop, the count
at the mode of the hyperparameters is asked; where that would stop too, the mean count over samples of them. What each
says is kept: its bound, what it calls the probability left, and how far the trial that it names really is from the
optimum. So every way of combining them, and every ε-false stop, can be read off the records. A search ends when all
three have stopped, or well after the mode has.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage import EPSILON, objective_of
from benchmarks.misspecified_problems import NAMES, SHARES, problem
from benchmarks.objectives import Problem, shekel
from benchmarks.paper_problems import problem_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, GaussianProcess, UCBbr
from regretstop.gap import counted_gap
from regretstop.snapshot import Snapshot

PATH = RESULTS / "doubt.jsonl.gz"
DELTA = 0.05
# Draws: of the model's priors, and those of the paper's rows.
PRIORS = {f"priors, d = {dim}": dim for dim in (2, 4, 6)}
ROWS = ("GP 3e-3, d = 2", "GP 3e-3, d = 6")
TRIALS = 90
# One of eight samples under which something is left for certain adds 0.125, more than δ.
N_SAMPLES = 32
# How many of the textbook's seeds; draws may have more.
TEXTBOOK_SEEDS = 20


def run(seeds: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    of_draws = [(name, None) for name in (*PRIORS, *ROWS)]
    others = [(name, share) for name in (*NAMES, "Shekel-4") for share in SHARES]
    keys = [
        {"problem": name, "share": share, "seed": seed, "trials": TRIALS}
        for seed in range(seeds)
        for name, share in (*of_draws, *(others if seed < TEXTBOOK_SEEDS else ()))
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what each said along one search."""
    start = time.process_time()
    searched, epsilon = _problem(key)
    rng = np.random.default_rng([key["seed"], 5])
    optimizer, over_samples = (
        GPUCB(searched.space, direction=searched.direction, beta=4.0, surrogate=surrogate, seed=key["seed"])
        for surrogate in (GaussianProcess(), GaussianProcess(hyperparameters="posterior", n_samples=N_SAMPLES))
    )
    sign = 1.0 if searched.direction == "minimize" else -1.0
    regrets: list[float] = []
    said: list[dict[str, Any]] = []
    enough = key["trials"]
    for n in range(1, key["trials"] + 1):
        params = optimizer.ask(epsilon=epsilon)
        value = searched.objective(params)
        regrets.append(sign * (value - searched.optimum))
        observed = value + searched.noise(rng)
        for model in (optimizer, over_samples):
            model.tell(params, observed)
        snapshot = optimizer.snapshot()
        if snapshot.obstacle is None:
            said.append({"n": n} | _say(snapshot, over_samples, regrets, epsilon))
            if "samples" in said[-1]:
                enough = min(enough, n + max(n // 2, 10))
        if n >= enough or (said and stops(said[-1], "samples", epsilon)):
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


def _say(snapshot: Snapshot, over_samples: GPUCB, regrets: list[float], epsilon: float) -> dict[str, Any]:
    """Return bounds, the true regrets of the trials that they are about, and what is left of them as each sees it."""
    ucb_br = UCBbr(epsilon, DELTA).assess(snapshot)
    assert ucb_br.incumbent is not None
    assert ucb_br.left is not None
    values = snapshot.data.values
    said: dict[str, Any] = {
        "UCBbr": [compact(ucb_br.bound), compact(regrets[ucb_br.incumbent]), compact(ucb_br.left.probability, 3)],
        "spread": compact(float(np.std(values)), 3),
    }
    for name in ("mode", "samples"):
        if not stops(said, "UCBbr" if name == "mode" else "mode", epsilon):
            break
        if name == "samples":
            snapshot = over_samples.snapshot()
        found = counted_gap(snapshot, DELTA, epsilon)
        regret = regrets[int(snapshot.data.numbers[found.incumbent])]
        said[name] = [compact(found.bound), compact(regret), compact(found.left, 3)]
    return said


def stops(said: dict[str, Any], name: str, epsilon: float) -> bool:
    """Return whether one of them would have stopped by what was kept of a test."""
    return name in said and said[name][0] is not None and said[name][0] < epsilon

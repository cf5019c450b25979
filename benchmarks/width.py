"""When rules stop, and how often falsely, on draws of a kernel that is known: from a handful of hills to thousands.

All rules see the same searches. Each is asked on the same schedule until it has stopped, the dear ones along one search
of five, those without a count only where their bound alone is below ε, and the count at δ = 0.1 where it is below a
half. A search ends when the evaluations are used up, or when
all have stopped but the gap that is proved by a grid, which hardly ever does. A stop is false where the optimum is
better than the certified trial by more than ε. Of the counted certificates every one is kept with what remained: is
what they call the probability left one?
"""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage import Tally
from benchmarks.doubt import experiment
from benchmarks.draws import cube_draw
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, PRB, DeltaCB, GaussianProcess, Matern52, OptimalityGap, Rule, SquaredExponential, UCBbr
from regretstop.snapshot import Snapshot

PATH = RESULTS / "width.jsonl.gz"
EPSILON = 0.2
NOISE = 3e-3
KERNELS = {"Matern52": Matern52, "SquaredExponential": SquaredExponential}
LENGTHSCALES = {1: (0.1, 0.03, 0.01), 2: (0.3, 0.15, 0.08), 4: (0.8, 0.4, 0.25), 6: (2.0, 1.0, 0.6)}
TRIALS = {1: 60, 2: 90, 4: 120, 6: 120}
TESTS = (*range(4, 40, 2), *range(40, 121, 10))
# Points of which one search of so many is made, beside one of each with calibrated ones.
ONE_OF = {"calibrated": 1, "default": 10}
# These cost more than all others; they are asked along one search of so many.
DEAR, DEAR_ONE_OF = ("gap", "PRB"), 5
COUNTED, COUNTED_TOO = "calibrated, 0.05", "calibrated, 0.1"
# What is asked of which model: the width of UCBbr is that of the model's acquisition.
RULES: dict[str, tuple[str, Rule]] = {
    COUNTED: ("calibrated", UCBbr(EPSILON, 0.05)),
    COUNTED_TOO: ("calibrated", UCBbr(EPSILON, 0.1)),
    "UCBbr": ("default", UCBbr(EPSILON, 0.05)),
    "gap": ("default", OptimalityGap(EPSILON, 0.05, simultaneous=True, beta="grid")),  # as it was before the count
    "PRB": ("default", PRB(EPSILON, 0.05)),
    "ΔCB": ("default", DeltaCB(EPSILON, 0.05)),
}


def run(draws: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"draw": draw, "dim": dim, "lengthscale": lengthscale, "kernel": kernel, "sampler": sampler}
        for draw in range(draws)
        for dim, lengthscales in LENGTHSCALES.items()
        for lengthscale in lengthscales
        for kernel in KERNELS
        for sampler, one_of in ONE_OF.items()
        if draw % one_of == 0
    ]
    run_pending(run_search, keys, path, processes)


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return what each rule said along one search."""
    start = time.process_time()
    dim, kernel = key["dim"], KERNELS[key["kernel"]]
    lengthscales = np.full(dim, key["lengthscale"])
    rng = np.random.default_rng([key["draw"], dim, LENGTHSCALES[dim].index(key["lengthscale"]), len(key["kernel"])])
    draw = cube_draw(lengthscales, rng, kernel=kernel)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel(lengthscales.tolist(), 1.0), noise_std=NOISE)
    betas: dict[str, Any] = {"calibrated": "calibrated", "default": 4.0}
    models = {name: GPUCB(draw.space, beta=betas[name], surrogate=surrogate, seed=key["draw"]) for name in ONE_OF}
    maximum, values = draw.find_maximum(), np.empty(0)
    is_dear_asked = key["draw"] % DEAR_ONE_OF == 0
    tallies = {name: Tally() for name in RULES if is_dear_asked or name not in DEAR}
    said: list[tuple[float | None, int]] = []
    for n in range(1, TRIALS[dim] + 1):
        params = models[key["sampler"]].ask(epsilon=EPSILON)
        values = np.append(values, draw.objective(params))
        value = float(values[-1]) + NOISE * rng.standard_normal()
        for model in models.values():
            model.tell(params, value)
        if n not in TESTS:
            continue
        regrets = max(maximum, float(np.max(values))) - values
        is_much_left = False
        for name, tally in tallies.items():
            if tally.stop is not None or (name == COUNTED_TOO and is_much_left):
                continue
            model, rule = RULES[name]
            if not _may_stop(rule, models[model].snapshot()):
                continue
            certificate = models[model].certificate(rule)
            tally.count(certificate, n, regrets)
            if name == COUNTED and certificate.left is not None and certificate.incumbent is not None:
                left = certificate.left.probability
                is_much_left = left > 0.5
                said.append((compact(left, 3), int(regrets[certificate.incumbent] > EPSILON)))
        if all(tally.stop is not None for name, tally in tallies.items() if name != "gap"):
            break
    return key | {
        "epsilon": EPSILON,
        "rules": {name: asdict(tally) for name, tally in tallies.items()},
        "left": said,
        "evaluations": len(values),
        "cpu_s": round(time.process_time() - start, 2),
    }


def _may_stop(rule: Rule, snapshot: Snapshot) -> bool:
    """Return whether a certificate may stop: what stands beside the bound in it costs more than most bounds."""
    if snapshot.obstacle is not None:
        return False
    if isinstance(rule, DeltaCB):
        return rule.estimate(snapshot).bound < EPSILON
    return not isinstance(rule, UCBbr) or snapshot.beta == "calibrated" or experiment(snapshot)[0] < EPSILON

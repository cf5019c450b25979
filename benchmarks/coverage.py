"""How often a certificate is false where the theorem holds: draws of the declared Gaussian process."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.objectives import Draw, continuous_draw, finite_draw
from benchmarks.progress import track
from benchmarks.records import RESULTS, append, compact, pending, provenance
from regretstop import GPUCB, Matern52, OptimalityGap, UCBbr

PATH = RESULTS / "coverage.jsonl"
EPSILON = 0.1
DELTA = 0.05
NOISE_STD = 5e-3
BETAS = ("theory", "matched")
# Dimension: lengthscale, lattice points an axis, trials.
CELLS = {1: (0.2, 101, 25), 2: (0.5, 15, 50)}


def run(draws: int, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet, the quick spaces first."""
    keys = [
        {"space": space, "dim": dim, "beta": beta, "draw": draw, "trials": trials}
        for space in ("finite", "continuous")
        for draw in range(draws)
        for dim, (_, _, trials) in CELLS.items()
        for beta in BETAS
    ]
    source = provenance()
    for key in track(pending(path, keys), "coverage"):
        append(path, run_path(key) | source)


@lru_cache(maxsize=4)
def _draw(space: str, dim: int, number: int) -> Draw:
    lengthscale, per_axis, _ = CELLS[dim]
    rng = np.random.default_rng([number, dim, space == "finite"])
    if space == "finite":
        return finite_draw(dim, per_axis, lengthscale, rng)
    return continuous_draw(dim, lengthscale, rng)


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return one path's tests: how many certificates and bounds were false, for each rule.

    The draw and the noise depend on the space and the number of the draw, not on β.
    """
    dim = key["dim"]
    draw = _draw(key["space"], dim, key["draw"])
    noise = np.random.default_rng([key["draw"], dim]).standard_normal(key["trials"])
    optimizer = GPUCB(
        draw.space,
        beta=key["beta"],
        kernel=Matern52([CELLS[dim][0]] * dim, 1.0),
        noise_std=NOISE_STD,
        hyperparameters="fixed",
        seed=key["draw"],
    )
    rules = [rule(EPSILON, DELTA) for rule in (UCBbr, OptimalityGap)]
    record: dict[str, dict[str, Any]] = {
        type(rule).__name__: {"stop": None, "false": 0, "violated": 0, "margin": np.inf} for rule in rules
    }
    for n in range(1, key["trials"] + 1):
        params = optimizer.ask()
        optimizer.tell(params, draw.objective(params) + NOISE_STD * noise[n - 1])
        snapshot = optimizer.snapshot()
        for rule in rules:
            certificate = rule.assess(snapshot)
            if certificate.incumbent is None:
                continue
            tests = record[type(rule).__name__]
            incumbent = optimizer.history[certificate.incumbent].params
            regret = draw.maximum - draw.objective(incumbent)
            tests["violated"] += bool(regret > certificate.bound)
            tests["margin"] = min(tests["margin"], certificate.bound - regret)
            tests["false"] += bool(certificate.stop and regret > EPSILON)
            if certificate.stop and tests["stop"] is None:
                tests["stop"] = n
    for tests in record.values():
        tests["margin"] = compact(tests["margin"])
    return key | {"epsilon": EPSILON, "delta": DELTA, "noise_std": NOISE_STD, "rules": record}

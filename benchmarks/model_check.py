"""How often the model check holds a model back: draws of the model itself, and problems that are no draw of it."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import misspecified_problems
from benchmarks.draws import cube_draw
from benchmarks.objectives import Problem
from benchmarks.progress import track
from benchmarks.records import RESULTS, append, compact, pack, pending, provenance
from regretstop import GPUCB, GaussianProcess

PATH = RESULTS / "model_check.jsonl.gz"
SIZES = (16, 24, 32, 48, 64)
TREATMENTS = ("map", "posterior")
_LENGTHSCALES = (0.33, 2.0)
# Dimension and deviation of the noise.
DRAWS = {f"draws, d = {dim}, σ = {std:g}": (dim, std) for dim in (2, 4, 6) for std in (0.0, 0.05)}
NAMES = (*DRAWS, *misspecified_problems.NAMES)


def run(seeds: int, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet."""
    keys = [{"problem": name, "seed": seed} for seed in range(seeds) for name in NAMES]
    source = provenance()
    for key in track(pending(path, keys), "model check"):
        append(path, run_path(key) | source)
    pack(path)


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return what the check says at some sizes along one path of the sampler at its defaults."""
    problem = _problem(key["problem"], key["seed"])
    noise = np.random.default_rng([key["seed"], 1])
    models = {
        treatment: GPUCB(
            problem.space,
            direction=problem.direction,
            surrogate=GaussianProcess(hyperparameters=treatment),
            seed=key["seed"],
        )
        for treatment in TREATMENTS
    }
    sampler = models["map"]
    checks: dict[str, list[dict[str, Any]]] = {treatment: [] for treatment in TREATMENTS}
    start = time.process_time()
    for n in range(1, max(SIZES) + 1):
        params = sampler.ask()
        sampler.tell(params, problem.objective(params) + problem.noise(noise))
        if n not in SIZES:
            continue
        for treatment, model in models.items():
            model.replace_history(sampler.history)
            check = model.snapshot().model.check
            if check is not None:
                checks[treatment].append({"n": n, "rms": compact(check.rms), "inflation": compact(check.inflation)})
    return key | {"checks": checks, "cpu_s": round(time.process_time() - start, 2)}


def _problem(name: str, seed: int) -> Problem:
    if name not in DRAWS:
        return misspecified_problems.problem(name)
    dim, noise_std = DRAWS[name]
    rng = np.random.default_rng([seed, dim])
    draw = cube_draw(np.exp(rng.uniform(*np.log(_LENGTHSCALES), dim)), rng)
    optimum = math.nan  # is not asked for here, and costs more than the path
    return Problem(
        draw.space,
        draw.objective,
        optimum,
        epsilons=(),
        direction="maximize",
        noise=lambda noise: noise_std * float(noise.standard_normal()),
    )

"""How often the model check holds a model back: draws of the model itself, and problems that are no draw of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.misspecified_problems import problems
from benchmarks.objectives import Objective, continuous_draw
from benchmarks.progress import track
from benchmarks.records import RESULTS, append, compact, pending, provenance, read
from regretstop import GPUCB, Space
from regretstop.optimizer import Direction

PATH = RESULTS / "model_check.jsonl"
SIZES = (16, 24, 32, 48, 64)
TREATMENTS = ("map", "posterior")
_DIMS = (2, 4, 6)
_NOISE_STDS = (0.0, 0.05)
_LENGTHSCALES = (0.33, 2.0)


@dataclass(frozen=True)
class _Task:
    space: Space
    objective: Objective
    direction: Direction
    noise: Callable[[np.random.Generator], float]


def run(seeds: int, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet."""
    keys = [{"problem": name, "seed": seed} for seed in range(seeds) for name in (*_draws(), *problems())]
    source = provenance()
    for key in track(pending(path, keys), "model check"):
        append(path, run_path(key) | source)


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return what the check says at some sizes along one path of the sampler at its defaults."""
    task = _task(key["problem"], key["seed"])
    noise = np.random.default_rng([key["seed"], 1])
    models = {
        treatment: GPUCB(task.space, direction=task.direction, hyperparameters=treatment, seed=key["seed"])
        for treatment in TREATMENTS
    }
    sampler = models["map"]
    checks: dict[str, list[dict[str, Any]]] = {treatment: [] for treatment in TREATMENTS}
    start = time.process_time()
    for n in range(1, max(SIZES) + 1):
        params = sampler.ask()
        sampler.tell(params, task.objective(params) + task.noise(noise))
        if n not in SIZES:
            continue
        for treatment, model in models.items():
            model.replace_history(sampler.history)
            check = model.snapshot().check
            if check is not None:
                checks[treatment].append({"n": n, "rms": compact(check.rms), "inflation": compact(check.inflation)})
    return key | {"checks": checks, "cpu_s": round(time.process_time() - start, 2)}


def section() -> list[str]:
    """Return the Markdown; nothing where there are no records."""
    from benchmarks.report import rate, table

    records = read(PATH)
    if not records:
        return []
    groups = {name: [r for r in records if r["problem"] == name] for name in (*_draws(), *problems())}
    groups = {"all draws": [r for r in records if r["problem"] in _draws()]} | groups
    rows: list[dict[str, Any]] = []
    for name, paths in groups.items():
        for treatment in TREATMENTS if paths else ():
            row: dict[str, Any] = {"problem": name, "hyperparameters": treatment}
            for n in SIZES:
                found = [c["inflation"] for r in paths for c in r["checks"][treatment] if c["n"] == n]
                held = sum(inflation > 1.0 for inflation in found)
                count = rate(held, len(found)) if name == "all draws" else f"{held}/{len(found)}"
                row[f"n = {n}"] = count + "".join(f", {q:.2f}" for q in np.quantile(found, [0.5, 0.9]))
            rows.append(row)
    low, high = _LENGTHSCALES
    sources = sorted({f"{record['version']} ({record['source']})" for record in records})
    return [
        "## Model check",
        f"Paths of `GPUCB` at its defaults, {len({r['seed'] for r in records})} seeds a problem. After n evaluations: "
        "in how many paths the deviations of the model are inflated (κ > 1), and the median and the 90 % quantile of "
        "κ, for the mode of the hyperparameters and for eight samples of them. Draws are of a Matérn-5/2 process of "
        f"unit deviation with lengthscales log-uniform in {low:g}–{high:g} for each axis, which the model has to "
        "estimate; were they known to it, it would be held back in 5 %. All draws with Wilson's 95 % interval. Source "
        f"of `regretstop` {' and '.join(sources)}.",
        table(rows),
    ]


def _draws() -> dict[str, tuple[int, float]]:
    """Return dimension and noise of the draws, by name."""
    return {f"draws, d = {dim}, σ = {std:g}": (dim, std) for dim in _DIMS for std in _NOISE_STDS}


def _task(name: str, seed: int) -> _Task:
    if name not in _draws():
        problem = problems()[name]
        return _Task(problem.space, problem.objective, "minimize", problem.noise)
    dim, noise_std = _draws()[name]
    rng = np.random.default_rng([seed, dim])
    lengthscales = np.exp(rng.uniform(*np.log(_LENGTHSCALES), dim))
    draw = continuous_draw(dim, lengthscales, rng, n_features=1024)
    return _Task(draw.space, draw.objective, "maximize", lambda noise: noise_std * float(noise.standard_normal()))

"""What it changed that the modes of the hyperparameters are searched for: the same points, before and after.

`data/modes_before.jsonl` was written by `run` with the source that it names, whose search for a mode started from the
one at the last of 8, 16, 32, … observations.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import histories
from benchmarks.histories import History
from benchmarks.paths import DELTA, EVERY_FOURTH
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact, read
from benchmarks.tables import evaluations, sources, table
from regretstop import GPUCB, Matern52, UCBbr
from regretstop.model import Embedding, GaussianProcess, HyperparameterDensity, Treatment, standardize

PATH = RESULTS / "modes.jsonl"
BEFORE = histories.DATA / "modes_before.jsonl"
TREATMENTS: tuple[Treatment, ...] = ("map", "posterior")
_SIZES = (40, 60, 100)
_MOVED = 0.1

Record = Mapping[str, Any]


def run(path: Path = PATH) -> None:
    """Run the records that the file does not hold yet: real histories in both treatments, the others at the mode."""
    keys = [{"history": each.name, "treatment": "map"} for each in histories.recorded()]
    keys += [{"history": each.name, "treatment": treatment} for each in histories.real() for treatment in TREATMENTS]
    run_pending(_run, keys, path, processes=1)


def _run(key: dict[str, Any]) -> dict[str, Any]:
    found = {each.name: each for each in (*histories.recorded(), *histories.real())}
    return key | assess(found[key["history"]], key["treatment"])


def assess(history: History, treatment: Treatment) -> dict[str, Any]:
    """Return what UCBbr says along a history, and −log density and σ (in the values' spreads) of the mode."""
    sizes = EVERY_FOURTH.up_to(len(history.observations)) if history.regrets else list(_SIZES)
    optimizer = GPUCB(history.space, direction=history.direction, surrogate=_surrogate(treatment), seed=0)
    at_mode = _surrogate("map", model_check=False)
    columns: dict[str, list[float | None]] = {name: [] for name in ("minus_log", "noise_std", "bounds", "named")}
    for n in sizes:
        optimizer.replace_history(history.observations[:n])
        certificate = UCBbr(history.epsilon, DELTA).assess(optimizer.snapshot())
        points, values = history.first(n).encoded()
        mode = at_mode.fit(points, values, categories=history.space.categories, sign=1.0).posteriors[0]
        theta = np.log([*mode.lengthscales, mode.prior_std, mode.noise_std])
        embedding, data = Embedding(history.space.categories), standardize(values)
        density = HyperparameterDensity(points, data.values, kernel=Matern52(), embedding=embedding, noise_std=None)
        named = certificate.incumbent if history.regrets else None
        columns["minus_log"].append(compact(density(theta)[0]))
        columns["noise_std"].append(compact(mode.noise_std, 3))
        columns["bounds"].append(compact(certificate.bound, 4))
        columns["named"].append(None if named is None else history.regrets[named])
    return {"problem": history.problem, "epsilon": history.epsilon, "sizes": sizes, **columns}


def _surrogate(treatment: Treatment, *, model_check: bool = True) -> GaussianProcess:
    return GaussianProcess(kernel=Matern52(), hyperparameters=treatment, model_check=model_check)


def section() -> list[str]:
    """Return the Markdown; nothing where there are no records."""
    before = {(each["history"], each["treatment"]): each for each in read(BEFORE)}
    pairs = [(before[key], each) for each in read(PATH) if (key := (each["history"], each["treatment"])) in before]
    if not pairs:
        return []
    along = [pair for pair in pairs if len(pair[0]["sizes"]) > len(_SIZES)]
    apart = [pair for pair in pairs if len(pair[0]["sizes"]) == len(_SIZES)]
    lower, higher = (sum(_moved(pair, sign) for pair in along) for sign in (1.0, -1.0))
    return [
        "## The search for the mode",
        "The density of the hyperparameters has several modes. Before, the search for the best started from the one at "
        "the last power of two; now it follows several from checkpoint to checkpoint. The same points assessed both "
        f"ways: {len(along)} paths of 60 evaluations (`data/histories.jsonl`, chosen by the older source; the paths of "
        "the other sections are of still older ones, and have other points), at every fourth from the eighth. At "
        f"{lower} of {sum(len(pair[0]['sizes']) for pair in along)} tests −log density is now lower by more than "
        f"{_MOVED:g}, at {higher} it is higher. Stops of UCBbr, at the mode, at the smaller ε: how many, how "
        "many of them falsely, and the median evaluations (∞ where fewer than half stopped); then how many paths stop "
        "earlier and later than before. "
        f"Before: {sources([old for old, _ in pairs])} Now: {sources([new for _, new in pairs])}",
        table(_stops(along)),
        "Real tuning jobs of other samplers, accuracies, ε = 0.01: UCBbr's bound in units of ε, and σ at the mode in "
        "units of the values' spread, before → after.",
        table(_real(apart)),
    ]


def _stops(pairs: Sequence[tuple[Record, Record]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in ("all", *dict.fromkeys(old["problem"] for old, _ in pairs)):
        chosen = [pair for pair in pairs if name in ("all", pair[0]["problem"])]
        stops = [(_stop(old), _stop(new)) for old, new in chosen]
        rows.append(
            {
                "problem": name,
                "paths whose mode moved": f"{sum(_moved(pair, 1.0) > 0 for pair in chosen)}/{len(chosen)}",
                "before": _cell([old for old, _ in stops]),
                "after": _cell([new for _, new in stops]),
                "earlier": sum(new[0] < old[0] for old, new in stops),
                "later": sum(new[0] > old[0] for old, new in stops),
            }
        )
    return rows


def _real(pairs: Sequence[tuple[Record, Record]]) -> list[dict[str, Any]]:
    return [
        {
            "history": old["history"],
            "hyperparameters": old["treatment"],
            **{
                f"n = {n}": f"{_over(old, i, 'bounds')} → {_over(new, i, 'bounds')}; "
                f"σ {old['noise_std'][i]:.2g} → {new['noise_std'][i]:.2g}"
                for i, n in enumerate(old["sizes"])
            },
        }
        for old, new in pairs
    ]


def _over(record: Record, i: int, name: str) -> str:
    bound = record[name][i]
    return "∞" if bound is None else f"{bound / record['epsilon']:.3g}"


def _moved(pair: tuple[Record, Record], sign: float) -> int:
    """Return at how many tests −log density is lower than before; with sign −1, higher."""
    old, new = (np.array(record["minus_log"], dtype=float) for record in pair)
    return int(np.sum(sign * (old - new) > _MOVED))


def _stop(record: Record) -> tuple[float, bool]:
    """Return after how many evaluations UCBbr first stopped, infinite if never, and whether falsely."""
    for n, bound, regret in zip(record["sizes"], record["bounds"], record["named"], strict=True):
        if bound is not None and bound < record["epsilon"]:
            return n, regret > record["epsilon"]
    return math.inf, False


def _cell(stops: Sequence[tuple[float, bool]]) -> str:
    stopped = sum(math.isfinite(n) for n, _ in stops)
    median = evaluations(float(np.sort([n for n, _ in stops])[(len(stops) - 1) // 2]))
    return f"{stopped}/{len(stops)}, {sum(false for _, false in stops)}, {median}"

"""What samples of the hyperparameters would add to a stop at their mode, if they were asked only then.

No rule does so yet. It is counted along the paths that were assessed both ways: UCBbr's bound at the mode is below ε,
and the probability that something better by more than ε remains, estimated over the samples, is at most a level.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchmarks.misspecified_problems import NAMES
from benchmarks.outcomes import Record, counted, outcomes
from benchmarks.paper_problems import ROWS
from benchmarks.paths import answers_of
from benchmarks.tables import stopped_and_false

Pair = tuple[Record, Record]
"""The records of one path: at the mode, and over samples."""

_LEVELS = (0.1, 0.05, 0.0)
_RULE = "UCBbr"
_APART = ("Hartmann-6", "step")
_DRAWS = {
    f"draws, kernel unknown, d = {dim}": [n for n, row in ROWS.items() if n.startswith("GP ") and row.dim == dim]
    for dim in (2, 6)
}
# By title: the problems.
_NO_DRAWS: Mapping[str, Sequence[str]] = {
    f"no draws, ε = 1 %: all but {' and '.join(_APART)}": [name for name in NAMES if name not in _APART],
    **{f"{name}, ε = 1 %": [name] for name in _APART},
}


def counts_of(draws: Sequence[Record], others: Sequence[Record]) -> pd.DataFrame:
    """Return what becomes of the searches by whose opinion is asked; empty where no path was assessed both ways.

    Args:
        draws: Records of the paper's rows.
        others: Records of problems that are no draws.
    """
    rows = _rows(draws, _DRAWS) + _rows(others, _NO_DRAWS)
    return pd.concat(rows) if rows else pd.DataFrame()


def words(counts: pd.DataFrame) -> str:
    """Return in words what the middle level does; nothing where no path was assessed both ways."""
    if counts.empty:
        return ""
    level = _LEVELS[1]
    rows = counts.set_index(["searches by", "asked"])
    said = [
        f"{title}: {stopped_and_false(rows.loc[title, 'mode alone'])} → "
        f"{stopped_and_false(rows.loc[title, _asked(level)])}"
        for title in rows.index.unique(level=0)
    ]
    return (
        "**A second opinion.** What if UCBbr stopped at the mode only where samples, too, leave a probability of at "
        f"most {level:g} for something better by more than ε? No rule does so, and the levels were looked at after the "
        f"fact. Stopped, false: {'; '.join(said)}."
    )


def pairs(records: Sequence[Record]) -> list[Pair]:
    """Return the paths with exceedance sampling that were assessed both ways; the same key may have other points."""
    found: dict[tuple[Any, ...], dict[str, Record]] = {}
    for record in records:
        if record["sampler"] == "exceedance":
            key = (*(record[name] for name in ("problem", "kernel", "seed", "trials")), *record["regrets"])
            found.setdefault(key, {})[record["treatment"]] = record
    return [(both["map"], both["posterior"]) for both in found.values() if {"map", "posterior"} <= both.keys()]


def confirmed(pair: Pair, level: float) -> Record:
    """Return the record at the mode with bounds only where the samples leave at most this probability."""
    mode, samples = pair
    epsilon, series = min(mode["epsilons"]), mode["rules"][_RULE]
    left = {n: share for n, share, _ in answers_of(samples, f"probability left {epsilon:.6g}", epsilon)}
    bounds = [
        bound if left.get(n, math.inf) <= level else None
        for n, bound in zip(mode["tests"], series["bounds"], strict=True)
    ]
    return {**mode, "rules": {_RULE: series | {"bounds": bounds}}}


def _rows(records: Sequence[Record], groups: Mapping[str, Sequence[str]]) -> list[pd.DataFrame]:
    rows: list[pd.DataFrame] = []
    for title, names in groups.items():
        both = pairs([record for record in records if record["problem"] in names])
        ways = {
            "mode alone": [mode for mode, _ in both],
            **{_asked(level): [confirmed(pair, level) for pair in both] for level in _LEVELS},
            "samples alone": [samples for _, samples in both],
        }
        for asked, paths in ways.items() if both else ():
            found = outcomes(paths, [_RULE]).assign(asked=asked)
            found["searches by"] = title
            rows.append(counted(found, ["searches by", "asked"]))
    return rows


def _asked(level: float) -> str:
    return f"mode, and left ≤ {level:g} over samples"

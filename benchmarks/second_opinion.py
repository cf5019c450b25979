"""What samples of the hyperparameters would add to a stop at their mode, if they were asked only then.

No rule does so yet. It is counted along the paths that were assessed both ways: UCBbr's bound at the mode is below ε,
and the probability that something better by more than ε remains, estimated over the samples, is at most a level.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import misspecified, paper
from benchmarks.misspecified_problems import NAMES
from benchmarks.outcomes import Outcome, longest, outcome, summary
from benchmarks.paper_problems import ROWS
from benchmarks.paths import answers_of
from benchmarks.records import read
from benchmarks.tables import evaluations, table

Record = Mapping[str, Any]
Pair = tuple[Record, Record]
"""The records of one path: at the mode, and over samples."""

_LEVELS = (0.1, 0.05, 0.0)
_RULE = "UCBbr"
_APART = ("Hartmann-6", "step")
# By title: the problems.
_ROWS_OF_THE_TABLES = {
    **{
        f"draws, kernel unknown, d = {dim}": [n for n, row in ROWS.items() if n.startswith("GP ") and row.dim == dim]
        for dim in (2, 6)
    },
    "Branin, ε = 0.1": ["Branin"],
}
_NO_DRAWS = {
    f"no draws, ε = 1 %: all but {' and '.join(_APART)}": [name for name in NAMES if name not in _APART],
    **{f"{name}, ε = 1 %": [name] for name in _APART},
}


def section() -> list[str]:
    """Return the Markdown; nothing where no path was assessed both ways."""
    rows = _rows(longest(read(paper.PATH)), _ROWS_OF_THE_TABLES) + _rows(read(misspecified.PATH), _NO_DRAWS)
    if not rows:
        return []
    return [
        "## A second opinion",
        "What if UCBbr, with its bound at the mode below the smaller ε, asked samples of the hyperparameters before it "
        "stopped: whether the probability that something better by more than ε remains, from 64 paths over eight "
        "samples, is at most so much? No rule does so yet, and the levels were looked at after the fact. By default "
        "points, chosen at the mode, where both records have the same ones. The probability is about the trial "
        "that the samples name; false is what the mode's is. Searches that would have stopped, how many of them "
        "falsely, and the median evaluations (∞ where fewer than half stopped).",
        table(rows),
    ]


def pairs(records: Sequence[Record]) -> list[Pair]:
    """Return the paths with exceedance sampling that were assessed both ways; the same key may have other points."""
    found: dict[tuple[Any, ...], dict[str, Record]] = {}
    for record in records:
        if record["sampler"] == "exceedance":
            key = (*(record[name] for name in ("problem", "kernel", "seed", "trials")), *record["regrets"])
            found.setdefault(key, {})[record["treatment"]] = record
    return [(both["map"], both["posterior"]) for both in found.values() if {"map", "posterior"} <= both.keys()]


def confirmed(pair: Pair, level: float) -> Outcome:
    """Return what a stop at the mode, confirmed by the samples, makes of a path."""
    mode, samples = pair
    epsilon, regrets = min(mode["epsilons"]), mode["regrets"]
    left = {n: share for n, share, _ in answers_of(samples, f"probability left {epsilon:.6g}", epsilon)}
    stops = (
        (n, named)
        for n, bound, named in answers_of(mode, _RULE, epsilon)
        if bound < epsilon and left.get(n, math.inf) <= level
    )
    stop, named = next(stops, (None, None))
    end = len(regrets) if stop is None else stop
    return Outcome(epsilon, stop, end, min(regrets[:end]), named)


def _rows(records: Sequence[Record], groups: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for title, names in groups.items():
        found = pairs([record for record in records if record["problem"] in names])
        if found:
            rows.append(
                {
                    "searches": title,
                    "mode alone": _cell([outcome(mode, _RULE) for mode, _ in found]),
                    **{f"left ≤ {level:g}": _cell([confirmed(pair, level) for pair in found]) for level in _LEVELS},
                    "samples alone": _cell([outcome(samples, _RULE) for _, samples in found]),
                }
            )
    return rows


def _cell(outcomes: list[Outcome]) -> str:
    found = summary(outcomes)
    return f"{found.stopped}/{found.paths}, {found.false}, {evaluations(found.median_stop)}"

"""Searches compared seed by seed: how often ours was better, and where that was more than chance."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd
from scipy.stats import binomtest

# A difference of which one says that it is no chance.
CHANCE = 0.05


def compared(pairs: Iterable[tuple[float | None, float]]) -> dict[str, float]:
    """Return how many of ours, which come first, are smaller, equal and larger, and the p of a sign test.

    Args:
        pairs: Of regrets of one seed; what has no partner is left out.
    """
    known = [(ours, its) for ours, its in pairs if ours is not None]
    better, worse = sum(ours < its for ours, its in known), sum(ours > its for ours, its in known)
    p = binomtest(better, better + worse).pvalue if better + worse else 1.0
    return {"better": better, "equal": len(known) - better - worse, "worse": worse, "p": p}


def beyond_chance(quality: pd.DataFrame, column: str, called: Callable[[str], str]) -> str:
    """Return in words where ours lost and won by more than chance.

    Args:
        quality: Rows of `compared`, with the sampler that ours was compared with.
        column: That of the problems.
        called: Returns what a sampler is called.
    """
    clear = quality[quality["p"].lt(CHANCE)]
    lost, won = (
        ", ".join(f"{row[column]} against {called(row['sampler'])}" for _, row in part.iterrows()) or "nowhere"
        for part in (clear[clear["worse"].gt(clear["better"])], clear[clear["better"].gt(clear["worse"])])
    )
    return f"(sign test, p < {CHANCE}) ours lost: {lost}; won: {won}."


def better_worse(row: "pd.Series[Any]") -> str:
    """Return on how many seeds ours was better and worse."""
    return f"{row['better']:.0f}–{row['worse']:.0f}"

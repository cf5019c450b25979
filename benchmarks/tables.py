"""Markdown tables, and what stands in their cells."""

import math
from typing import Any

import numpy as np
from scipy.stats import binomtest


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows with the same keys as a Markdown table; nothing without rows."""
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(v) for v in row.values()] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def evaluations(n: float) -> str:
    """Return a number of evaluations; infinite where most searches never got there."""
    return "∞" if math.isinf(n) else f"{n:g}"


def rate(k: int, n: int) -> str:
    """Return k of n with Wilson's 95 % interval."""
    low, high = wilson_interval(k, n)
    return f"{k}/{n} ({100 * low:.0f}–{100 * high:.0f} %)"


def wilson_interval(k: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval; of nothing, all is possible."""
    if n == 0:
        return 0.0, 1.0
    low, high = binomtest(k, n).proportion_ci(method="wilson")
    return float(low), float(high)


def exact(k: int, n: int) -> str:
    """Return k of n with the exact 95 % interval of Clopper and Pearson."""
    low, high = exact_interval(k, n)
    return f"{k}/{n} ({100 * low:.1f}–{100 * high:.1f} %)"


def exact_interval(k: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson; of nothing, all is possible."""
    if n == 0:
        return 0.0, 1.0
    low, high = binomtest(k, n).proportion_ci(method="exact")
    return float(low), float(high)


def spread(values: list[float]) -> str:
    """Return the median and the quartiles."""
    if not values:
        return "–"
    if not all(map(math.isfinite, values)):
        return "inf"
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]) + 0.0  # not −0
    return f"{middle:.3g} ({low:.3g}–{high:.3g})"


def sources(records: list[dict[str, Any]]) -> str:
    """Return in words which versions of the library the records are of."""
    found = sorted({f"{record['version']} ({record['source']})" for record in records})
    return f"Source of `regretstop` {' and '.join(found)}."

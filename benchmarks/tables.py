"""Tables in Markdown, and what stands in their cells."""

import math
from typing import Any

import pandas as pd
from scipy.special import betaincinv, ndtri


def table(frame: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    lines = [list(frame), ["---"] * len(frame.columns), *frame.astype(str).values.tolist()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float, digits: int = 3) -> str:
    """Return a number; infinite where most searches never got there, a dash where there is none."""
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}g}"


def rate(k: int, n: int) -> str:
    """Return k of n with Wilson's 95 % interval."""
    low, high = wilson_interval(k, n)
    return f"{k}/{n} ({100 * low:.0f}–{100 * high:.0f} %)"


def stopped_and_false(counts: "pd.Series[Any]") -> str:
    """Return how many of the searches of a row of `outcomes.counted` were stopped, and how many of them falsely."""
    return "{:d}/{:d}, {:d}".format(*(int(counts[name]) for name in ("stopped", "searches", "false")))


def wilson_interval(k: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of k of n; of nothing, all is possible."""
    if n == 0:
        return 0.0, 1.0
    z2 = float(ndtri(0.975)) ** 2
    middle, reach = k + z2 / 2.0, math.sqrt(z2 * (k * (n - k) / n + z2 / 4.0))
    return max(middle - reach, 0.0) / (n + z2), min(middle + reach, n + z2) / (n + z2)


def exact_interval(k: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson for k of n; of nothing, all is possible."""
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    return low, float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0

"""A penalty among the values: one worst value that several evaluations share, far below all the others.

See docs/theory.md, Estimated hyperparameters.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model._fence import FENCE, center_and_fence

# Fewer equal values may be chance.
_FEWEST = 3
_ADVICE = "if that stands for a failure, return NaN or prune the trial instead"


@dataclass(frozen=True)
class Plateau:
    """The worst values, where they look like a penalty.

    Attributes:
        value: The best of them, in the objective's units.
        count: How many they are.
        total: Of how many values.
        is_level: Whether they are all the same.
    """

    value: float
    count: int
    total: int
    is_level: bool

    def remark(self) -> str:
        """Return a remark for the reason of a certificate."""
        alike = "the same worst value" if self.is_level else "a few worst values, the best of them"
        return f"; {self.count} of {self.total} values are {alike} {self.value:.4g}: {_ADVICE}"


def all_equal(value: float) -> str:
    """Return in words why nothing is certified where all values are this one, up to rounding."""
    what = f"all values are equal up to rounding ({value:.4g})"
    return f"{what}, which says nothing about how far the objective can vary; {_ADVICE}"


def plateau_of(values: Array) -> Plateau | None:
    """Return the lowest values that look like a penalty: each shared by three evaluations, and far below the others.

    That is below the fence of all higher values, which lies further below their median than the best lies above it; so
    neither the best value nor one near it is ever among them. The first value that differs from all others, and is
    higher, says nothing of what is far: it leaves them a plateau.

    Args:
        values: Of a maximised objective, finite, shape (n,).
    """
    values = values / 16.0  # a power of two, which changes no digit: sums of the largest values must not overflow
    levels, counts = np.unique(values, return_counts=True)
    n_shared = int(np.argmin(np.append(counts >= _FEWEST, False)))
    lowest = levels[: min(n_shared, len(levels) - 1)]
    # A fence is at least as far below the median as this. Of an objective with many levels it leaves hardly any to look
    # at: 200 of them, in 2,000 values, took 40 ms, in each of the many fits of a model check.
    centers = _medians_above(np.sort(values), np.cumsum(counts)[: len(lowest)])
    is_far = centers - lowest >= FENCE * (levels[-1] - centers) * (1.0 - 1e-9)
    for level in lowest[is_far][::-1]:
        higher = values[values > level]
        center, fence = center_and_fence(higher)
        first_other = len(levels) == 2 and len(higher) == 1
        if first_other or level - center < fence:
            low = len(values) - len(higher)
            return Plateau(float(level) * 16.0, low, len(values), is_level=bool(level == levels[0]))
    return None


def _medians_above(ordered: Array, n_low: NDArray[np.intp]) -> Array:
    """Return the medians of sorted values without the lowest n_low[0], n_low[1], … of them, each fewer than all."""
    n_high = len(ordered) - n_low
    return 0.5 * (ordered[n_low + (n_high - 1) // 2] + ordered[n_low + n_high // 2])

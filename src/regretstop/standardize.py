"""From the objective's units to values of order one, and back.

Inside, everything is maximised. The scale is found after dividing by the largest deviation, so that values of
1e200 do not overflow when they are squared and values of 1e-200 do not vanish.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Differences below this fraction of the values' own size are rounding, not information.
_ROUNDING = 1e-12
# The smallest numbers have few digits, and a bound far below such a spread would come out at 0: a spread counts where
# this fraction of it still has all its digits.
_LEAST_SPREAD = float(np.finfo(np.float64).tiny) / _ROUNDING
# A value lower than the first quartile by this many typical spreads is a disaster, not a slope to learn.
_FENCE = 2.0
# Of standardised values: far below any noise that a fit takes for possible, far above what a change of units leaves.
_DIGITS = 12
_HUGE = 1e300


@dataclass(frozen=True)
class Standardized:
    """Values z = (y − offset) / scale of a maximised objective.

    Attributes:
        values: z, shape (n,).
        offset: In the objective's units.
        scale: In the objective's units; positive.
        n_clipped: How many bad outliers were raised to the fence.
        has_spread: Whether the values differ by more than rounding, and by more than 2.3e-296.
    """

    values: Array
    offset: float
    scale: float
    n_clipped: int
    has_spread: bool


def standardize(values: Array) -> Standardized:
    """Standardise values of a maximised objective to mean 0 and deviation 1, bad outliers clipped.

    Only values below `Q1 − 2 max(Q3 − Q1, max − median)` are raised to that fence. The fence lies further below
    the median than the best value lies above it, so no value near the optimum is ever touched: f and its clipped
    version have the same maximum, and a certificate for one is a certificate for the other.

    Args:
        values: y, shape (n,), finite, n ≥ 1.

    Returns:
        The standardised values with the numbers that undo it.
    """
    if float(np.max(np.abs(values))) > _HUGE:  # differences of such values overflow
        small = standardize(values / 16.0)
        return Standardized(small.values, small.offset * 16.0, small.scale * 16.0, small.n_clipped, small.has_spread)
    center = float(np.median(values))
    deviations = values - center
    q1, q3 = np.quantile(deviations, [0.25, 0.75])
    typical = max(q3 - q1, float(np.max(deviations)))
    # When most values are the same best value there is no typical spread to measure a disaster with.
    fence = q1 - _FENCE * typical if typical > _least_spread(center) else -np.inf
    clipped = np.maximum(deviations, fence)
    size = float(np.max(np.abs(clipped)))
    if size <= _least_spread(float(np.max(np.abs(center + clipped)))):
        largest = float(np.max(np.abs(values)))
        scale = largest if largest > _LEAST_SPREAD else 1.0
        return Standardized(np.zeros(len(values)), center, scale, 0, has_spread=False)
    clipped /= size
    mean = float(np.mean(clipped))
    deviation = float(np.std(clipped))
    return Standardized(
        # Without the last digits, which depend on the units: or the same data in others would end the fit elsewhere.
        values=np.round((clipped - mean) / deviation, _DIGITS),
        offset=center + mean * size,
        scale=deviation * size,
        n_clipped=int(np.sum(deviations < fence)),
        has_spread=True,
    )


def _least_spread(value: float) -> float:
    """Return the difference up to which numbers of this size are taken for equal."""
    return max(_ROUNDING * abs(value), _LEAST_SPREAD)

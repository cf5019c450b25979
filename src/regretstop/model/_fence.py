"""How low a value has to be for a disaster, and which differences are none."""

import numpy as np

from regretstop.array import Array

# Differences below this fraction of the values' own size are rounding, not information: some 4,500 units in the last
# place, which sums and changes of unit may leave.
_ROUNDING = 1e-12
# The smallest numbers have few digits, and a bound far below such a spread would come out at 0: a spread counts where
# this fraction of it still has all its digits.
LEAST_SPREAD = float(np.finfo(np.float64).tiny) / _ROUNDING
# A value lower than the first quartile by this many typical spreads is a disaster, not a slope to learn: of a normal
# sample one value in 2,700 is, Q1 − 2 (Q3 − Q1) being 3.4 deviations below the mean.
FENCE = 2.0


def center_and_fence(values: Array) -> tuple[float, float]:
    """Return the median, and how far from it the fence is below which a value of a maximised objective is a disaster.

        fence = Q1 − 2 max(Q3 − Q1, max − median)           (docs/theory.md, Estimated hyperparameters)

    It lies further below the median than the best value lies above it. Where most values are the same best value, their
    range takes the place of what is 0 then: none of these values is a disaster, but lower ones may be.

    Args:
        values: Shape (n,), n ≥ 1; their differences must not overflow.

    Returns:
        The median, and the fence less the median: negative, −∞ where all values are equal, which is no spread to
        measure a disaster with.
    """
    center = float(np.median(values))
    deviations = values - center
    q1, q3 = np.quantile(deviations, [0.25, 0.75])
    typical = max(q3 - q1, float(np.max(deviations)))
    if typical <= least_spread(center):
        typical = -float(np.min(deviations))
    return center, float(q1 - FENCE * typical) if typical > least_spread(center) else -np.inf


def least_spread(value: float) -> float:
    """Return the difference up to which numbers of this size are taken for equal."""
    return max(_ROUNDING * abs(value), LEAST_SPREAD)

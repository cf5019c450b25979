"""From the objective's units to values of order one, and back.

Inside, everything is maximised. The scale is found after dividing by the largest deviation, so that values of
1e200 do not overflow when they are squared and values of 1e-200 do not vanish.
"""

from dataclasses import dataclass, replace

import numpy as np

from regretstop.array import Array
from regretstop.model._fence import LEAST_SPREAD, center_and_fence, least_spread
from regretstop.model._plateau import plateau_of
from regretstop.model._units import Units
from regretstop.model._warp import LogWarp

# Of standardised values: far below any noise that a fit takes for possible, far above what a change of units leaves.
_DIGITS = 12
# Differences of larger values may overflow.
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
        fence: In the objective's units: lower values were raised to it; −∞ where none were.
        warp: What was applied to the values before: the objective's units are then those of warped values; None for
            none.
    """

    values: Array
    offset: float
    scale: float
    n_clipped: int
    has_spread: bool
    fence: float = -np.inf
    warp: LogWarp | None = None

    @property
    def units(self) -> Units:
        """How to go back."""
        return Units(self.offset, self.scale, self.warp)


def standardize(values: Array, *, fences: bool = True) -> Standardized:
    """Standardise values of a maximised objective to mean 0 and deviation 1, bad outliers clipped.

    Only values below `Q1 − 2 max(Q3 − Q1, max − median)` are raised to that fence. The fence lies further below
    the median than the best value lies above it, so no value near the optimum is ever touched: f and its clipped
    version have the same maximum, and a certificate of a trial that was not raised is one for both. Where the lowest
    values look like a penalty (`plateau_of`) the fence is that of all higher values, of which the same is true: the
    penalty becomes a floor below them, however large it is and however many values share it.

    Args:
        values: y, shape (n,), finite, n ≥ 1.
        fences: Whether bad outliers are raised.

    Returns:
        The standardised values with the numbers that undo it.
    """
    if float(np.max(np.abs(values))) > _HUGE:  # differences of such values overflow
        small = standardize(values / 16.0, fences=fences)
        return replace(small, offset=small.offset * 16.0, scale=small.scale * 16.0, fence=small.fence * 16.0)
    plateau = plateau_of(values) if fences else None
    center, fence = center_and_fence(values if plateau is None else values[values > plateau.value])
    if not fences:
        fence = -np.inf
    deviations = values - center
    clipped = np.maximum(deviations, fence)
    size = float(np.max(np.abs(clipped)))
    if size <= least_spread(float(np.max(np.abs(center + clipped)))):
        largest = float(np.max(np.abs(values)))
        scale = largest if largest > LEAST_SPREAD else 1.0
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
        fence=center + fence,
    )

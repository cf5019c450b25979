"""From standardised values back to the objective's units, straight or through a warp."""

import math
from dataclasses import dataclass

import numpy as np

from regretstop.array import Array
from regretstop.model._warp import LogWarp


@dataclass(frozen=True)
class Units:
    """What a standardised value u is in the objective's units: y = z = offset + scale · u, or what a warp makes z of.

    The warp y = b − c (exp(−z) − 1) is concave: the higher a value, the less a standardised difference from it is.

    Attributes:
        offset: Of z.
        scale: Of z; positive.
        warp: The warp; None for none.
    """

    offset: float = 0.0
    scale: float = 1.0
    warp: LogWarp | None = None

    def values(self, standardized: Array) -> Array:
        """Return y, of the same shape."""
        z = self.offset + self.scale * standardized
        return z if self.warp is None else self.warp.best - self.warp.shift * np.expm1(-z)

    def gain(self, start: Array | float, gaps: Array) -> Array:
        """Return how much larger y is at u = start + gap than at u = start; of the shape of the gaps."""
        with np.errstate(over="ignore"):  # of values near the largest number
            if self.warp is None:
                return self.scale * gaps
            return self.scale * self.warp.shift * np.exp(-(self.offset + self.scale * start)) * self.bent(gaps)

    def bent(self, gaps: Array) -> Array:
        """Return gains in units of the slope dy/du at the start, wherever that is; of the same shape."""
        return gaps if self.warp is None else -np.expm1(-self.scale * gaps) / self.scale

    def gap(self, start: float, gain: float) -> float:
        """Return the u − start from which on y gains that much; ∞ where it never does."""
        if self.warp is None:
            return gain / self.scale
        share = gain * self.scale / self.slope(start)
        return -math.log1p(-share) / self.scale if share < 1.0 else math.inf

    def slope(self, at: float = 0.0) -> float:
        """Return dy/du at u: what a small standardised difference is in the objective's units."""
        return self.scale if self.warp is None else self.scale * self.room(at)

    def room(self, at: float) -> float:
        """Return how much larger than at u the model takes y to be able to be: b + c − y, ∞ without a warp."""
        return math.inf if self.warp is None else self.warp.shift * math.exp(-(self.offset + self.scale * at))

    def standardized(self, value: float) -> float:
        """Return u of a value y; ∞ where there is none so high."""
        if self.warp is None:
            return (value - self.offset) / self.scale
        room = self.warp.shift + (self.warp.best - value)
        return (math.log(self.warp.shift / room) - self.offset) / self.scale if room > 0.0 else math.inf

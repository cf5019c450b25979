"""Which levels of the count are which regrets: straight, or through the warp of a best possible value.

With room w = b + c − y the warp's value is −log w, so y(f) > y(f̂) + r exactly where, standardised, f > T(f̂) with

    T(u) = u − log(1 − r / w(u)) / scale,

which is convex in u. Any tangent lies below it: that at u₀, where w(u₀) = w₀, has the slope κ = w₀/(w₀ − r), and

    y(f) > y(f̂) + r   ⟹   f − κ f̂ + (κ − 1) v > (κ − 1)(v − u₀) + log κ / scale.

The left side is normal, and its maxima can be counted. For one κ > 1 every r has a tangent of that slope, where
w = r κ/(κ − 1): the levels below. The count is a bound for each, and the sharpest where f̂ is near the tangent's u₀.
"""

import math
from dataclasses import dataclass

from regretstop.model import Units

# Of the room above x̂, so much at most is asked of a tangent: at all of it there is none.
_MOST_ROOM = 0.9
# e to the power of more is no number.
_MOST_EXPONENT = 700.0


@dataclass(frozen=True)
class RegretLevels:
    """Levels of f − κ f(x̂) + (κ − 1) v, standardised, and the regrets that are no larger below them.

    Attributes:
        units: Of the model.
        pivot: v, about f(x̂), standardised.
        near: The regret at whose level the tangent touches at v, in the objective's units.
        excess: κ − 1, which may be far below the digits of κ; 0 without a warp.
    """

    units: Units
    pivot: float
    near: float
    excess: float

    @property
    def weight(self) -> float:
        """κ."""
        return 1.0 + self.excess

    @classmethod
    def at(cls, units: Units, pivot: float, regret: float) -> "RegretLevels":
        """Return the levels that are the sharpest near a regret."""
        room = units.room(pivot)
        near = min(regret, _MOST_ROOM * room)
        return cls(units, pivot, near, 0.0 if units.warp is None else near / (room - near))

    def level(self, regret: float) -> float:
        """Return the level of a regret in the objective's units."""
        if self.units.warp is None:
            return regret / self.units.scale
        bend = math.log1p(self.excess) + self.excess * math.log(regret / self.near)
        return bend / self.units.scale

    def regret(self, level: float) -> float:
        """Return the regret of a level, in the objective's units."""
        if self.units.warp is None:
            return level * self.units.scale
        exponent = (level * self.units.scale - math.log1p(self.excess)) / self.excess
        return self.near * math.exp(exponent) if exponent < _MOST_EXPONENT else math.inf

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""One tunable value: as a configuration holds it, and as the model sees it."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from ray.tune.search import sample

from regretstop import Categorical, Float, Int
from regretstop.spaces import to_number, to_python
from regretstop_ray._given import alike
from regretstop_ray._paths import Path

# Values that were computed in single precision differ by about so much, relatively, from the grid point that is meant;
# and a value further from it than that part of a step is another one.
_SINGLE = 1e-6
_PART_OF_STEP = 0.01


class Fit(NamedTuple):
    """How a value fits a part of a search space; the better fit is the larger tuple.

    Attributes:
        inside: Whether it is one that Tune could sample there, rather than outside some range.
        whole: Whether nothing is missing.
    """

    inside: bool
    whole: bool


@dataclass(frozen=True)
class Axis:
    """One tunable value.

    Attributes:
        path: The keys that lead to it in a configuration.
        domain: Tune's domain.
        parameter: The same for the model.
        unit: Where the model counts multiples of Tune's q: q. None where it sees the value itself.
    """

    path: Path
    domain: sample.Domain
    parameter: Float | Int | Categorical
    unit: float | int | None

    def value(self, modelled: Any) -> Any:
        """Return the value that a configuration holds, of the type that Tune's own sampling gives it."""
        if self.unit is None:
            return self.domain.cast(modelled)
        # In decimal, as for steps: 3 × 0.1 is 0.3.
        return self.domain.cast(Decimal(repr(self.unit)) * modelled)

    def modelled(self, value: Any) -> Any:
        """Return what the model sees of a value of any numeric type.

        One that a rounding error keeps from the grid is the grid point that is meant. What is no number, or no choice,
        is left to the model to refuse.
        """
        if isinstance(self.parameter, Categorical):
            return _choice(self.parameter, value)
        try:
            number = to_number(value)
            if self.unit is not None:
                number = nearly_whole(number / self.unit)  # or 0.3 / 0.1 would be another point than 3
            return _on_grid(self.parameter, number)
        except (ValueError, OverflowError):
            return value

    def native(self, value: Any) -> Any:
        """Return a value as Tune's own sampling would give it; one that it would not give keeps its size."""
        parameter, modelled = self.parameter, self.modelled(value)
        if isinstance(parameter, Categorical):
            return modelled
        if not parameter.contains(modelled):
            return to_python(value)
        if isinstance(parameter, Int):
            return self.value(int(modelled))
        return self.value(modelled if parameter.step is None else parameter.decode(parameter.encode(modelled)))

    def fit(self, value: Any) -> Fit | None:
        """Return how a value fits; None if it is no number, or no choice."""
        modelled = self.modelled(value)
        if self.parameter.contains(modelled):
            return Fit(inside=True, whole=True)
        try:
            self.parameter.encode(modelled)
        except ValueError:
            return None
        return Fit(inside=False, whole=True)

    def is_apart(self, other: "Axis") -> bool:
        """Return whether no value fits both; numbers between those of a grid count as if they were in it."""
        mine, its = self.parameter, other.parameter
        if isinstance(its, Categorical):
            fits = [self.fit(choice) for choice in its.choices]
            return not any(fit is not None and fit.inside for fit in fits)
        if isinstance(mine, Categorical):
            return other.is_apart(self)
        return self.value(mine.high) < other.value(its.low) or other.value(its.high) < self.value(mine.low)


def _on_grid(parameter: Float | Int, number: float) -> float:
    """Return the grid point that a number is but for a rounding error, or the number.

    Raises:
        ValueError: If it has no place on the axis.
    """
    if parameter.step is None or parameter.contains(number):
        return number
    nearest = parameter.decode(parameter.encode(number))
    reach = min(_SINGLE * max(abs(number), parameter.step), _PART_OF_STEP * parameter.step)
    return nearest if abs(nearest - number) <= reach else number


def _choice(parameter: Categorical, value: Any) -> Any:
    """Return the choice that a value is; lists, tuples and arrays are alike if no choice is the very value."""
    if parameter.contains(value):
        return parameter.decode(parameter.encode(value))
    return next((choice for choice in parameter.choices if alike(choice, value, hidden=False)), value)


def nearly_whole(ratio: float) -> float:
    """Return the integer that a ratio is but for a rounding error, or the ratio."""
    return round(ratio) if math.isclose(ratio, round(ratio)) else ratio

"""One evaluation of the objective."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regretstop.checks import as_float


@dataclass(frozen=True)
class Observation:
    """One evaluation of the objective.

    Attributes:
        params: The parameters.
        value: The observed value. None where there is none to speak of, as for a trial that was pruned: the search
            keeps away from its point. NaN or infinite where the evaluation failed: the search takes the point for
            as bad as the worst one. Neither is ever fitted.
        number: The trial number, by which certificates name it.
        ended: A number that grows in the order in which evaluations ended, such as a time, where that may be another
            order than that of the history. A test that is due at n observations sees the n that ended first.
        span: When the evaluation started and when it ended, in seconds on a clock that all evaluations share; None
            where that is not known. It is no part of what was observed: observations are equal without it.
        standard_error: Of the value; NaN where it was to be estimated and could not be, None where nothing is known.
        feasible: Whether it met the constraints of the search. The value of one that did not tells of the objective as
            any other does, but it is never certified.
        constraints: Values of the constraints, each met where it is at most 0; None where they are not known. Where
            some were not met they are modelled, and say where the feasible optimum cannot be.
    """

    params: Mapping[str, Any]
    value: float | None
    number: int
    ended: float = 0.0
    span: tuple[float, float] | None = field(default=None, compare=False)
    standard_error: float | None = field(default=None, compare=False)
    feasible: bool = True
    constraints: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check the value.

        Raises:
            ValueError: If it is neither None nor a number.
        """
        if self.value is not None:
            as_float("value", self.value)

    @property
    def seconds(self) -> float:
        """How long the evaluation took; NaN where that is not known."""
        return math.nan if self.span is None else max(self.span[1] - self.span[0], 0.0)

    def same_as(self, other: "Observation") -> bool:
        """Return whether the two agree; NaN agrees with NaN, and values that cannot be compared do not."""
        values_agree = self.value == other.value or (self.value != self.value and other.value != other.value)
        mine = self.number, self.ended, self.feasible, self.constraints
        places_agree = mine == (other.number, other.ended, other.feasible, other.constraints)
        return places_agree and values_agree and same_params(self.params, other.params)


def n_common(one: Sequence[Observation], other: Sequence[Observation]) -> int:
    """Return how many observations, the very objects, two histories begin with together."""
    shorter = min(len(one), len(other))
    if all(map(operator.is_, one, other)):  # the usual case, and the fastest way to see it
        return shorter
    return next(i for i in range(shorter) if one[i] is not other[i])


def same_params(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two parameter dicts agree; values that cannot be compared do not."""
    try:
        return one.keys() == other.keys() and all(one[k] is other[k] or bool(one[k] == other[k]) for k in one)
    except (TypeError, ValueError):
        return False

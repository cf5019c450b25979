"""The history: one evaluation of the objective, all that were made or are under way, and what the surrogate sees."""

import math
import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.spaces import SAME_POINT, Space

# So much better than the best possible value is rounding, as of a mean of ones: relative to that value, or to 1.
_ROUNDING = 1e-12


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


@dataclass(frozen=True)
class EncodedHistory:
    """The observations as the surrogate sees them: encoded, and with the sign of a maximised objective.

    Attributes:
        points: Shape (n, d).
        values: Shape (n,), finite.
        numbers: Trial numbers, shape (n,).
        inside: Which of the points lie in the space, shape (n,).
        feasible: Which of the evaluations met the constraints, shape (n,).
        constraints: Values of the constraints, shape (n, k); NaN where they are not known.
        ended: Grows in the order in which the evaluations ended, shape (n,).
        n_excluded: Observations that are not among these.
        seconds: How long the evaluations took, shape (n,); NaN where that is not known.
    """

    points: Array
    values: Array
    numbers: NDArray[np.intp]
    inside: NDArray[np.bool_]
    feasible: NDArray[np.bool_]
    constraints: Array
    ended: Array
    n_excluded: int
    seconds: Array

    def first(self, n: int) -> "EncodedHistory":
        """Return the n observations that ended first, in the order of the history; what is excluded stays counted."""
        if n == len(self.values):
            return self
        chosen = np.sort(np.argsort(self.ended, kind="stable")[:n])
        return EncodedHistory(
            points=self.points[chosen],
            values=self.values[chosen],
            numbers=self.numbers[chosen],
            inside=self.inside[chosen],
            feasible=self.feasible[chosen],
            constraints=self.constraints[chosen],
            ended=self.ended[chosen],
            n_excluded=self.n_excluded,
            seconds=self.seconds[chosen],
        )

    def fits_as(self, other: "EncodedHistory") -> bool:
        """Return whether the two are the same observations."""
        mine = self.points, self.values, self.numbers, self.feasible
        its = other.points, other.values, other.numbers, other.feasible
        return all(map(np.array_equal, mine, its)) and np.array_equal(
            self.constraints, other.constraints, equal_nan=True
        )

    def best_of_all(self, space: Space) -> int | None:
        """Return the index, among the observations in the space, of the best feasible one if every point was evaluated.

        None where a point was not, where two evaluations of one differ, or where none is feasible.
        """
        if space.size > len(self.values):
            return None
        points, values = self.points[self.inside], self.values[self.inside]
        snapped = space.snap(points)
        # A point between the values of a discrete axis is none of the space.
        exact = np.flatnonzero(np.all(np.abs(snapped - points) < SAME_POINT, axis=1))
        distinct, first, group = np.unique(snapped[exact], axis=0, return_index=True, return_inverse=True)
        if len(distinct) < space.size or np.any(values[exact] != values[exact[first[group.ravel()]]]):
            return None
        allowed = exact[self.feasible[self.inside][exact]]
        return int(allowed[np.argmax(values[allowed])]) if len(allowed) else None


class HistoryEncoder:
    """Encodes histories that grow: what stands at the head of the last one, the very objects, is not encoded again.

    Args:
        space: The search space.
        sign: Values times the sign are maximised.
    """

    def __init__(self, space: Space, sign: float) -> None:
        self._space = space
        self._sign = sign
        self._history: list[Observation] = []
        self._is_fitted: list[bool] = []
        self._points: Array = np.zeros((0, space.dim))

    def encode(self, history: Sequence[Observation]) -> EncodedHistory:
        """Return those of the observations that can be fitted."""
        known = n_common(self._history, history)
        new = [self._point_of(observation) for observation in history[known:]]
        n_fitted = sum(self._is_fitted[:known])
        self._history = list(history)
        self._is_fitted = [*self._is_fitted[:known], *(point is not None for point in new)]
        self._points = np.vstack([self._points[:n_fitted], *(point for point in new if point is not None)])
        fitted = list(compress(history, self._is_fitted))
        return EncodedHistory(
            points=self._points,
            values=self._sign * np.array([o.value for o in fitted], dtype=np.float64),
            numbers=np.array([o.number for o in fitted], dtype=np.intp),
            inside=self._space.inside(self._points),
            feasible=np.array([o.feasible for o in fitted], dtype=np.bool_),
            constraints=_constraints_of(fitted),
            ended=np.array([o.ended for o in fitted], dtype=np.float64),
            n_excluded=len(history) - len(fitted),
            seconds=np.array([o.seconds for o in fitted], dtype=np.float64),
        )

    def _point_of(self, observation: Observation) -> Array | None:
        """Return the encoded point, None for an observation that cannot be fitted."""
        if observation.value is None or not math.isfinite(observation.value):
            return None
        try:
            return self._space.encode(observation.params)
        except ValueError:  # a point of another space: recorded, not modelled
            return None


def _constraints_of(observations: Sequence[Observation]) -> Array:
    """Return the values of the constraints, NaN of an observation that has not the usual number of them."""
    known = [o.constraints for o in observations if o.constraints is not None]
    k = max(map(len, known), default=0)
    unknown = (math.nan,) * k
    rows = [o.constraints if o.constraints is not None and len(o.constraints) == k else unknown for o in observations]
    return np.array(rows, dtype=np.float64).reshape(len(observations), k)


class History:
    """All evaluations of a search, in their order, and the points that are being evaluated.

    Args:
        space: The search space.
        sign: Values times the sign are maximised.
        ceiling: The best possible value times the sign; ∞ if there is none.
    """

    def __init__(self, space: Space, sign: float, ceiling: float = math.inf) -> None:
        self._space = space
        self._sign = sign
        self._ceiling = ceiling
        self._encoder = HistoryEncoder(space, sign)
        self._encoded: EncodedHistory | None = None
        self._pending: list[tuple[Mapping[str, Any], float | None]] = []
        self._observations: list[Observation] = []

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The evaluations that ended, in their order."""
        return tuple(self._observations)

    @property
    def n_observations(self) -> int:
        """How many evaluations ended."""
        return len(self._observations)

    @property
    def n_pending(self) -> int:
        """How many points are being evaluated."""
        return len(self._pending)

    @property
    def encoded(self) -> EncodedHistory:
        """What is fitted; the same object until something ends.

        Raises:
            ValueError: If a value is beyond the best possible one.
        """
        if self._encoded is None:
            encoded = self._encoder.encode(self._observations)
            self._check_ceiling(encoded)
            self._encoded = encoded
        return self._encoded

    def _check_ceiling(self, encoded: EncodedHistory) -> None:
        beyond = np.flatnonzero(encoded.values > self._ceiling + _ROUNDING * max(abs(self._ceiling), 1.0))
        if len(beyond):
            ceiling, value = (self._sign * each for each in (self._ceiling, float(encoded.values[beyond[0]])))
            raise ValueError(
                f"best_possible is {ceiling!r}, but trial {encoded.numbers[beyond[0]]} has the better value {value!r}"
            )

    def begin(self, params: Mapping[str, Any]) -> None:
        """Record that a point is being evaluated from now on."""
        self._pending.append((params, time.time()))

    def end(
        self,
        params: Mapping[str, Any],
        value: float | None,
        *,
        feasible: bool = True,
        constraints: tuple[float, ...] | None = None,
    ) -> None:
        """Record an evaluation, whether or not it was known to be under way."""
        span: tuple[float, float] | None = None
        for i, (pending, started) in enumerate(self._pending):
            if same_params(pending, params):
                del self._pending[i]
                span = None if started is None else (started, time.time())
                break
        ended = self._observations[-1].ended if self._observations else 0.0
        number = len(self._observations)
        self._observations.append(
            Observation(params, value, number, ended, span, feasible=feasible, constraints=constraints)
        )
        self._encoded = None

    def replace(self, observations: Sequence[Observation], pending: Sequence[Mapping[str, Any]]) -> None:
        """Take over what somebody else holds; what agrees with what was known is not encoded again."""
        known, taken = self._observations, list(observations)
        # What was known stays the object that it was, by which it is known to be encoded.
        for i in range(n_common(known, taken), min(len(known), len(taken))):
            same_record = (taken[i].span, taken[i].standard_error) == (known[i].span, known[i].standard_error)
            if taken[i].same_as(known[i]) and same_record:
                taken[i] = known[i]
        if len(taken) != len(known) or n_common(known, taken) < len(known):
            self._observations = taken
            self._encoded = None
        self._pending = [(params, None) for params in pending]

    def failed_points(self) -> Array:
        """Return the encoded points of evaluations that failed, shape (m, d)."""
        values = [(o.params, o.value) for o in self._observations if o.value is not None]
        return self._encode_all([params for params, value in values if not math.isfinite(value)])

    def pruned_points(self) -> Array:
        """Return the encoded points of evaluations without a value to speak of, shape (m, d)."""
        return self._encode_all([o.params for o in self._observations if o.value is None])

    def pending_points(self) -> Array:
        """Return the encoded points that are being evaluated, shape (m, d)."""
        return self._encode_all([params for params, _ in self._pending])

    def _encode_all(self, points: Sequence[Mapping[str, Any]]) -> Array:
        """Return the points that the space can encode, shape (m, d)."""
        encoded: list[Array] = []
        for params in points:
            try:
                encoded.append(self._space.encode(params))
            except ValueError:  # a point of another space: nothing to stay apart from
                continue
        return np.array(encoded).reshape(-1, self._space.dim)

"""What the surrogate sees of a history."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.history._observation import Observation, n_common
from regretstop.spaces import SAME_POINT, Space


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

"""The history as the surrogate sees it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regretstop.observation import Observation
from regretstop.space import Space

Array = NDArray[np.float64]

# Coordinates that are closer differ by rounding.
SAME_POINT = 1e-9


@dataclass(frozen=True)
class Encoded:
    """The observations as the surrogate sees them: encoded, and with the sign of a maximised objective.

    Attributes:
        points: Shape (n, d).
        values: Shape (n,), finite.
        numbers: Trial numbers, shape (n,).
        inside: Which of the points lie in the space, shape (n,).
        ended: Grows in the order in which the evaluations ended, shape (n,).
        n_excluded: Observations that are not among these.
    """

    points: Array
    values: Array
    numbers: NDArray[np.intp]
    inside: NDArray[np.bool_]
    ended: Array
    n_excluded: int

    def first(self, n: int) -> "Encoded":
        """Return the n observations that ended first, in the order of the history; what is excluded stays counted."""
        if n == len(self.values):
            return self
        chosen = np.sort(np.argsort(self.ended, kind="stable")[:n])
        return Encoded(
            points=self.points[chosen],
            values=self.values[chosen],
            numbers=self.numbers[chosen],
            inside=self.inside[chosen],
            ended=self.ended[chosen],
            n_excluded=self.n_excluded,
        )

    def fits_as(self, other: "Encoded") -> bool:
        """Return whether the two are the same observations."""
        mine, its = (self.points, self.values, self.numbers), (other.points, other.values, other.numbers)
        return all(map(np.array_equal, mine, its))

    def best_of_all(self, space: Space) -> int | None:
        """Return the index, among the observations in the space, of the best one if every point was evaluated.

        None where a point was not, or where two evaluations of one differ.
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
        return int(exact[np.argmax(values[exact])])


def encode(history: Sequence[Observation], space: Space, sign: float) -> Encoded:
    """Return those of the observations that can be fitted; values times `sign` are maximised."""
    points: list[Array] = []
    values: list[float] = []
    numbers: list[int] = []
    ended: list[float] = []
    for observation in history:
        if observation.value is None or not math.isfinite(observation.value):
            continue
        try:
            points.append(space.encode(observation.params))
        except ValueError:  # a point of another space: recorded, not modelled
            continue
        values.append(sign * float(observation.value))
        numbers.append(observation.number)
        ended.append(observation.ended)
    stacked = np.array(points).reshape(-1, space.dim)
    return Encoded(
        points=stacked,
        values=np.array(values),
        numbers=np.array(numbers, dtype=np.intp),
        inside=space.inside(stacked),
        ended=np.array(ended),
        n_excluded=len(history) - len(values),
    )

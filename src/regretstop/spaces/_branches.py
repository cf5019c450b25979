"""The branches of a space, in coordinates: which axes there are where, and what stands for those that are not.

All points have all coordinates. Where a parameter is inactive its coordinate is the middle of its axis, a category's is
the first, so that a model of all coordinates is one of each branch, and what branches share is learned in common. The
domain is the union of the branches: a product of axes each, far less than the product of all axes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.spaces._axes import Axes
from regretstop.spaces._conditions import Conditions

_MIDDLE = 0.5


@dataclass(frozen=True)
class Branch:
    """A part of a space in which the same parameters are active: a product of axes.

    Attributes:
        active: Which axes there are, shape (d,).
        counts: Number of values on each axis in this branch, shape (d,); 1 on an inactive one.
        categories: The same of categorical axes, 0 for numeric ones, shape (d,).
        low: Coordinates of the first values, shape (d,): a discrete axis counts as an interval where that is easier.
        high: Coordinates of the last values, shape (d,).
        values: The coordinates on axes that do not have all their values in this branch.
    """

    active: NDArray[np.bool_]
    counts: NDArray[np.float64]
    categories: NDArray[np.int64]
    low: Array
    high: Array
    values: Mapping[int, Array]

    @property
    def size(self) -> float:
        """Number of points."""
        return math.prod(self.counts.tolist())  # not NumPy's, which warns of an overflow

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which numeric axes vary in this branch, shape (d,)."""
        return (self.categories == 0) & (self.counts > 1)


class Branches:
    """The branches of a space, which share no point.

    Args:
        conditions: Which parameters are active.
        names: Of the axes.
        axes: The axes.

    Attributes:
        all: The branches; a space without conditions is one.
        deciding: Which axes decide about others, shape (d,).
    """

    def __init__(self, conditions: Conditions, names: Sequence[str], axes: Axes) -> None:
        self._middle = np.where(axes.categories > 0, 0.0, _MIDDLE)
        place = {name: j for j, name in enumerate(names)}
        self._values = {place[name]: axes.values(place[name]) for name in conditions.choices}
        self.deciding = np.isin(np.arange(len(names)), list(self._values))
        # For each axis that is not always active, and each above it: which of that one's values it needs.
        self._needed = [
            (j, place[above], np.isin(np.arange(len(self._values[place[above]])), list(wanted)))
            for j, name in enumerate(names)
            for above, wanted in conditions.needed.get(name, {}).items()
        ]
        found: list[Branch] = []
        for branch in conditions.branches():
            active = np.array([conditions.is_active(name, branch) for name in names])
            own = {place[name]: self._values[place[name]][sorted(indices)] for name, indices in branch.items()}
            n_values = np.where(active, axes.counts, 1.0)
            first, last = np.where(active, axes.low, self._middle), np.where(active, axes.high, self._middle)
            for j, some in own.items():
                n_values[j], first[j], last[j] = len(some), np.min(some), np.max(some)
            n_choices = np.where(axes.categories > 0, n_values, 0.0).astype(np.int64)
            found.append(Branch(active, n_values, n_choices, first, last, own))
        self.all = tuple(found)

    def active(self, points: Array) -> NDArray[np.bool_]:
        """Return which axes are active at each point, by the values that are nearest to it; shape (m, d)."""
        active = np.ones(points.shape, dtype=bool)
        nearest = {p: np.argmin(np.abs(points[:, p, None] - own), axis=1) for p, own in self._values.items()}
        for j, above, wanted in self._needed:
            active[:, j] &= wanted[nearest[above]]
        return active

    def project(self, points: Array) -> Array:
        """Return the points with the coordinates of inactive axes in the middle, shape (m, d)."""
        return np.where(self.active(points), points, self._middle) if self._needed else points

    def index(self, points: Array) -> NDArray[np.intp]:
        """Return the branches that points are in, by the values that are nearest to them; shape (m,)."""
        found = np.zeros(len(points), dtype=np.intp)
        for b, branch in enumerate(self.all):
            matches = np.ones(len(points), dtype=bool)
            for j, own in branch.values.items():
                every = self._values[j]
                matches &= np.isin(every[np.argmin(np.abs(points[:, j, None] - every), axis=1)], own)
            found[matches] = b
        return found

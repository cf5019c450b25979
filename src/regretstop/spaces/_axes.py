"""The axes of a space, each by itself: ranges, rounding, values."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretstop.spaces._categorical import Categorical
from regretstop.spaces._conditions import Parameter
from regretstop.spaces._log_axis import log_cell, log_centre
from regretstop.spaces._numeric import Int

# With more values than this, float64 coordinates cannot be trusted to tell neighbours apart on a
# logarithmic axis, and rounding gains nothing on any: the axis counts as continuous (which only
# enlarges the set that a bound ranges over) and is rounded when it is decoded.
_MAX_COUNT = 2**40

# How far outside its range a coordinate may lie and still count as inside, for rounding errors.
_INSIDE_TOLERANCE = 1e-9


class Axes:
    """The axes of a space.

    Args:
        parameters: Of the axes, each with more than one value.

    Attributes:
        counts: Number of values on each axis, shape (d,); inf where continuous.
        categories: Number of choices of each categorical axis, shape (d,), 0 for a numeric one.
        low: Coordinates of the first values, shape (d,).
        high: Coordinates of the last values, shape (d,).
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = parameters
        discrete = [math.isfinite(p.count) for p in parameters]
        counts = [p.count if p.count <= _MAX_COUNT else math.inf for p in parameters]
        categories = [p.count if isinstance(p, Categorical) else 0 for p in parameters]
        self.counts = np.array(counts, dtype=np.float64)
        self.categories = np.array(categories, dtype=np.int64)

        # Beyond the first and the last values a tolerance for rounding errors, which on a numeric
        # grid must not swallow the next value however narrow the cells are.
        self.low = np.array([p.encode(p.decode(-math.inf)) for p in parameters])
        self.high = np.array([p.encode(p.decode(math.inf)) for p in parameters])
        grid = np.array(discrete) & (self.categories == 0)
        room_below = np.where(grid, self.low / 2, math.inf)
        room_above = np.where(grid, (1.0 - self.high) / 2, math.inf)
        self._inside_lower = self.low - np.minimum(room_below, _INSIDE_TOLERANCE)
        self._inside_upper = self.high + np.minimum(room_above, _INSIDE_TOLERANCE)

        # Axes by the way they are rounded, to do all columns of a kind at a time.
        self._categorical_axes = np.flatnonzero(self.categories)
        rounded = grid & np.isfinite(self.counts)
        log_lows = np.array([_log_low(p) for p in parameters])
        self._linear_axes = np.flatnonzero(rounded & np.isnan(log_lows))
        self._log_axes = np.flatnonzero(rounded & ~np.isnan(log_lows))
        self._log_lows = log_lows[self._log_axes]
        for array in (self.counts, self.categories, self.low, self.high):
            array.setflags(write=False)

    def round(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the points, shape (m, d), with each coordinate clipped and rounded, a new array."""
        points = np.clip(np.asarray(X, dtype=np.float64), self.low, self.high)
        linear, log, categorical = self._linear_axes, self._log_axes, self._categorical_axes
        counts = self.counts[linear]
        cells = np.minimum(np.floor(points[:, linear] * counts), counts - 1)
        points[:, linear] = (cells + 0.5) / counts
        counts = self.counts[log]
        cells = np.minimum(log_cell(points[:, log], counts, self._log_lows), counts - 1)
        points[:, log] = log_centre(cells, counts, self._log_lows)
        points[:, categorical] = np.rint(points[:, categorical])
        return points

    def inside(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which points of shape (m, d) lie within the range of valid values, up to rounding errors."""
        points = np.asarray(X, dtype=np.float64)
        return np.all((points >= self._inside_lower) & (points <= self._inside_upper), axis=1)

    def values(self, j: int) -> NDArray[np.float64]:
        """Return the coordinates of all values of a discrete axis, ascending, shape (counts[j],)."""
        indices = np.arange(int(self.counts[j]), dtype=np.float64)
        if self.categories[j]:
            return indices
        parameter = self._parameters[j]
        if isinstance(parameter, Int) and parameter.log:
            return log_centre(indices, parameter.count, parameter.low)
        return (indices + 0.5) / self.counts[j]


def _log_low(parameter: Parameter) -> float:
    """Return low of a logarithmic integer axis, NaN for any other."""
    return float(parameter.low) if isinstance(parameter, Int) and parameter.log else math.nan

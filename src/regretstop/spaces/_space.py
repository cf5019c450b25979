"""The search space: points to and from coordinates of the model, rounding, enumeration."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretstop.spaces._categorical import Categorical
from regretstop.spaces._log_axis import log_cell, log_centre
from regretstop.spaces._numeric import Float, Int

Parameter = Float | Int | Categorical

# With more values than this, float64 coordinates cannot be trusted to tell neighbours apart on a
# logarithmic axis, and rounding gains nothing on any: the axis counts as continuous (which only
# enlarges the set that a bound ranges over) and is rounded when it is decoded.
_MAX_COUNT = 2**40

# How far outside its range a coordinate may lie and still count as inside, for rounding errors.
_INSIDE_TOLERANCE = 1e-9

# Coordinates that are closer differ by rounding.
SAME_POINT = 1e-9


class Space(Mapping[str, Parameter]):
    """A search space: named parameters, and their coordinates for the model.

    It is a read-only mapping from names to parameters. Coordinates cover the free axes only, in the
    order given.

    >>> space = Space({"lr": Float(1e-4, 1, log=True), "layers": Int(1, 4), "seed": Int(7, 7)})
    >>> space.names
    ('lr', 'layers')
    >>> space.encode({"lr": 0.01, "layers": 2, "seed": 7})
    array([0.5  , 0.375])
    >>> space.decode([1.0, 0.9])
    {'lr': 1.0, 'layers': 4, 'seed': 7}

    Args:
        parameters: Parameter for each name.

    Raises:
        ValueError: If there is no parameter, none is free, or a value is not a parameter.

    Attributes:
        names: Names of the free axes.
        dim: d, the number of free axes.
        counts: Number of values on each free axis, shape (d,); inf where continuous. A discrete
            axis with more than 2⁴⁰ values counts as continuous.
        categories: Number of choices of each categorical axis, shape (d,), 0 for a numeric one.
        size: Number of points, the product of the counts.
    """

    names: tuple[str, ...]
    dim: int
    counts: NDArray[np.float64]
    categories: NDArray[np.int64]
    size: float

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        self._parameters: dict[str, Parameter] = dict(parameters)
        if not self._parameters:
            raise ValueError(f"parameters must not be empty, got parameters={parameters!r}")
        for name, parameter in self._parameters.items():
            if not isinstance(parameter, Parameter):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"{name} must be a Float, Int or Categorical, got {parameter!r}")
        free = {name: p for name, p in self._parameters.items() if p.count > 1}
        if not free:
            raise ValueError(f"no free parameter: each has one possible value, got parameters={parameters!r}")
        self._free = free
        self.names = tuple(free)
        self.dim = len(free)
        discrete = [math.isfinite(p.count) for p in free.values()]
        counts = [p.count if p.count <= _MAX_COUNT else math.inf for p in free.values()]
        categories = [p.count if isinstance(p, Categorical) else 0 for p in free.values()]
        self.counts = np.array(counts, dtype=np.float64)
        self.categories = np.array(categories, dtype=np.int64)
        self.counts.setflags(write=False)
        self.categories.setflags(write=False)
        self.size = math.prod(self.counts.tolist())  # not numpy's, which warns of an overflow

        # The coordinates of the first and last values. Beyond them a tolerance for rounding errors,
        # which on a numeric grid must not swallow the next value however narrow the cells are.
        self._lower = np.array([p.encode(p.decode(-math.inf)) for p in free.values()])
        self._upper = np.array([p.encode(p.decode(math.inf)) for p in free.values()])
        grid = np.array(discrete) & (self.categories == 0)
        room_below = np.where(grid, self._lower / 2, math.inf)
        room_above = np.where(grid, (1.0 - self._upper) / 2, math.inf)
        self._inside_lower = self._lower - np.minimum(room_below, _INSIDE_TOLERANCE)
        self._inside_upper = self._upper + np.minimum(room_above, _INSIDE_TOLERANCE)

        # Axes by the way they are rounded, to do all columns of a kind at a time.
        self._categorical_axes = np.flatnonzero(self.categories)
        rounded = grid & np.isfinite(self.counts)
        log_lows = np.array([_log_low(p) for p in free.values()])
        self._linear_axes = np.flatnonzero(rounded & np.isnan(log_lows))
        self._log_axes = np.flatnonzero(rounded & ~np.isnan(log_lows))
        self._log_lows = log_lows[self._log_axes]

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __repr__(self) -> str:
        return f"Space({self._parameters!r})"

    def encode(self, params: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the coordinates of a point.

        Numeric values need not be valid: one outside its range gets a coordinate outside [0, 1],
        one between two grid points a coordinate between theirs. Unknown names are ignored, and so
        are missing fixed parameters.

        Args:
            params: Value for each name.

        Returns:
            Coordinates, shape (d,).

        Raises:
            ValueError: If a free parameter is missing or its value has no coordinate (an unknown
                category, not a finite number, no logarithm), or a fixed parameter has another
                value: such a point has no place in this space.
        """
        point = np.empty(self.dim)
        for j, (name, parameter) in enumerate(self._free.items()):
            if name not in params:
                raise ValueError(f"parameter {name!r} is missing from {dict(params)!r}")
            try:
                u = parameter.encode(params[name])
            except ValueError as error:
                raise ValueError(f"parameter {name!r} cannot be {params[name]!r}: {error}") from error
            if not math.isfinite(u):
                raise ValueError(f"parameter {name!r} cannot be {params[name]!r}: it is too large")
            point[j] = u
        for name, parameter in self._parameters.items():
            if name not in self._free and name in params and not parameter.contains(params[name]):
                raise ValueError(
                    f"parameter {name!r} cannot be {params[name]!r}: it is fixed at {parameter.decode(0.0)!r}"
                )
        return point

    def decode(self, x: ArrayLike) -> dict[str, Any]:
        """Return the valid point nearest to given coordinates, fixed parameters included.

        It is the inverse of `encode` on valid points: exactly for discrete axes, up to rounding for
        continuous ones and those with more than 2⁴⁰ values.

        Args:
            x: Coordinates, shape (d,); outside the unit cube they are clipped.

        Returns:
            Values as Python ints and floats, or the choices as given.

        Raises:
            ValueError: If x has another shape or holds NaN.
        """
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self.dim,) or np.isnan(point).any():
            raise ValueError(f"x must be {self.dim} numbers, got x={x!r}")
        coordinates = dict(zip(self.names, point.tolist(), strict=True))
        return {name: parameter.decode(coordinates.get(name, 0.0)) for name, parameter in self._parameters.items()}

    def snap(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the representable points nearest to given ones: clipped, discrete axes rounded.

        A logarithmic integer axis is rounded to the nearest integer, not to the nearest logarithm.

        Args:
            X: Coordinates, shape (m, d).

        Returns:
            Coordinates of valid points, shape (m, d), a new array.
        """
        points = np.clip(np.asarray(X, dtype=np.float64), self._lower, self._upper)
        linear, log, categorical = self._linear_axes, self._log_axes, self._categorical_axes
        counts = self.counts[linear]
        cells = np.minimum(np.floor(points[:, linear] * counts), counts - 1)
        points[:, linear] = (cells + 0.5) / counts
        counts = self.counts[log]
        cells = np.minimum(log_cell(points[:, log], counts, self._log_lows), counts - 1)
        points[:, log] = log_centre(cells, counts, self._log_lows)
        points[:, categorical] = np.rint(points[:, categorical])
        return points

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Return whether a point is valid: each free parameter there, each value possible."""
        return all(
            parameter.contains(params[name]) if name in params else name not in self._free
            for name, parameter in self._parameters.items()
        )

    def inside(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which points lie within the range of valid values, up to rounding errors.

        Args:
            X: Coordinates, shape (m, d).

        Returns:
            Shape (m,). Points between the values of a discrete axis are inside.
        """
        points = np.asarray(X, dtype=np.float64)
        return np.all((points >= self._inside_lower) & (points <= self._inside_upper), axis=1)

    def axis_values(self, j: int) -> NDArray[np.float64]:
        """Return the coordinates of all values of a discrete axis, ascending.

        Args:
            j: Index of the axis. Check `counts[j]` first: this allocates as many numbers.

        Returns:
            Shape (counts[j],).

        Raises:
            ValueError: If the axis is continuous.
        """
        if not math.isfinite(self.counts[j]):
            raise ValueError(f"axis j={j} ({self.names[j]!r}) has no finite list of values")
        indices = np.arange(int(self.counts[j]), dtype=np.float64)
        if self.categories[j]:
            return indices
        parameter = self._free[self.names[j]]
        if isinstance(parameter, Int) and parameter.log:
            return log_centre(indices, parameter.count, parameter.low)
        return (indices + 0.5) / self.counts[j]

    def enumerate(self) -> NDArray[np.float64]:
        """Return all points of a finite space, the last axis varying fastest.

        Check `size` first: this allocates as many points.

        Returns:
            Coordinates, shape (size, d).

        Raises:
            ValueError: If an axis is continuous.
        """
        axes = [self.axis_values(j) for j in range(self.dim)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.dim)


def _log_low(parameter: Parameter) -> float:
    """Return low of a logarithmic integer axis, NaN for any other."""
    return float(parameter.low) if isinstance(parameter, Int) and parameter.log else math.nan

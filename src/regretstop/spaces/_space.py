"""The search space: points to and from coordinates of the model, rounding, enumeration."""

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretstop.array import Array
from regretstop.spaces._axes import Axes
from regretstop.spaces._branches import Branch, Branches
from regretstop.spaces._conditions import Conditions, Parameter, When, index_of

# Coordinates that are closer differ by rounding.
SAME_POINT = 1e-9
# Farther away nothing is nearer to the space, and squares of lengthscales' multiples stay finite.
_FAR = 1e6


class Space(Mapping[str, Parameter]):
    """A search space: named parameters, and their coordinates for the model.

    It is a read-only mapping from names to parameters. Coordinates cover the free axes only, in the
    order given.

    >>> from regretstop import Categorical, Float, Int, Space
    >>> space = Space({"lr": Float(1e-4, 1, log=True), "layers": Int(1, 4), "seed": Int(7, 7)})
    >>> space.names
    ('lr', 'layers')
    >>> space.encode({"lr": 0.01, "layers": 2, "seed": 7})
    array([0.5  , 0.375])
    >>> space.decode([1.0, 0.9])
    {'lr': 1.0, 'layers': 4, 'seed': 7}

    Which parameters there are may depend on others. A point then has those only that are active:

    >>> parts = {"model": Categorical(["svc", "forest"]), "C": Float(0, 1), "depth": Int(1, 8)}
    >>> space = Space(parts, when={"C": {"model": ["svc"]}, "depth": {"model": ["forest"]}})
    >>> space.decode(space.encode({"model": "forest", "depth": 3}))
    {'model': 'forest', 'depth': 3}

    Args:
        parameters: Parameter for each name.
        when: For parameters that are not always active, the values that each of their parents must have; all parents
            must be active and have one of theirs. A parent is a `Categorical`, or an `Int` with at most 20 values, and
            may have parents itself.

    Raises:
        ValueError: If there is no parameter, none is free, or a value is not a parameter; or if a condition names
            something that is not there, goes round in a circle, or can never hold.

    Attributes:
        names: Names of the free axes.
        dim: d, the number of free axes.
        counts: Number of values on each free axis, shape (d,); inf where continuous. A discrete
            axis with more than 2⁴⁰ values counts as continuous.
        categories: Number of choices of each categorical axis, shape (d,), 0 for a numeric one.
        size: Number of points: the product of the counts, summed over branches.
        low: Coordinates of the first values, shape (d,).
        high: Coordinates of the last values, shape (d,).
        branches: The parts of the space in which the same parameters are active; one if all of them always are.
        deciding: Which axes decide whether others are active, shape (d,).
    """

    names: tuple[str, ...]
    dim: int
    counts: NDArray[np.float64]
    categories: NDArray[np.int64]
    size: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    branches: tuple[Branch, ...]
    deciding: NDArray[np.bool_]

    def __init__(self, parameters: Mapping[str, Parameter], when: When | None = None) -> None:
        if not isinstance(parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"parameters must map names to Float, Int or Categorical, got parameters={parameters!r}")
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
        self._axes = Axes(tuple(free.values()))
        self.counts, self.categories = self._axes.counts, self._axes.categories
        self.low, self.high = self._axes.low, self._axes.high
        self._when = when
        self._conditions = Conditions.of(self._parameters, {} if when is None else when)
        self._branches = Branches(self._conditions, self.names, self._axes)
        self.branches, self.deciding = self._branches.all, self._branches.deciding
        self.size = sum(branch.size for branch in self.branches)

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __eq__(self, other: object) -> bool:
        """Return whether the same points have the same coordinates: a mapping would forget order and conditions."""
        if not isinstance(other, Space):
            return NotImplemented
        return (
            list(self._parameters.items()) == list(other._parameters.items()) and self._conditions == other._conditions
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as of any mapping

    def __repr__(self) -> str:
        return f"Space({self._parameters!r}{'' if self._when is None else f', when={self._when!r}'})"

    def encode(self, params: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the coordinates of a point.

        Numeric values need not be valid: one outside its range gets a coordinate outside [0, 1], at most a million,
        one between two grid points a coordinate between theirs. Unknown names are ignored, and so
        are missing fixed parameters, and inactive ones, whatever their values: the objective did not look at them.

        Args:
            params: Value for each name.

        Returns:
            Coordinates, shape (d,).

        Raises:
            ValueError: If an active free parameter is missing or its value has no coordinate (an unknown
                category, not a finite number, no logarithm), or a fixed parameter has another
                value: such a point has no place in this space.
        """
        active = self._active_names(params)
        point = np.zeros(self.dim)
        for j, (name, parameter) in enumerate(self._free.items()):
            if name not in active:
                continue
            if name not in params:
                raise ValueError(f"parameter {name!r} is missing from {dict(params)!r}")
            try:
                u = parameter.encode(params[name])
            except ValueError as error:
                raise ValueError(f"parameter {name!r} cannot be {params[name]!r}: {error}") from error
            if not math.isfinite(u):
                raise ValueError(f"parameter {name!r} cannot be {params[name]!r}: it is too large")
            point[j] = min(max(u, -_FAR), _FAR)
        for name, parameter in self._parameters.items():
            is_fixed = name not in self._free and name in active
            if is_fixed and name in params and not parameter.contains(params[name]):
                raise ValueError(
                    f"parameter {name!r} cannot be {params[name]!r}: it is fixed at {parameter.decode(0.0)!r}"
                )
        return self._branches.project(point[None])[0]

    def _active_names(self, params: Mapping[str, Any]) -> set[str]:
        """Return which parameters are active at a point; of what it lacks, or cannot be, nothing is active below."""
        branch: dict[str, frozenset[int]] = {}
        active: set[str] = set()
        for name in self._conditions.order:
            if self._conditions.is_active(name, branch):
                active.add(name)
                if name in self._conditions.choices and name in params:
                    with contextlib.suppress(ValueError):
                        branch[name] = frozenset([index_of(self._parameters[name], params[name])])
        return active

    def decode(self, x: ArrayLike) -> dict[str, Any]:
        """Return the valid point nearest to given coordinates: its active parameters, fixed ones included.

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
        values = {name: parameter.decode(coordinates.get(name, 0.0)) for name, parameter in self._parameters.items()}
        active = self._active_names(values)
        return {name: value for name, value in values.items() if name in active}

    def snap(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the representable points nearest to given ones: clipped, discrete axes rounded, inactive ones unused.

        Args:
            X: Coordinates, shape (m, d).

        Returns:
            Coordinates of valid points, shape (m, d), a new array.
        """
        return self._branches.project(self.round(X))

    def project(self, X: Array) -> Array:
        """Return the points, shape (m, d), with those coordinates that are inactive in the middle of their axes."""
        return self._branches.project(X)

    def active(self, X: Array) -> NDArray[np.bool_]:
        """Return which axes are active at points of shape (m, d), by the values that are nearest; shape (m, d)."""
        return self._branches.active(X)

    def branch_of(self, X: Array) -> NDArray[np.intp]:
        """Return the indices of the branches that points of shape (m, d) are in, shape (m,)."""
        return self._branches.index(X)

    def round(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the points with each coordinate clipped and rounded by itself, whether its axis is active or not.

        A logarithmic integer axis is rounded to the nearest integer, not to the nearest logarithm.

        Args:
            X: Coordinates, shape (m, d).

        Returns:
            Coordinates, shape (m, d), a new array.
        """
        return self._axes.round(X)

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Return whether a point is valid: each active free parameter there, each value possible."""
        active = self._active_names(params)
        return all(
            parameter.contains(params[name]) if name in params else name not in self._free
            for name, parameter in self._parameters.items()
            if name in active
        )

    def inside(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which points lie within the range of valid values, up to rounding errors.

        Args:
            X: Coordinates, shape (m, d).

        Returns:
            Shape (m,). Points between the values of a discrete axis are inside.
        """
        return self._axes.inside(X)

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
        return self._axes.values(j)

    def enumerate(self) -> NDArray[np.float64]:
        """Return all points of a finite space, branch by branch, the last axis varying fastest.

        Check `size` first: this allocates as many points.

        Returns:
            Coordinates, shape (size, d).

        Raises:
            ValueError: If an axis is continuous.
        """
        every = [self.axis_values(j) for j in range(self.dim)]
        listed: list[NDArray[np.float64]] = []
        for branch in self.branches:
            axes = [
                branch.values.get(j, values) if branch.active[j] else branch.low[[j]] for j, values in enumerate(every)
            ]
            listed.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.dim))
        return np.vstack(listed)

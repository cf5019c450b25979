"""The analytic grid 𝔻 of a space: how many points a union bound has to cover, and how finely.

Every size is a logarithm. A discrete axis needs no cells where each of its values is a grid point.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regretstop.array import Array
from regretstop.bound._slopes import log_n_exact_in, sloped_axes, slopes_of
from regretstop.model import Posterior
from regretstop.spaces import Space

LogGrid = Callable[[float], tuple[float, float]]
"""x ↦ (log |𝔻|, its derivative) for the grid with error e^(−x)."""


@dataclass(frozen=True)
class Grid:
    """The analytic grid of a branch, or of a space that is one: what the union bound has to cover, and how finely.

    Cells of width 2h/(d L_j) on each of d axes with a slope put every point within h of a cell centre, in units
    of f, while the slopes hold. A discrete axis needs no slope if each of its values is a grid point
    (docs/theory.md, Grids and discrete axes; the paper's own grid, eq. (8) and (24), has one level for all axes).

    Attributes:
        slopes: L_j of the numeric axes, shape (d,), in units of the prior deviation per unit of x.
        counts: Number of values of these axes, infinite where continuous, shape (d,).
        log_n_exact: Log of the number of settings of all other axes.
    """

    slopes: Array
    counts: Array
    log_n_exact: float

    @property
    def is_finite(self) -> bool:
        """Whether every point of the space is a grid point, so that h = 0."""
        return len(self.slopes) == 0

    def log_size(self, error: float) -> float:
        """Return the log of the number of points that leaves an error of at most `error` > 0."""
        sloped = np.ones(len(self.slopes), dtype=bool)
        while True:
            cells = np.ceil(np.sum(sloped) * self.slopes / (2.0 * error))  # N_j = ⌈d L_j / 2h⌉
            exact = sloped & (self.counts <= cells)  # taking every value is cheaper, and leaves more error to the rest
            if not np.any(exact):
                break
            sloped &= ~exact
        sizes = np.where(sloped, np.maximum(cells, 1.0), self.counts)
        return self.log_n_exact + float(np.sum(np.log(sizes)))

    def smooth(self, x: float) -> tuple[float, float]:
        """Return a smooth stand-in for `log_size(e^(−x))` and its derivative, for choosing x.

        With y_j = d L_j e^x / 2, ⌈y_j⌉ becomes 1 + y_j, and the smaller of that and the count their harmonic sum. It
        chooses x only: any x gives a valid bound, and that is computed with `log_size`.
        """
        y = len(self.slopes) * self.slopes * math.exp(x) / 2.0
        inverse = 1.0 / self.counts + 1.0 / (1.0 + y)
        return self.log_n_exact - float(np.sum(np.log(inverse))), float(np.sum(y / ((1.0 + y) ** 2 * inverse)))


@dataclass(frozen=True)
class Grids:
    """The analytic grid of a space: the grids of its branches, together.

    Attributes:
        branches: The grids.
    """

    branches: tuple[Grid, ...]

    @property
    def is_finite(self) -> bool:
        """Whether every point of the space is a grid point, so that h = 0."""
        return all(grid.is_finite for grid in self.branches)

    @property
    def log_n_exact(self) -> float:
        """Log of the number of settings of the axes without a slope."""
        return float(np.logaddexp.reduce([grid.log_n_exact for grid in self.branches]))

    def log_size(self, error: float) -> float:
        """Return the log of the number of points that leaves an error of at most `error` > 0."""
        return float(np.logaddexp.reduce([grid.log_size(error) for grid in self.branches]))

    def smooth(self, x: float) -> tuple[float, float]:
        """Return a smooth stand-in for `log_size(e^(−x))` and its derivative, for choosing x."""
        return _together([grid.smooth(x) for grid in self.branches])


def _together(sizes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the log of a sum of sizes, and its derivative, given those of the sizes."""
    logs, slopes = np.array(sizes).T
    total = np.logaddexp.reduce(logs)
    return float(total), float(np.exp(logs - total) @ slopes)


def grid_for(space: Space, posterior: Posterior, slope_risk: float) -> Grids:
    """Return the analytic grid for draws of the posterior's kernel, in units of its prior deviation.

    Args:
        space: The space.
        posterior: The posterior, whose slopes must be known.
        slope_risk: Probability that the slope levels fail, in (0, 1).
    """
    levels = np.zeros(space.dim)
    levels[sloped_axes(space)] = slopes_of(space, posterior, slope_risk)
    sloped = [(branch, sloped_axes(branch)) for branch in space.branches]
    return Grids(tuple(Grid(levels[own], branch.counts[own], log_n_exact_in(branch)) for branch, own in sloped))


def paper_grid(dim: int, log_reach: float, log_n_discrete: float = 0.0) -> LogGrid:
    """Return the paper's grid, `(d r L t^s)^d + 1` points for one Lipschitz level L (paper, eq. (8) and (10)).

    Args:
        dim: d.
        log_reach: log(d r L).
        log_n_discrete: Log of the number of settings of the discrete axes.
    """

    def log_grid(x: float) -> tuple[float, float]:
        exponent = dim * (log_reach + x)
        if exponent > 30.0:  # the "+ 1" of the ceiling has vanished: log1p(e^(−30)) is 1e-13
            return log_n_discrete + exponent, float(dim)
        grown = math.exp(exponent)
        return log_n_discrete + math.log1p(grown), dim * grown / (1.0 + grown)

    return log_grid


def axis_grid(log_reaches: Sequence[float], log_n_discrete: float) -> LogGrid:
    """Return the grid for slopes that differ, `Π_j (d r L_j t^s + 1)` points: no axis has less than one.

    See docs/theory.md, The paper's bound.

    Args:
        log_reaches: log(d r L_j) of the d axes.
        log_n_discrete: Log of the number of settings of the discrete axes.
    """
    reaches = [math.exp(log_reach) for log_reach in log_reaches]

    def log_grid(x: float) -> tuple[float, float]:
        finer = math.exp(x)
        size, growth = log_n_discrete, 0.0
        for reach in reaches:
            cells = reach * finer
            size += math.log1p(cells)
            growth += cells / (1.0 + cells)
        return size, growth

    return log_grid


def grids_of(space: Space, levels: Array, *, one_level: bool) -> list[LogGrid | float]:
    """Return a grid with cells on every axis that has a slope, and one with all values of those that can be counted.

    Each gives a valid bound, and the choice may depend on the data, as that of the cells' width does (docs/theory.md,
    Grids and discrete axes).

    Args:
        space: The space.
        levels: r L_j of its axes with a slope, shape (d,), in units of the prior deviation.
        one_level: Whether the levels are one number, the paper's, which gives the paper's grid.
    """
    by_axis = np.zeros(space.dim)
    by_axis[sloped_axes(space)] = levels
    in_cells: list[LogGrid | float] = []
    as_counted: list[LogGrid | float] = []
    for branch in space.branches:
        sloped = sloped_axes(branch)
        counted = sloped & np.isfinite(branch.counts)
        log_exact = log_n_exact_in(branch)
        in_cells.append(_grid(by_axis[sloped], log_exact, one_level))
        log_exact += float(np.sum(np.log(branch.counts[counted])))
        as_counted.append(_grid(by_axis[sloped & ~counted], log_exact, one_level))
    is_counted = np.any(np.isfinite(space.counts[sloped_axes(space)]))
    return [_union(in_cells), _union(as_counted)] if is_counted else [_union(in_cells)]


def _union(grids: Sequence[LogGrid | float]) -> LogGrid | float:
    """Return the grid that is all of these together."""
    if len(grids) == 1:
        return grids[0]
    sizes = [grid for grid in grids if not callable(grid)]
    if len(sizes) == len(grids):
        return float(np.logaddexp.reduce(sizes))
    return lambda x: _together([grid(x) if callable(grid) else (grid, 0.0) for grid in grids])


def _grid(levels: Array, log_exact: float, one_level: bool) -> LogGrid | float:
    dim = len(levels)
    if dim == 0:
        return log_exact
    log_reaches = np.log(dim * levels).tolist()
    return paper_grid(dim, log_reaches[0], log_exact) if one_level else axis_grid(log_reaches, log_exact)

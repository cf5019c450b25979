"""The analytic grids of a space, among which the paper's bound may choose."""

import numpy as np

from regretstop.bound import axis_grid, paper_grid
from regretstop.confidence import Array
from regretstop.rules.gap import log_n_exact, sloped_axes
from regretstop.space import Space
from regretstop.subproblem import LogGrid


def grids_of(space: Space, levels: Array, *, one_level: bool) -> list[LogGrid | float]:
    """Return a grid with cells on every axis that has a slope, and one with all values of those that can be counted.

    Each gives a valid bound, and the choice may depend on the data, as that of the cells' width does.

    Args:
        space: The space.
        levels: r L_j of its axes with a slope, shape (d,), in units of the prior deviation.
        one_level: Whether the levels are one number, the paper's, which gives the paper's grid.
    """
    counts = space.counts[sloped_axes(space)]
    counted = np.isfinite(counts)
    grids = [_grid(levels, log_n_exact(space), one_level)]
    if np.any(counted):
        log_exact = log_n_exact(space) + float(np.sum(np.log(counts[counted])))
        grids.append(_grid(levels[~counted], log_exact, one_level))
    return grids


def _grid(levels: Array, log_exact: float, one_level: bool) -> LogGrid | float:
    dim = len(levels)
    if dim == 0:
        return log_exact
    log_reaches = np.log(dim * levels).tolist()
    return paper_grid(dim, log_reaches[0], log_exact) if one_level else axis_grid(log_reaches, log_exact)

"""Moves along the discrete axes of a space, one axis at a time."""

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.search._visited import Visited
from regretstop.spaces import Space

# Longer axes have 62 moves instead: 30 halvings of the range to either side, down to 1e-9 of it, and the next values.
_TABLE_UP_TO = 64


def climbable(space: Space, points: Array) -> NDArray[np.bool_]:
    """Return along which axes a gradient may be followed from points of shape (m, d), shape (m, d).

    They are the numeric ones that are active there, but for those that decide about others: to move along such a one
    would be to leave the branch, which the moves along discrete axes do.
    """
    return space.active(points) & (space.categories == 0) & ~space.deciding


def moves(space: Space, point: Array) -> Array:
    """Return the points that differ from this one along one discrete axis, shape (m, d); there must be one.

    A parameter that becomes active starts from the middle of its axis.
    """
    found: list[Array] = []
    for j in np.flatnonzero(space.active(point[None])[0] & np.isfinite(space.counts)):
        if space.counts[j] <= _TABLE_UP_TO:
            coordinates = space.axis_values(int(j))
        else:  # near and far steps instead of a table of the range
            steps = 0.5 ** np.arange(1, 31)
            coordinates = point[j] + np.concatenate([-steps, steps, [1.0, -1.0] / space.counts[j]])
        moved = np.repeat(point[None], len(coordinates), axis=0)
        moved[:, j] = coordinates
        found.append(moved)
    return space.snap(np.vstack(found))


def nearest_new(space: Space, point: Array, visited: Visited) -> Array:
    """Return points not visited, as few moves away as there are any; shape (m, d), m = 0 if none can be reached."""
    reached = frontier = point[None]
    while len(frontier) and np.any(np.isfinite(space.counts)):
        around = np.unique(np.vstack([moves(space, each) for each in frontier]), axis=0)
        new = ~visited.among(around)
        if np.any(new):
            return around[new]
        frontier = around[~Visited(reached).among(around)]
        reached = np.vstack([reached, frontier])
    return np.zeros((0, len(point)))

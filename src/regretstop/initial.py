"""The points to evaluate before there is a model."""

import numpy as np
from numpy.typing import NDArray

from regretstop.encoded import SAME_POINT
from regretstop.sobol import sobol_points
from regretstop.space import Space

Array = NDArray[np.float64]

_TRIES = 64


def initial_point(space: Space, visited: Array, index: int, seed: int) -> Array:
    """Return a point of a scrambled Sobol sequence; on a small finite space one not visited, while there is one.

    Args:
        space: The search space.
        visited: Encoded points of the data and of what is being evaluated, shape (n, d).
        index: Of the point in the sequence.
        seed: Of the sequence.

    Returns:
        The encoded point, shape (d,).
    """
    points = sobol_points(space, index + _TRIES, seed)[index:]
    if space.size > _TRIES or len(visited) == 0:
        return points[0]
    unvisited = space.enumerate()
    unvisited = unvisited[~_is_among(unvisited, visited)]
    if len(unvisited) == 0:
        return points[0]
    fresh = points[~_is_among(points, visited)]
    return fresh[0] if len(fresh) else unvisited[0]


def _is_among(points: Array, others: Array) -> NDArray[np.bool_]:
    return np.any(np.all(np.abs(points[:, None, :] - others[None, :, :]) < SAME_POINT, axis=2), axis=1)

"""The points to evaluate before there is a model."""

import numpy as np
from numpy.typing import NDArray

from regretstop.sobol import sobol_points
from regretstop.space import Space
from regretstop.visited import Visited

Array = NDArray[np.float64]

_TRIES = 64
# In a larger space that many points of the sequence are not all visited ones, unless nearly all points are.
_LIST_UP_TO = 10_000


def initial_point(space: Space, visited: Visited, index: int, seed: int) -> Array:
    """Return a point of a scrambled Sobol sequence: the first from an index on that was not visited.

    Args:
        space: The search space.
        visited: What was evaluated, or is being.
        index: Of the point in the sequence.
        seed: Of the sequence.

    Returns:
        The encoded point, shape (d,). If it was visited, so were all points of the space, or nearly all of a large one.
    """
    points = sobol_points(space, index + _TRIES, seed)[index:]
    known = visited.among(points)
    if np.all(known) and space.size <= _LIST_UP_TO:
        points = np.vstack([points[:1], space.enumerate()])
        known = visited.among(points)
    return points[np.argmin(known)]

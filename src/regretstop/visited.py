"""The points that were evaluated, or are being, so that a search can tell them from the others."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from regretstop.encoded import SAME_POINT

Array = NDArray[np.float64]


class Visited:
    """Points that were evaluated, failed, or are being evaluated.

    Args:
        points: Encoded, shape (n, d); repeats allowed.
    """

    def __init__(self, points: Array) -> None:
        self._points = KDTree(points) if len(points) else None

    def among(self, points: Array) -> NDArray[np.bool_]:
        """Return which points were visited, up to rounding, shape (m,)."""
        if self._points is None:
            return np.zeros(len(points), dtype=bool)
        distances, _ = self._points.query(points, p=np.inf, distance_upper_bound=SAME_POINT)
        return np.isfinite(distances)


NOTHING = Visited(np.zeros((0, 0)))

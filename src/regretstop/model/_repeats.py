"""Observations of one and the same point: merged into one, and taken back."""

import numpy as np

from regretstop.array import Array


def merge_duplicates(points: Array, values: Array, repeats: Array) -> tuple[Array, Array, Array, float]:
    """Merge exact repeats of a point into one observation of their mean.

    Args:
        points: Shape (n, d).
        values: Shape (n,).
        repeats: Observations behind each value, shape (n,).

    Returns:
        Points, means and repeats of the k distinct points in order of first appearance, and the sum of squares
        within the groups, which is what the likelihood of the noise still needs of the single values.
    """
    _, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(points):
        return points, values, repeats, 0.0
    order = np.argsort(first)
    group = np.argsort(order)[group.ravel()]
    counts: Array = np.bincount(group, weights=repeats).astype(float)
    means: Array = np.bincount(group, weights=repeats * values) / counts
    within = float(np.sum(repeats * (values - means[group]) ** 2))
    return points[np.sort(first)], means, counts, within


def take_back(points: Array, values: Array, repeats: Array, point: Array, value: float) -> tuple[Array, Array, Array]:
    """Undo for one observation what `merge_duplicates` did.

    Args:
        points: Distinct points, shape (n, d).
        values: Means over the repeats, shape (n,).
        repeats: Observations behind each value, shape (n,).
        point: Where the observation was made, one of the points, shape (d,).
        value: What was observed.

    Returns:
        Points, means and repeats without it.

    Raises:
        ValueError: If there is no observation at the point.
    """
    at = np.flatnonzero(np.all(points == point, axis=1))
    if len(at) == 0:
        raise ValueError(f"point must be one of the observed points, got {point!r}")
    i = at[-1]
    left = repeats[i] - 1.0
    if left < 1.0:
        return np.delete(points, i, axis=0), np.delete(values, i), np.delete(repeats, i)
    values, repeats = values.copy(), repeats.copy()
    values[i] = (repeats[i] * values[i] - value) / left
    repeats[i] = left
    return points, values, repeats

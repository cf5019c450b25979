"""Hills whose tops are known to a small part of a lengthscale: places at random miss them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array, upper_triangle
from regretstop.bound._normal_vectors import factor_of
from regretstop.spaces import Space

Jet = Callable[[Array, NDArray[np.intp], int], tuple[Array, Array]]
"""Returns mean and covariance of (f − f(x̂), slopes, second derivatives) at points, in units of ℓ, as `HasJets` does."""

# In lengthscales: where a top may be farther off than this, places at random are near enough.
_NARROW = 0.2
# Of the sides of a branch: a point so close to the end of an axis is at it.
_AT_END = 1e-6
# In lengthscales: ascents that ended so close to each other are on one hill.
_ALIKE = 0.01
# Newton's, from where an ascent ended, none longer than a lengthscale; they are done at this part of a deviation.
_STEPS, _DONE = 4, 0.1
# Tops that are so many deviations apart are two.
_APART = 3.0
# Given that f is high there its top is not quite where it is expected: places are spread over twice the variance.
_SPREAD = math.sqrt(2.0)


@dataclass(frozen=True)
class Hill:
    """Where the top of a hill is, about normal.

    Attributes:
        point: Its mean, encoded, shape (d,).
        branch: The branch of the space.
        is_free: Of the numeric axes, those along which its face extends, shape (a,).
        is_high: Of those that do not, whether the face is at their upper end, shape (a,).
        factor: Lower Cholesky factor of a covariance for places, in lengthscales, shape (a, a): of the free axes, and
            1 for each other.
    """

    point: Array
    branch: int
    is_free: NDArray[np.bool_]
    is_high: NDArray[np.bool_]
    factor: Array


def narrow_hills(jet: Jet, space: Space, lengthscales: Array, prior_std: float, ends: Array) -> list[Hill]:
    """Return the hills that are narrow, each once.

    Args:
        jet: Of the posterior.
        space: The search space. A discrete axis counts as the interval from its first to its last value.
        lengthscales: ℓ, shape (d,).
        prior_std: s.
        ends: Where ascents ended, encoded, shape (m, d).
    """
    numeric = np.flatnonzero(space.categories == 0)
    scales = lengthscales[numeric]
    alike = np.all(np.abs(ends[:, None] - ends) <= _ALIKE * lengthscales, axis=2)
    ends = ends[~np.any(np.tril(alike, -1), axis=1)]
    branches = space.branch_of(ends)
    low, high = (np.array([getattr(b, name)[numeric] for b in space.branches])[branches] for name in ("low", "high"))
    varies = np.array([b.numeric[numeric] for b in space.branches])[branches]
    is_high = varies & (high - ends[:, numeric] <= _AT_END * (high - low))
    is_free = varies & ~is_high & (ends[:, numeric] - low > _AT_END * (high - low))

    found: list[Hill] = []
    for k in np.unique(is_free.sum(axis=1)).tolist():
        index = np.flatnonzero(is_free.sum(axis=1) == k)
        axes = np.argsort(~is_free[index], axis=1, kind="stable")[:, :k]
        points, factors, is_narrow = _tops(jet, ends[index], numeric[axes], lengthscales, prior_std)
        at = np.take_along_axis(points, numeric[axes], axis=1)
        is_narrow &= np.all(at > np.take_along_axis(low[index], axes, axis=1), axis=1)
        is_narrow &= np.all(at < np.take_along_axis(high[index], axes, axis=1), axis=1)
        for j in np.flatnonzero(is_narrow).tolist():
            i, factor = index[j], np.eye(len(numeric))
            factor[np.ix_(axes[j], axes[j])] = factors[j]
            hill = Hill(points[j], int(branches[i]), is_free[i], is_high[i], factor)
            if not any(_is_same(hill, other, numeric, scales) for other in found):
                found.append(hill)
    return found


def _tops(
    jet: Jet, points: Array, axes: NDArray[np.intp], lengthscales: Array, prior_std: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return the tops of the mean along axes of shape (m, k), factors of their covariances, and which are narrow."""
    m, k = axes.shape
    points, scales = points.copy(), lengthscales[axes]
    factors, is_narrow = np.zeros((m, k, k)), np.ones(m, dtype=bool)
    first, second = upper_triangle(k)
    for _ in range(_STEPS if k else 0):
        rows = np.flatnonzero(is_narrow)
        mean, covariance = jet(points[rows], axes[rows], k)
        bends = np.empty((len(rows), k, k))
        bends[:, first, second] = bends[:, second, first] = -mean[:, 1 + k :]
        is_top = np.linalg.eigvalsh(bends)[:, 0] > 0.0
        bends[~is_top] = np.eye(k)
        # By how much the slopes at the top may differ from 0, so far it may be from where the mean has it.
        slopes = factor_of(covariance[:, 1 : 1 + k, 1 : 1 + k], prior_std**2)
        steps = np.linalg.solve(bends, mean[:, 1 : 1 + k, None])[:, :, 0]
        spread = np.linalg.solve(bends, slopes)
        is_top &= np.all(np.abs(steps) <= 1.0, axis=1) & np.all((spread**2).sum(axis=2) <= _NARROW**2, axis=1)
        is_narrow[rows] = is_top
        points[rows[:, None], axes[rows]] += np.where(is_top[:, None], steps * scales[rows], 0.0)
        factors[rows] = _SPREAD * spread
        if np.all(~is_top[:, None] | (steps**2 <= _DONE**2 * (spread**2).sum(axis=2))):
            break
    for j in np.flatnonzero(is_narrow if k else False):
        factors[j] = np.linalg.cholesky(factors[j] @ factors[j].T)
    return points, factors, is_narrow


def _is_same(one: Hill, other: Hill, numeric: NDArray[np.intp], lengthscales: Array) -> bool:
    """Return whether two hills are on one face, with the same categories, and closer than they are wide."""
    apart = one.point - other.point
    if one.branch != other.branch or np.any(one.is_free != other.is_free) or np.any(np.delete(apart, numeric)):
        return False
    away = np.linalg.solve(other.factor, np.where(one.is_free, apart[numeric] / lengthscales, 0.0))
    return bool(np.all(one.is_high == other.is_high) and math.hypot(*away.tolist()) < _APART / _SPREAD)

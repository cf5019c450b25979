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

# In lengthscales: how far places are spread where it is not known better where the top is.
_BROAD = 0.4
# A hill is narrow if its places fill no more than this part of that.
_NARROW = 0.1
# Of the sides of a branch: a point so close to the end of an axis is at it.
_AT_END = 1e-6
# In lengthscales: ascents that ended so close to each other are on one hill.
_ALIKE = 0.01
# Of Gauss and Newton, from where an ascent ended; they are done at this part of a deviation.
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
        factor: Of a covariance for places, in lengthscales, shape (a, a): F where that is F Fᵀ, on the free axes, and
            1 on each other.
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
    ends[:, numeric] = np.clip(ends[:, numeric], low, high)  # data may lie outside
    is_high = varies & (high - ends[:, numeric] <= _AT_END * (high - low))
    is_free = varies & ~is_high & (ends[:, numeric] - low > _AT_END * (high - low))

    found: list[Hill] = []
    for k in np.unique(is_free.sum(axis=1)).tolist():
        index = np.flatnonzero(is_free.sum(axis=1) == k)
        axes = np.argsort(~is_free[index], axis=1, kind="stable")[:, :k]
        lowest, highest = (np.take_along_axis(ends_of[index], axes, axis=1) for ends_of in (low, high))
        box = np.stack([lowest, highest, np.minimum(_BROAD, 0.5 * (highest - lowest) / scales[axes])])
        points, factors, is_narrow = _tops(jet, ends[index], numeric[axes], lengthscales, prior_std, box)
        for j in np.flatnonzero(is_narrow).tolist():
            i, factor = index[j], np.eye(len(numeric))
            factor[np.ix_(axes[j], axes[j])] = factors[j]
            hill = Hill(points[j], int(branches[i]), is_free[i], is_high[i], factor)
            if not any(_is_same(hill, other, numeric, scales) for other in found):
                found.append(hill)
    return found


def _tops(
    jet: Jet, points: Array, axes: NDArray[np.intp], lengthscales: Array, prior_std: float, box: Array
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return where tops may be along axes of shape (m, k), factors of covariances for places, and which are narrow.

    Around x the slopes are g + H δ, normal with the covariance S of g. So what δ makes them 0 is about normal as well,
    with the precision H S⁻¹ H, whether the hill bends in all directions or is a ridge, to which that of its spread
    where nothing is known is added.

    Args:
        jet: Of the posterior.
        points: Encoded, shape (m, d).
        axes: The free axes of each, shape (m, k).
        lengthscales: ℓ, shape (d,).
        prior_std: s.
        box: The lowest and highest coordinates there, and the spread where nothing is known, in lengthscales; shape
            (3, m, k).
    """
    m, k = len(axes), int(axes.shape[1])
    points, scales, (low, high, broad) = points.copy(), lengthscales[axes], box
    if not k:
        return points, np.zeros((m, 0, 0)), np.ones(m, dtype=bool)
    first, second = upper_triangle(k)
    rows = np.repeat(np.arange(m), k).reshape(m, k)
    bends, factors, precisions = np.empty((m, k, k)), np.empty((m, k, k)), np.empty((m, k))
    for _ in range(_STEPS):
        mean, covariance = jet(points, axes, k)
        bends[:, first, second] = bends[:, second, first] = mean[:, 1 + k :]
        slopes = factor_of(covariance[:, 1 : 1 + k, 1 : 1 + k], prior_std**2)
        whitened = np.linalg.solve(slopes, np.concatenate([bends, mean[:, 1 : 1 + k, None]], axis=2))
        turned = whitened[:, :, :k].transpose(0, 2, 1)
        precision = turned @ whitened[:, :, :k]
        precision[:, range(k), range(k)] += broad**-2.0
        precisions, directions = np.linalg.eigh(precision)
        # Where rounding has lost what was added, of very unequal ones.
        precisions = np.maximum(precisions, broad.max(axis=1, keepdims=True) ** -2.0)
        factors = directions / np.sqrt(precisions)[:, None, :]
        steps = -(factors @ (factors.transpose(0, 2, 1) @ (turned @ whitened[:, :, k:])))[:, :, 0]
        points[rows, axes] = np.clip(points[rows, axes] + steps * scales, low, high)
        if np.all(steps**2 <= _DONE**2 * (factors**2).sum(axis=2)):
            break
    log_filled = -0.5 * np.log(precisions).sum(axis=1) - np.log(broad).sum(axis=1)
    return points, _SPREAD * factors, log_filled <= math.log(_NARROW)


def _is_same(one: Hill, other: Hill, numeric: NDArray[np.intp], lengthscales: Array) -> bool:
    """Return whether two hills are on one face, with the same categories, and closer than they are wide."""
    apart = one.point - other.point
    if one.branch != other.branch or np.any(one.is_free != other.is_free) or np.any(np.delete(apart, numeric)):
        return False
    away = np.linalg.solve(other.factor, np.where(one.is_free, apart[numeric] / lengthscales, 0.0))
    return bool(np.all(one.is_high == other.is_high) and math.hypot(*away.tolist()) < _APART / _SPREAD)

"""Many normal vectors and symmetric matrices at a time: factors, conditioning on zeros, determinants."""

import math

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array

# Of the prior's variance: what rounding may leave of one that is 0.
ROUNDING = 1e-10
# What overflows counts as this much, whose product with 0 is 0.
_MOST = 1e300


def at_zero(means: Array, factors: Array) -> tuple[Array, Array]:
    """Return the whitened coordinates of 0, shape (m, k), and the log density there, shape (m,), of normal vectors.

    Args:
        means: Shape (m, k).
        factors: Lower Cholesky factors, of which the first k rows count, shape (m, q, q), q ≥ k.
    """
    k = means.shape[1]
    slopes = factors[:, :k, :k]
    w = np.linalg.solve(slopes, -means[:, :, None])[:, :, 0]
    log_density: Array = -0.5 * (w**2).sum(axis=1) - np.log(np.diagonal(slopes, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(w, dtype=np.float64), log_density - 0.5 * k * math.log(2.0 * math.pi)


def factor_of(covariances: Array, prior_variance: float) -> Array:
    """Return lower Cholesky factors, shape (m, q, q); variances of which rounding leaves nothing count as a little."""
    q = covariances.shape[-1]
    padded = covariances.copy()
    padded[:, range(q), range(q)] += ROUNDING * prior_variance
    try:
        return np.asarray(np.linalg.cholesky(padded), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    # Where rounding has made one of them indefinite: the same by hand, with a floor for each pivot.
    factor = np.zeros_like(padded)
    for i in range(q):
        rest = padded[:, i:, i] - np.einsum("mij,mj->mi", factor[:, i:, :i], factor[:, i, :i])
        pivot = np.sqrt(np.maximum(rest[:, 0], ROUNDING * prior_variance))
        factor[:, i:, i] = rest / pivot[:, None]
        factor[:, i, i] = pivot
    return factor


def determinants(matrices: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return absolute determinants of symmetric matrices, shape (…, k, k), and which matrices are positive definite.

    By the pivots of Gauss, all matrices at once: LAPACK would be called for each.
    """
    rest = matrices
    size, is_positive = np.ones(matrices.shape[:-2]), np.ones(matrices.shape[:-2], dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(matrices.shape[-1]):
            pivot = rest[..., 0, 0]
            size = size * np.abs(pivot)
            is_positive &= pivot > 0.0
            row = rest[..., 0, 1:] / np.where(pivot == 0.0, 1.0, pivot)[..., None]
            rest = rest[..., 1:, 1:] - rest[..., 1:, 0, None] * row[..., None, :]
    finite = np.isfinite(size)
    return size if finite.all() else np.where(finite, size, _MOST), is_positive

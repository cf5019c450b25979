"""Prior covariances of a draw's value, slopes and second derivatives: its jet, of order two.

In units of the lengthscales, with Δ the difference of two points and ρ(‖Δ‖²) the correlation, differentiation gives
(Rasmussen & Williams 2006, eq. 9.1)

    Cov(∂_a f, f') = 2 ρ' Δ_a        Cov(∂_a ∂_b f, f') = 4 ρ'' Δ_a Δ_b + 2 ρ' 1[a = b]

and at one point, where the rest is 0 by symmetry,

    Cov(∂_a f, ∂_b f) = −2 ρ'(0) 1[a = b]        Cov(f, ∂_a ∂_b f) = 2 ρ'(0) 1[a = b]
    Cov(∂_a ∂_b f, ∂_c ∂_d f) = 4 ρ''(0) (1[a = b, c = d] + 1[a = c, b = d] + 1[a = d, b = c])
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from regretstop.array import Array, upper_triangle
from regretstop.model._kernels import Kernel


def correlation_with_jets(kernel: Kernel, columns: Array, along: NDArray[np.intp], n_free: int, others: Array) -> Array:
    """Return correlations of (f, slopes, second derivatives) at some points with f at others, shape (m, q, n).

    Args:
        kernel: The kernel family.
        columns: Of the points, in lengthscales, shape (m, D).
        along: Of each point, the columns along which slopes are wanted, shape (m, a).
        n_free: Second derivatives are those along the first so many of them, in the order of `numpy.triu_indices`.
        others: Columns of the others, shape (n, D).
    """
    n_axes, n_bends = along.shape[1], n_free * (n_free + 1) // 2
    rho, slope, bend = kernel.correlation_and_slopes(cdist(columns, others, "sqeuclidean"))
    gaps = np.take_along_axis(columns, along, axis=1)[:, :, None] - others.T[along]
    cross = np.empty((len(columns), 1 + n_axes + n_bends, len(others)))
    cross[:, 0] = rho
    slope *= 2.0
    np.multiply(slope[:, None], gaps, out=cross[:, 1 : 1 + n_axes])
    bend *= 4.0
    start = 1 + n_axes
    for a in range(n_free):  # row by row: picking pairs of axes would copy the gaps for each
        row = cross[:, start : start + n_free - a]
        np.multiply((bend * gaps[:, a])[:, None], gaps[:, a:n_free], out=row)
        row[:, 0] += slope
        start += n_free - a
    return cross


@lru_cache(maxsize=64)
def correlation_of_jet(kernel: type[Kernel], n_axes: int, n_free: int) -> Array:
    """Return those of (f, slopes along n_axes axes, second derivatives along the first n_free) at a point."""
    first, second = upper_triangle(n_free)
    same = np.eye(n_free)
    size = 1 + n_axes + len(first)
    correlation = np.diag(np.r_[1.0, np.full(n_axes, kernel.curvature), np.zeros(len(first))])
    correlation[0, 1 + n_axes :] = correlation[1 + n_axes :, 0] = -kernel.curvature * (first == second)
    crossed = same[first][:, first] * same[second][:, second] + same[first][:, second] * same[second][:, first]
    correlation[1 + n_axes : size, 1 + n_axes : size] = (
        4.0 * kernel.fourth * (crossed + np.outer(first == second, first == second))
    )
    correlation.setflags(write=False)
    return correlation

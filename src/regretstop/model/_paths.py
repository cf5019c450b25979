"""Draws of a posterior as functions that can be evaluated, and climbed, anywhere.

A draw of the prior by random Fourier features (Rahimi & Recht 2007) becomes one of the posterior by Matheron's rule
(Wilson et al. 2020): the data part is exact, so the features only stand for what the data leave open.

What they leave open is mostly high frequencies, and the spectral distribution seldom draws those: near the end of a
search, with a posterior deviation of a thousandth of the prior's, paths from plain draws had a median deviation of half
of what it should be (Matérn-5/2), and a rule that counts on them would stop too early. So most frequencies come from a
distribution with a heavier tail, and their weights make up for it; the deviations are then right within 10–15 %. See
docs/theory.md, Posterior paths.
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from regretstop.array import Array
from regretstop.model._kernels import Kernel, log_student_t
from regretstop.model._linalg import matmul

# A cosine and a sine for each frequency: 1024 features.
_N_FREQUENCIES = 512
# How many of the frequencies are Cauchy, whatever the kernel: three quarters, with which the 10–15 % were measured. As
# one quarter is the kernel's own, no weight v is above 4.
_N_WIDE = 384
# Points that are evaluated at a time: their features, one megabyte an array, stay in the cache.
_BATCH = 256


class FourierPrior:
    """Draws of a GP with mean zero, `g(z) = s Σ_i √v_i (a_i cos ω_i·z + b_i sin ω_i·z) / √M` with a, b ~ N(0, 1).

    Given the frequencies a draw is exactly Gaussian; its covariance is a weighted average of M cosines, right in
    expectation: v is the density of the spectral distribution over that of the mixture which ω is drawn from.

    Args:
        kernel: The kernel family.
        dim: D, the number of columns of a point z; one unit is one lengthscale.
        prior_std: s.
        n: Number of draws.
        rng: Source of the frequencies, which the draws share, and of a and b.
    """

    def __init__(self, kernel: Kernel, dim: int, prior_std: float, n: int, rng: np.random.Generator) -> None:
        # A Cauchy vector is a normal one over the size of a normal number. Strata for that number keep each octave
        # of the tail from being empty by chance.
        # Above 0, where a frequency would be infinite.
        strata = (np.arange(_N_WIDE) + rng.uniform(1e-9, 1.0, _N_WIDE)) / _N_WIDE
        wide = rng.standard_normal((_N_WIDE, dim)) / ndtri(0.5 + 0.5 * strata)[:, None]
        self._frequencies = np.vstack([kernel.frequencies(_N_FREQUENCIES - _N_WIDE, dim, rng), wide])
        omega2 = np.einsum("fd,fd->f", self._frequencies, self._frequencies)
        # √(v / M) s, v the density over that of the mixture
        target = kernel.log_spectral_density(omega2, dim)
        share = _N_WIDE / _N_FREQUENCIES
        proposal = np.logaddexp(target + math.log1p(-share), log_student_t(omega2, dim, 1.0) + math.log(share))
        scale = prior_std * np.exp(0.5 * (target - proposal)) / math.sqrt(_N_FREQUENCIES)
        self._amplitudes = np.tile(scale, 2) * rng.standard_normal((n, 2 * _N_FREQUENCIES))

    def values(self, columns: Array) -> Array:
        """Return all draws at points given by their columns, shape (m, n)."""
        return matmul(np.hstack(self._cosines_and_sines(columns)), self._amplitudes.T)

    def value_gradient(self, columns: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return draw `which[i]` at point i, shape (m,), and its gradient along the columns, shape (m, D)."""
        cosines, sines = self._cosines_and_sines(columns)
        amplitudes = self._amplitudes[which]
        a, b = amplitudes[:, :_N_FREQUENCIES], amplitudes[:, _N_FREQUENCIES:]
        values = np.einsum("mf,mf->m", cosines, a) + np.einsum("mf,mf->m", sines, b)
        return values, matmul(cosines * b - sines * a, self._frequencies)

    def _cosines_and_sines(self, columns: Array) -> tuple[Array, Array]:
        """Return cos ω·z and sin ω·z, shape (m, M), from one tangent of half the angle: the bulk of all the time.

        With t = tan(a/2) they are (1 − t²)/(1 + t²) and 2t/(1 + t²).
        """
        tangents = np.tan(matmul(columns, 0.5 * self._frequencies.T))
        squares = tangents * tangents
        inverse = 1.0 / (1.0 + squares)
        return (1.0 - squares) * inverse, 2.0 * tangents * inverse


class KernelBasis(Protocol):
    """The kernel at the data, k(·, x_i), as the exact posterior has it."""

    def columns(self, points: Array) -> Array:
        """Return the columns of encoded points, in lengthscales, shape (m, D)."""
        ...

    def cross(self, columns: Array) -> Array:
        """Return k(x, x_i), shape (m, n)."""
        ...

    def weighted_cross(self, columns: Array, weights: Array) -> tuple[Array, Array]:
        """Return Σ_i w_mi k(x_m, x_i), shape (m,), and the gradients along the axes, shape (m, d)."""
        ...

    def to_axes(self, gradients: Array) -> Array:
        """Return gradients along the axes, shape (m, d), of gradients along the columns, shape (m, D)."""
        ...


class Paths:
    """Functions `f(x) = m + g(x) + Σ_i w_i k(x, x_i)`, each with its own mean m, prior draw g and weights w.

    Args:
        prior: The draws g.
        basis: The kernel at the data.
        weights: w, shape (number of paths, n).
        means: m, shape (number of paths,).
    """

    def __init__(self, prior: FourierPrior, basis: KernelBasis, weights: Array, means: Array) -> None:
        self._prior = prior
        self._basis = basis
        self._weights = weights
        self._means = means

    def __len__(self) -> int:
        return len(self._means)

    def values(self, points: Array) -> Array:
        """Return every path at encoded points of shape (m, d), shape (m, number of paths)."""
        values = np.empty((len(points), len(self)))
        for part in _batches(len(points)):
            columns = self._basis.columns(points[part])
            data = matmul(self._basis.cross(columns), self._weights.T)
            values[part] = self._means + self._prior.values(columns) + data
        return values

    def value_gradient(self, points: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return path `which[i]` at point i, and its gradient, zero along categorical axes.

        Args:
            points: Encoded points, shape (m, d).
            which: Index of a path for each point, shape (m,).

        Returns:
            Values, shape (m,), and gradients, shape (m, d).
        """
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        for part in _batches(len(points)):
            columns, own = self._basis.columns(points[part]), which[part]
            prior, prior_gradient = self._prior.value_gradient(columns, own)
            data, data_gradient = self._basis.weighted_cross(columns, self._weights[own])
            values[part] = self._means[own] + prior + data
            gradients[part] = self._basis.to_axes(prior_gradient) + data_gradient
        return values, gradients


def _batches(n: int) -> list[slice]:
    return [slice(start, start + _BATCH) for start in range(0, n, _BATCH)]

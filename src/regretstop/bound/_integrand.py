"""The integrand of the expected number of local maxima above a level, at many places at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from regretstop.array import Array, upper_triangle
from regretstop.bound._normal_vectors import determinants

# Draws of the second derivatives at a place.
N_DRAWS = 4


@dataclass(frozen=True)
class Seen:
    """The law of f − f(x̂) at places, given that the slopes along their faces are 0; all of shape (m,).

    Attributes:
        log_density: Log of what a place adds, the tail of f apart.
        n_free: Dimension of the face.
        mean: Of f − f(x̂).
        std: Its deviation.
    """

    log_density: Array
    n_free: NDArray[np.intp]
    mean: Array
    std: Array

    def log_mass(self, level: float) -> Array:
        """Return the log of about what each place adds, the second derivatives those of a stationary f."""
        u = (level - self.mean) / self.std
        return self.log_density + log_ndtr(-u) + self.n_free * np.log(np.maximum(u, 1.0))


@dataclass(frozen=True)
class Draws:
    """The joint law of f − f(x̂) and H at places on faces of one dimension, given that the slopes along them are 0.

    Attributes:
        index: Of the places among those that were chosen, shape (m,).
        log_density: Log of p_∇f(0), shape (m,).
        mean: Of f − f(x̂), shape (m,).
        std: Its deviation, shape (m,).
        quantiles: Of f above a level, one for each draw, shape (m, s).
        others: Slopes along the other axes times the sign that points outwards, shape (m, s, a − k), and second
            derivatives of −f, shape (m, s, k(k+1)/2), where f has its mean.
        per_std: How they move with f, in its deviations, shape (m, a − k + k(k+1)/2).
    """

    index: NDArray[np.intp]
    log_density: Array
    mean: Array
    std: Array
    quantiles: Array
    others: Array
    per_std: Array
    n_free: int

    def expected(self, levels: Array) -> tuple[Array, Array]:
        """Return the integrand for maxima, and for critical points of any kind that slope outwards.

        Both of shape (l, m) for levels of shape (l,).
        """
        k = self.n_free
        log_tail = log_ndtr((self.mean - levels[:, None]) / self.std)
        # f above the level, in its deviations: stratified draws of the tail
        above = -ndtri_exp(log_tail[..., None] + np.log(self.quantiles))
        drawn = self.others + above[..., None] * self.per_std[:, None, :]
        n_slopes = drawn.shape[-1] - k * (k + 1) // 2
        is_outward = np.all(drawn[..., :n_slopes] > 0.0, axis=-1)
        first, second = upper_triangle(k)
        bends = np.empty((*is_outward.shape, k, k))
        bends[..., first, second] = bends[..., second, first] = drawn[..., n_slopes:]
        size, is_maximum = determinants(bends)
        size = np.where(is_outward, size, 0.0)
        mass = np.exp(self.log_density + log_tail)
        return mass * np.where(is_maximum, size, 0.0).mean(axis=-1), mass * size.mean(axis=-1)

    @property
    def size(self) -> int:
        """How many numbers are worked on for one level."""
        return self.others.size + len(self.mean) * N_DRAWS * self.n_free**2

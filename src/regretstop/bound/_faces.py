"""Places of the unit cube with a face each, chosen at random with a density that is known.

A face extends along some of the numeric axes and lies at an end of each of the others; the cube itself is one. Its
categories have one choice each.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from regretstop.array import Array
from regretstop.spaces import Space, scrambled_sobol

# Places of a replicate: a power of two, for which Sobol points are balanced.
N_PLACES = 256
# Half of the places lie around the best data, at so many lengthscales: hills are narrower there than elsewhere.
_NEAR = np.array([0.4, 0.04])
# An axis is free with a probability of at least and at most this, so that no place weighs too much.
_LEAST_FREE, _MOST_FREE = 0.2, 0.95


@dataclass(frozen=True)
class Places:
    """Points on faces of the cube.

    Attributes:
        points: Encoded, shape (m, d).
        is_free: Of the numeric axes, those along which the face extends, shape (m, a).
        is_high: Of the numeric axes that do not, whether the face is at their upper end, shape (m, a).
        log_weights: Log of one by the density with which each was chosen, points measured in lengthscales, shape (m,).
    """

    points: Array
    is_free: NDArray[np.bool_]
    is_high: NDArray[np.bool_]
    log_weights: Array

    @property
    def n_free(self) -> NDArray[np.intp]:
        """Dimensions of the faces, shape (m,)."""
        return self.is_free.sum(axis=1)

    def take(self, index: NDArray[np.intp]) -> "Places":
        """Return those with these indices."""
        return Places(self.points[index], self.is_free[index], self.is_high[index], self.log_weights[index])


class Faces:
    """Chooses places.

    Args:
        space: The search space. A discrete axis counts as the interval from its first to its last value.
        lengthscales: ℓ, shape (d,).
        centers: The best data, encoded, shape (m, d), m ≥ 1.
        rng: Draws the places.
    """

    def __init__(self, space: Space, lengthscales: Array, centers: Array, rng: np.random.Generator) -> None:
        self._rng = rng
        self._dim = space.dim
        self.numeric = np.flatnonzero(space.categories == 0)
        self._categorical = np.flatnonzero(space.categories > 0)
        self._n_choices = space.categories[self._categorical]
        self._low, self._high = space.snap(np.array([np.zeros(space.dim), np.ones(space.dim)]))[:, self.numeric]
        self._lengthscales = lengthscales[self.numeric]
        self._centers = np.repeat(centers[:, self.numeric], len(_NEAR), axis=0)
        self._scales = np.tile(_NEAR, len(centers))[:, None] * self._lengthscales

    def places(self, n_replicates: int, hills_per_lengthscale: float) -> Places:
        """Return places, 256 a replicate.

        Args:
            n_replicates: How many there are, independent of each other.
            hills_per_lengthscale: Axes are the more often free the more hills they are expected to have.
        """
        a = len(self.numeric)
        dim = 2 * a + 1 + len(self._categorical)
        sequences = [scrambled_sobol(dim, N_PLACES, self._rng) for _ in range(n_replicates)]
        u = np.clip(np.concatenate(sequences), 1e-12, 1.0 - 1e-12)  # kept off 0 and 1, where quantiles are infinite
        odds = hills_per_lengthscale * (self._high - self._low) / self._lengthscales
        p_free = np.asarray(np.clip(odds / (1.0 + odds), _LEAST_FREE, _MOST_FREE), dtype=np.float64)
        is_free, is_high = u[:, :a] < p_free, u[:, :a] > 0.5 * (1.0 + p_free)
        log_face = np.where(is_free, np.log(p_free), np.log(0.5 * (1.0 - p_free))).sum(axis=1)
        free = self._free_coordinates(u[:, a : 2 * a], u[:, 2 * a])
        x = np.where(is_free, free, self._low + (self._high - self._low) * is_high)
        points = np.zeros((len(u), self._dim))
        points[:, self.numeric] = x
        points[:, self._categorical] = np.floor(u[:, 2 * a + 1 :] * self._n_choices)
        log_settings = -float(np.sum(np.log(self._n_choices)))
        return Places(points, is_free, is_high, -(log_settings + log_face + self._log_density(x, is_free)))

    def _free_coordinates(self, u: Array, which: Array) -> Array:
        """Return coordinates, shape (m, a): half of them uniform, half normal around the centers and cut off."""
        m = len(self._centers)
        choice = (which * 2 * m).astype(np.intp)  # of a center, or from m on of none
        center, scale = self._centers[np.minimum(choice, m - 1)], self._scales[np.minimum(choice, m - 1)]
        below, above = _cdf((self._low - center) / scale), _cdf((self._high - center) / scale)
        around = center + scale * np.asarray(ndtri(below + (above - below) * u), dtype=np.float64)
        anywhere = self._low + (self._high - self._low) * u
        return np.clip(np.where((choice < m)[:, None], around, anywhere), self._low, self._high)

    def _log_density(self, x: Array, is_free: NDArray[np.bool_]) -> Array:
        """Return the log density of the free coordinates, measured in lengthscales, shape (m,)."""
        log_anywhere = np.where(is_free, np.log(self._lengthscales / (self._high - self._low)), 0.0).sum(axis=1)
        inside = _cdf((self._high - self._centers) / self._scales) - _cdf((self._low - self._centers) / self._scales)
        z = (x[:, None] - self._centers) / self._scales
        log_normal = -0.5 * z**2 - np.log(math.sqrt(2.0 * math.pi) * self._scales / self._lengthscales * inside)
        log_around = np.where(is_free[:, None], log_normal, 0.0).sum(axis=2)
        return np.log(0.5 * np.exp(log_anywhere) + 0.5 * np.exp(log_around).mean(axis=1))


def _cdf(z: Array) -> Array:
    return np.asarray(ndtr(z), dtype=np.float64)

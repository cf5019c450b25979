"""Places of the unit cube with a face each, chosen at random with a density that is known.

A face extends along some of the numeric axes and lies at an end of each of the others; the cube itself is one. Its
categories have one choice each.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

from regretstop.array import Array
from regretstop.spaces import Space, scrambled_sobol

# Places of a replicate: a power of two, for which Sobol points are balanced.
N_PLACES = 128
# Half of the places lie around the best data, at so many lengthscales: hills are narrower there than elsewhere.
_NEAR = np.array([0.4, 0.04])
# In lengthscales: a datum so close to the end of an axis is taken to be at it, where hills on that face are.
_AT_END = 0.1
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


def settings_of(space: Space) -> Places:
    """Return the points of a finite space, none of them on a face along which there would be slopes."""
    none = np.zeros((int(space.size), 0), dtype=bool)
    return Places(space.enumerate(), none, none, np.zeros(int(space.size)))


class Faces:
    """Chooses places: half of them anywhere, half around the best data, on faces and with choices like theirs.

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
        centers = np.repeat(centers, len(_NEAR), axis=0)
        self._centers = centers[:, self.numeric]
        self._choices = centers[:, self._categorical]
        self._scales = np.tile(_NEAR, len(centers) // len(_NEAR))[:, None] * self._lengthscales

    def places(self, n_replicates: int, hills_per_lengthscale: float) -> Places:
        """Return places, 128 a replicate.

        Args:
            n_replicates: How many there are, independent of each other.
            hills_per_lengthscale: Axes are the more often free the more hills they are expected to have.
        """
        a, m = len(self.numeric), len(self._centers)
        dim = 2 * a + 1 + len(self._categorical)
        # One sequence, shifted anew for each replicate: each is unbiased, and they are independent given the sequence.
        shifts = self._rng.random((n_replicates, 1, dim))
        u = ((scrambled_sobol(dim, N_PLACES, self._rng) + shifts) % 1.0).reshape(-1, dim)
        u = np.clip(u, 1e-12, 1.0 - 1e-12)  # kept off 0 and 1, where quantiles are infinite
        of_face, of_point, which, of_choice = u[:, :a], u[:, a : 2 * a], u[:, 2 * a], u[:, 2 * a + 1 :]
        source = np.minimum((which * 2 * m).astype(np.intp), m)  # a center, or m for anywhere

        p_free, p_high = self._face_probabilities(hills_per_lengthscale)
        is_free, is_high = of_face < p_free[source], of_face > 1.0 - p_high[source]
        center, scale = self._centers[np.minimum(source, m - 1)], self._scales[np.minimum(source, m - 1)]
        below, above = _cdf((self._low - center) / scale), _cdf((self._high - center) / scale)
        around = center + scale * np.asarray(ndtri(below + (above - below) * of_point), dtype=np.float64)
        anywhere = self._low + (self._high - self._low) * of_point
        is_near = (source < m)[:, None]
        free = np.clip(np.where(is_near, around, anywhere), self._low, self._high)
        x = np.where(is_free, free, self._low + (self._high - self._low) * is_high)

        # Of a center's choices each stays with a probability of a half, and is drawn anew otherwise.
        kept = is_near & (of_choice < 0.5)
        drawn = np.floor(np.where(is_near, np.abs(2.0 * of_choice - 1.0), of_choice) * self._n_choices)
        choices = np.where(kept, self._choices[np.minimum(source, m - 1)], drawn)
        points = np.zeros((len(u), self._dim))
        points[:, self.numeric], points[:, self._categorical] = x, choices
        return Places(points, is_free, is_high, -self._log_density(x, is_free, is_high, choices, p_free, p_high))

    def _face_probabilities(self, hills_per_lengthscale: float) -> tuple[Array, Array]:
        """Return with which probability an axis is free, and at its upper end, for each source, shape (m + 1, a).

        Around a center half of the choice goes to what it is itself: at an end, or in between.
        """
        odds = hills_per_lengthscale * (self._high - self._low) / self._lengthscales
        p_free = np.asarray(np.clip(odds / (1.0 + odds), _LEAST_FREE, _MOST_FREE), dtype=np.float64)
        at_low = self._centers - self._low < _AT_END * self._lengthscales
        at_high = (self._high - self._centers < _AT_END * self._lengthscales) & ~at_low
        free = np.vstack([0.5 * (p_free + ~(at_low | at_high)), p_free[None]])
        high = np.vstack([0.5 * (0.5 * (1.0 - p_free) + at_high), 0.5 * (1.0 - p_free[None])])
        return free, high

    def _log_density(
        self,
        x: Array,
        is_free: NDArray[np.bool_],
        is_high: NDArray[np.bool_],
        choices: Array,
        p_free: Array,
        p_high: Array,
    ) -> Array:
        """Return the log density of places, their free coordinates measured in lengthscales, shape (m,)."""
        inside = _cdf((self._high - self._centers) / self._scales) - _cdf((self._low - self._centers) / self._scales)
        z = (x[:, None] - self._centers) / self._scales
        log_normal = -0.5 * z**2 - np.log(math.sqrt(2.0 * math.pi) * self._scales / self._lengthscales * inside)
        log_uniform = np.broadcast_to(np.log(self._lengthscales / (self._high - self._low)), (len(x), 1, x.shape[1]))
        log_end = np.where(is_high[:, None], np.log(p_high), np.log(1.0 - p_free - p_high))
        log_free = np.log(p_free) + np.concatenate([log_normal, log_uniform], axis=1)
        log_numeric = np.where(is_free[:, None], log_free, log_end).sum(axis=2)
        same = choices[:, None] == self._choices
        near = np.log(0.5 * same + 0.5 / self._n_choices).sum(axis=2)
        log_choices = np.concatenate([near, np.full((len(x), 1), -np.sum(np.log(self._n_choices)))], axis=1)
        share = np.append(np.full(len(self._centers), 0.5 / len(self._centers)), 0.5)
        return np.asarray(logsumexp(log_numeric + log_choices, axis=1, b=share), dtype=np.float64)


def _cdf(z: Array) -> Array:
    return np.asarray(ndtr(z), dtype=np.float64)

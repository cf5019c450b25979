"""Draws of Gaussian processes that can be evaluated anywhere, with their slopes."""

import math
from collections.abc import Sequence

import numpy as np

from regretstop.model import Kernel, Matern52


class FourierDraws:
    """Independent draws of unit prior deviation by random Fourier features (Rahimi & Recht 2007).

        f(x) = Σ_i (a_i cos ω_i·x + b_i sin ω_i·x) / √M,   a, b ~ N(0, 1)

    ω is normal for the squared exponential and Student-t with 5 degrees of freedom for Matérn-5/2. Given the
    frequencies a draw is exactly Gaussian, with a kernel that is an average of M cosines.
    """

    def __init__(
        self,
        kernel: type[Kernel],
        lengthscales: Sequence[float],
        n_draws: int,
        rng: np.random.Generator,
        n_features: int = 1024,
    ) -> None:
        frequencies = rng.standard_normal((n_features, len(lengthscales)))
        if kernel is Matern52:
            frequencies /= np.sqrt(rng.chisquare(5.0, n_features) / 5.0)[:, None]
        self._frequencies = frequencies / np.array(lengthscales)
        self._cosines, self._sines = rng.standard_normal((2, n_features, n_draws)) / math.sqrt(n_features)

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return f at points of shape (m, d), shape (m, n_draws)."""
        angles = points @ self._frequencies.T
        return np.cos(angles) @ self._cosines + np.sin(angles) @ self._sines

    def slopes(self, points: np.ndarray, axis: int) -> np.ndarray:
        """Return ∂f/∂x_axis at points of shape (m, d), shape (m, n_draws)."""
        angles = points @ self._frequencies.T
        omega = self._frequencies[:, axis]
        return (np.cos(angles) * omega) @ self._sines - (np.sin(angles) * omega) @ self._cosines

    def largest_slopes(self, points: np.ndarray, axis: int, n_steps: int = 20) -> np.ndarray:
        """Return for each draw the largest |∂f/∂x_axis| found in the unit cube, shape (n_draws,).

        The best of the points, climbed from by normalised gradient steps that shrink; less than the supremum, if so
        by little.
        """
        size = np.abs(self.slopes(points, axis))
        best, x = size.max(axis=0), points[size.argmax(axis=0)]
        omega = self._frequencies[:, axis]
        for step in 0.05 * 0.8 ** np.arange(n_steps):
            angles = x @ self._frequencies.T  # a point for each draw: shape (n_draws, M), as the weights transposed
            sines, cosines = np.sin(angles), np.cos(angles)
            slope = np.sum(omega * (cosines * self._sines.T - sines * self._cosines.T), axis=1)
            best = np.maximum(best, np.abs(slope))
            weights = -omega * (sines * self._sines.T + cosines * self._cosines.T) * np.sign(slope)[:, None]
            gradient = weights @ self._frequencies
            gradient /= np.linalg.norm(gradient, axis=1, keepdims=True)
            x = np.clip(x + step * gradient, 0.0, 1.0)
        return best


def cube_grid(dim: int, n: int) -> np.ndarray:
    """Return the points of a grid with n points per axis of the unit cube, borders included; shape (n^d, d)."""
    axis = np.linspace(0.0, 1.0, n)
    return np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1).reshape(-1, dim)


def data_for(categories: np.ndarray, n: int, seed: int = 0, n_repeats: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points, the last n_repeats of them repeats of the first, and noisy values."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, len(categories)))
    for j in np.flatnonzero(categories):
        points[:, j] = rng.integers(categories[j], size=n)
    points[n - n_repeats :] = points[:n_repeats]
    values = np.sin(6.0 * points[:, 0]) + points[:, 1] + 0.2 * rng.standard_normal(n)
    return points, values

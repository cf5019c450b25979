"""The textbook formulas of a Gaussian process, by explicit inverses: slow, and written without a look at ours."""

import math

import numpy as np

Array = np.ndarray


def matern52(r2: Array) -> Array:
    r = np.sqrt(r2)
    return (1.0 + math.sqrt(5.0) * r + 5.0 * r2 / 3.0) * np.exp(-math.sqrt(5.0) * r)


def squared_exponential(r2: Array) -> Array:
    return np.exp(-r2 / 2.0)


def covariance(
    one: Array, other: Array, correlation, lengthscales: Array, categories: Array, prior_std: float
) -> Array:
    """Return k(x, x'), shape (n, m); a categorical axis is a distance of 1 where the categories differ."""
    r2 = np.zeros((len(one), len(other)))
    for j, lengthscale in enumerate(lengthscales):
        difference = one[:, None, j] - other[None, :, j]
        r2 += ((difference != 0.0) if categories[j] else difference) ** 2 / lengthscale**2
    return prior_std**2 * correlation(r2)


def posterior(
    points: Array,
    values: Array,
    queries: Array,
    *,
    correlation,
    lengthscales: Array,
    categories: Array | None = None,
    prior_std: float = 1.0,
    noise_std: float = 0.0,
    mean: float | None = 0.0,
) -> tuple[Array, Array]:
    """Return mean and deviation, shape (m,); with mean None the constant mean has a flat prior (R&W eq. 2.41–2.42)."""
    categories = np.zeros(len(lengthscales), int) if categories is None else categories
    K = covariance(points, points, correlation, lengthscales, categories, prior_std)
    inverse = np.linalg.inv(K + noise_std**2 * np.eye(len(points)))
    cross = covariance(queries, points, correlation, lengthscales, categories, prior_std)
    variance = prior_std**2 - np.sum((cross @ inverse) * cross, axis=1)
    ones = np.ones(len(points))
    if mean is None:
        precision = ones @ inverse @ ones
        mean = float(ones @ inverse @ values / precision)
        variance = variance + (1.0 - cross @ inverse @ ones) ** 2 / precision
    return mean + cross @ inverse @ (values - mean), np.sqrt(np.maximum(variance, 0.0))

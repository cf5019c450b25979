"""Certificates by a count against exact draws of the posterior on a dense grid, whatever ε is asked about."""

import numpy as np
import pytest

from regretstop import GPUCB, Every, Float, GaussianProcess, Matern52, OptimalityGap, Space, SquaredExponential
from tests.oracle import covariance, matern52, squared_exponential

LENGTHSCALE, NOISE_STD, DELTA = 0.15, 0.02, 0.05
CORRELATIONS = {Matern52: matern52, SquaredExponential: squared_exponential}


def drawn(kernel: type, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten points and the values of a draw there, with noise."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(10, 1))
    prior = covariance(points, points, CORRELATIONS[kernel], np.array([LENGTHSCALE]), np.zeros(1, int), 1.0)
    values = np.linalg.cholesky(prior + 1e-10 * np.eye(10)) @ rng.standard_normal(10)
    return points, values + NOISE_STD * rng.standard_normal(10)


def regrets(kernel: type, points: np.ndarray, values: np.ndarray, trial: int) -> np.ndarray:
    """Return the regret of a trial on 4,000 exact draws on 401 points."""
    at = np.vstack([np.linspace(0.0, 1.0, 401)[:, None], points[[trial]]])

    def between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return covariance(one, other, CORRELATIONS[kernel], np.array([LENGTHSCALE]), np.zeros(1, int), 1.0)

    weights = between(at, points) @ np.linalg.inv(between(points, points) + NOISE_STD**2 * np.eye(len(points)))
    size, along = np.linalg.eigh(between(at, at) - weights @ between(points, at))
    noise = np.random.default_rng(1).standard_normal((4000, len(at)))
    paths = weights @ values + noise * np.sqrt(np.maximum(size, 0.0)) @ along.T
    return paths.max(axis=1) - paths[:, -1]


@pytest.mark.parametrize("seed", [0, 4, 6])
@pytest.mark.parametrize("kernel", [Matern52, SquaredExponential])
def test_what_is_left_to_gain_does_not_hang_on_the_level_that_is_asked_about(kernel: type, seed: int) -> None:
    """Far above what may be left, where the probability of more is next to nothing, as well as below it."""
    points, values = drawn(kernel, seed)
    surrogate = GaussianProcess(
        hyperparameters="fixed", kernel=kernel(lengthscales=[LENGTHSCALE], outputscale=1.0), noise_std=NOISE_STD
    )
    optimizer = GPUCB(Space({"x": Float(0, 1)}), direction="maximize", surrogate=surrogate, seed=seed)
    for (x,), value in zip(points.tolist(), values.tolist(), strict=True):
        optimizer.tell({"x": x}, value)
    trial = optimizer.certificate(OptimalityGap(0.1, schedule=Every(1))).incumbent
    assert trial is not None
    exact = regrets(kernel, points, values, trial)
    for factor in (0.3, 1.0, 2.5, 10.0, 40.0):
        certificate = optimizer.certificate(
            OptimalityGap(factor * float(np.quantile(exact, 0.95)), DELTA, schedule=Every(1))
        )
        assert certificate.incumbent == trial
        assert certificate.expected_regret is not None
        # Maxima count more than once where several are left; an estimate of few places is off by a fifth.
        assert 0.7 <= certificate.expected_regret.value / exact.mean() <= 1.6
        assert np.mean(exact > certificate.bound) <= DELTA


def test_the_bound_over_samples_is_no_mere_error_of_the_count() -> None:
    """Where more than δ is left above ε, of two estimates each, their error alone would be the bound."""

    def branin(x: float, y: float) -> float:
        parabola = y - 5.1 / (4.0 * np.pi**2) * x * x + 5.0 / np.pi * x - 6.0
        return float(parabola**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0)

    space = Space({"x": Float(-5, 10), "y": Float(0, 15)})
    rng = np.random.default_rng(0)
    known = [{"x": float(x), "y": float(y)} for x, y in rng.uniform([-5, 0], [10, 15], (22, 2))]
    known += [{"x": 3.14 + 0.2 * i, "y": 2.28 + 0.3 * i} for i in range(-2, 3)]
    optimizer = GPUCB(space, direction="minimize", surrogate=GaussianProcess(hyperparameters="posterior"), seed=0)
    for params in known:
        optimizer.tell(params, branin(**params))

    def bound(epsilon: float) -> float:
        return optimizer.certificate(OptimalityGap(epsilon, DELTA, schedule=Every(1))).bound

    closed = bound(100.0)
    assert closed < 100.0
    assert all(bound(share * closed) < 2.0 * closed for share in (0.05, 0.2, 0.5, 0.9))

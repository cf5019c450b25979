"""Values, slopes and second derivatives of the posterior, against differences of the covariance that it states."""

import itertools

import numpy as np
import pytest

from regretstop.model import Embedding, Kernel, Matern52, SquaredExponential
from regretstop.model._posterior import GaussianProcessPosterior

LENGTHSCALES = np.array([0.3, 0.5, 0.7])
# f, and two axes a step to either side, and both together.
STENCIL = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)]
STEP = 2e-3


def posterior_of(kernel: Kernel, categories: list[int], mean: float | None) -> GaussianProcessPosterior:
    rng = np.random.default_rng(1)
    points = rng.random((8, 3))
    for j, count in enumerate(categories):
        if count:
            points[:, j] = rng.integers(0, count, 8)
    return GaussianProcessPosterior(
        points,
        rng.standard_normal(8),
        np.ones(8),
        kernel=kernel,
        embedding=Embedding(categories),
        lengthscales=LENGTHSCALES,
        prior_std=1.3,
        noise_std=0.05,
        mean=mean,
    )


def differences() -> np.ndarray:
    """Return what turns values at the stencil and at x̂ into (f − f(x̂), slopes, second derivatives), shape (6, 10)."""
    by = np.zeros((6, len(STENCIL) + 1))
    by[0, [0, -1]] = 1.0, -1.0
    by[1, [1, 2]] = 0.5 / STEP, -0.5 / STEP
    by[2, [3, 4]] = 0.5 / STEP, -0.5 / STEP
    by[3, [1, 2, 0]] = np.array([1.0, 1.0, -2.0]) / STEP**2
    by[4, [5, 6, 7, 8]] = np.array([1.0, -1.0, -1.0, 1.0]) / (4.0 * STEP**2)
    by[5, [3, 4, 0]] = np.array([1.0, 1.0, -2.0]) / STEP**2
    return by


@pytest.mark.parametrize("weight", [1.0, 1.7])
@pytest.mark.parametrize("mean", [None, 0.2])
@pytest.mark.parametrize("categories", [[0, 0, 0], [0, 3, 0]])
@pytest.mark.parametrize("kernel", [Matern52(), SquaredExponential()], ids=["Matern52", "SquaredExponential"])
def test_derivatives_vary_together_as_differences_do(
    kernel: Kernel, categories: list[int], mean: float | None, weight: float
) -> None:
    posterior = posterior_of(kernel, categories, mean)
    rng = np.random.default_rng(2)
    points = rng.random((4, 3))
    if categories[1]:
        points[:, 1] = 1
    axes = np.array([[0, 2], [2, 0]] * 2)
    reference = posterior.points[2]
    means, covariances = posterior.jet(points, axes, 2, reference, weight)
    for point, own, jet_mean, jet_covariance in zip(points, axes, means, covariances, strict=True):
        steps = np.zeros((2, 3))
        steps[[0, 1], own] = STEP * LENGTHSCALES[own]
        stencil = np.array([point + i * steps[0] + j * steps[1] for i, j in STENCIL] + [reference])
        by = differences()
        by[0, -1] *= weight
        assert by @ posterior.mean_std(stencil)[0] == pytest.approx(jet_mean, abs=1e-4)
        # The second derivative of a Matérn draw is rough: its differences lack a part that shrinks like the step.
        assert by @ posterior.covariance(stencil) @ by.T == pytest.approx(jet_covariance, abs=0.3)


@pytest.mark.parametrize("kernel", [Matern52(), SquaredExponential()], ids=["Matern52", "SquaredExponential"])
def test_the_slopes_of_a_kernel_are_those_of_its_values(kernel: Kernel) -> None:
    r2, h = np.linspace(0.01, 9.0, 50), 1e-4
    rho, slope, bend = kernel.correlation_and_slopes(r2)
    ahead, back = kernel.correlation(r2 + h), kernel.correlation(r2 - h)
    assert rho == pytest.approx(kernel.correlation(r2))
    assert slope == pytest.approx((ahead - back) / (2.0 * h), rel=1e-5)
    assert bend == pytest.approx((ahead - 2.0 * rho + back) / h**2, rel=1e-3, abs=1e-6)
    assert kernel.correlation_and_slopes(np.zeros(1))[2][0] == pytest.approx(kernel.fourth)


def test_fewer_derivatives_are_part_of_more() -> None:
    posterior = posterior_of(Matern52(), [0, 0, 0], None)
    points, axes = np.random.default_rng(3).random((5, 3)), np.tile([1, 2, 0], (5, 1))
    reference = posterior.points[0]
    mean, covariance = posterior.jet(points, axes, 3, reference)
    for n_axes, n_free in itertools.combinations_with_replacement(range(4), 2):
        n_axes, n_free = max(n_axes, n_free), min(n_axes, n_free)
        first, second = np.triu_indices(3)
        kept = np.r_[0 : 1 + n_axes, 4 + np.flatnonzero((first < n_free) & (second < n_free))]
        fewer_mean, fewer_covariance = posterior.jet(points, axes[:, :n_axes], n_free, reference)
        assert fewer_mean == pytest.approx(mean[:, kept])
        assert fewer_covariance == pytest.approx(covariance[:, kept][:, :, kept])


def test_f_itself_is_that_of_the_joint_posterior() -> None:
    posterior = posterior_of(SquaredExponential(), [0, 0, 0], None)
    points = np.random.default_rng(4).random((5, 3))
    mean, covariance = posterior.jet(points, np.zeros((5, 0), dtype=int), 0, points[0])
    joint = posterior.covariance(points)
    assert mean[:, 0] == pytest.approx(posterior.mean_std(points)[0] - posterior.mean_std(points[:1])[0])
    assert covariance[:, 0, 0] == pytest.approx(joint.diagonal() - 2.0 * joint[0] + joint[0, 0], abs=1e-12)

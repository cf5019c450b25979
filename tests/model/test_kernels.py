"""Kernels: valid covariances, and derivatives that are the derivatives."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.spatial.distance import cdist

from regretstop import Matern52, SquaredExponential
from regretstop.model import Embedding, Kernel
from tests import oracle
from tests.effort import examples

KERNELS: list[type[Kernel]] = [Matern52, SquaredExponential]
CORRELATIONS = {Matern52: oracle.matern52, SquaredExponential: oracle.squared_exponential}

each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def covariance(kernel: type[Kernel], points: np.ndarray, lengthscales: np.ndarray, categories: list[int]) -> np.ndarray:
    embedding = Embedding(categories)
    columns = embedding(points) / lengthscales[embedding.axis]
    return kernel.correlation(cdist(columns, columns, "sqeuclidean"))


def mixed_points(rng: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    """Return points with a numeric axis on each side of two categorical ones."""
    categories = [0, 3, 5, 0]
    columns = [rng.integers(c, size=n) if c else rng.random(n) for c in categories]
    return np.column_stack(columns).astype(float), categories


@each_kernel
def test_correlation_is_the_textbooks(kernel: type[Kernel]) -> None:
    r2 = np.concatenate([[0.0], np.geomspace(1e-12, 1e4, 200)])
    assert kernel.correlation(r2) == pytest.approx(CORRELATIONS[kernel](r2), rel=1e-12)
    rho, _ = kernel.correlation_and_slope(r2)
    assert rho == pytest.approx(kernel.correlation(r2), rel=1e-12)


@each_kernel
def test_correlation_starts_at_one_and_falls(kernel: type[Kernel]) -> None:
    rho = kernel.correlation(np.linspace(0.0, 100.0, 2001))
    assert rho[0] == 1.0
    assert np.all(np.diff(rho) < 0.0)
    assert rho[-1] >= 0.0


@each_kernel
def test_slope_is_the_derivative(kernel: type[Kernel]) -> None:
    r2 = np.geomspace(1e-2, 30.0, 100)
    step = 1e-5 * r2
    numeric = (kernel.correlation(r2 + step) - kernel.correlation(r2 - step)) / (2.0 * step)
    assert kernel.correlation_and_slope(r2)[1] == pytest.approx(numeric, rel=1e-6)
    # At zero distance from the right.
    zero = np.zeros(1)
    one_sided = (kernel.correlation(zero + 1e-8) - 1.0) / 1e-8
    assert kernel.correlation_and_slope(zero)[1] == pytest.approx(one_sided, rel=1e-3)


def along_two_axes(kernel: type[Kernel], x: float, y: float) -> float:
    """Return the covariance of f at (0, 0) and at (x, y), lengthscales one."""
    return float(kernel.correlation(np.array([x * x + y * y]))[0])


@each_kernel
def test_curvature_is_the_variance_of_the_derivative(kernel: type[Kernel]) -> None:
    """Var f'(0) = −k''(0), by a second difference of the kernel."""
    h = 1e-4
    second = (along_two_axes(kernel, h, 0.0) - 1.0) * 2.0 / h**2
    assert kernel.curvature == pytest.approx(-second, rel=1e-3)
    assert kernel.curvature == pytest.approx(-2.0 * float(kernel.correlation_and_slope(np.zeros(1))[1][0]))


@each_kernel
def test_fourth_is_the_variance_of_the_second_derivatives(kernel: type[Kernel]) -> None:
    """Var ∂_j∂_k f = ∂²∂² k(0): 4 ρ''(0) across two axes, three times that along one; by differences of the kernel."""
    h = 2e-3

    def k(i: int, j: int) -> float:
        return along_two_axes(kernel, i * h, j * h)

    along = (2 * k(2, 0) - 8 * k(1, 0) + 6 * k(0, 0)) / h**4
    # The second difference along one axis of the second difference along the other.
    across = (4 * k(1, 1) - 4 * k(1, 0) - 4 * k(0, 1) + 4 * k(0, 0)) / h**4
    # Matérn-5/2 has a fifth derivative that jumps at zero: the difference converges like h only.
    assert along == pytest.approx(12.0 * kernel.fourth, rel=0.02)
    assert across == pytest.approx(4.0 * kernel.fourth, rel=0.02)


@each_kernel
@examples(40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30))
def test_covariances_are_positive_definite(kernel: type[Kernel], seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    points, categories = mixed_points(rng, n)
    K = covariance(kernel, points, 10.0 ** rng.uniform(-1.0, 1.0, 4), categories)
    assert np.all(K == K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * n


@each_kernel
def test_categories_are_a_distance_of_one_lengthscale(kernel: type[Kernel]) -> None:
    rng = np.random.default_rng(0)
    points, categories = mixed_points(rng, 12)
    lengthscales = np.array([0.3, 0.7, 2.0, 0.1])
    expected = oracle.covariance(points, points, CORRELATIONS[kernel], lengthscales, np.array(categories), 1.0)
    assert covariance(kernel, points, lengthscales, categories) == pytest.approx(expected, abs=1e-14)


@each_kernel
def test_the_order_of_the_categories_does_not_matter(kernel: type[Kernel]) -> None:
    rng = np.random.default_rng(1)
    points, categories = mixed_points(rng, 12)
    lengthscales = np.array([0.3, 0.7, 2.0, 0.1])
    renamed = points.copy()
    for j, c in enumerate(categories):
        if c:
            renamed[:, j] = rng.permutation(c)[points[:, j].astype(int)]
    original = covariance(kernel, points, lengthscales, categories)
    assert covariance(kernel, renamed, lengthscales, categories) == pytest.approx(original, abs=1e-14)


def test_numeric_points_are_their_own_columns() -> None:
    points = np.random.default_rng(0).random((5, 3))
    assert Embedding([0, 0, 0])(points) is points


def test_kernels_are_values() -> None:
    assert Matern52(lengthscales=[0.1, 0.2]) == Matern52(lengthscales=np.array([0.1, 0.2]).tolist())
    assert Matern52() != SquaredExponential()
    assert hash(Matern52(lengthscales=[0.1])) == hash(Matern52(lengthscales=(0.1,)))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["lengthscales", "outputscale"])
def test_bad_numbers_are_named(name: str, value: float) -> None:
    arguments: dict[str, Any] = {name: [0.5, value] if name == "lengthscales" else value}
    with pytest.raises(ValueError, match=f"{name} must be positive and finite, got {value!r}"):
        Matern52(**arguments)


@pytest.mark.parametrize("kernel", [Matern52, SquaredExponential])
def test_the_spectral_density_is_the_kernels(kernel: type[Kernel]) -> None:
    """∫ p(ω) cos(ωt) dω = ρ(t²) on a line, by the trapezoidal rule; in more dimensions p integrates to one."""
    omega = np.linspace(-400.0, 400.0, 400_001)
    density = np.exp(kernel.log_spectral_density(omega**2, 1))
    for t in (0.0, 0.3, 1.0, 2.5):
        expected = float(kernel.correlation(np.array(t * t)))
        assert trapezoid(density * np.cos(omega * t), omega) == pytest.approx(expected, abs=1e-6)
    radius = np.linspace(0.0, 400.0, 400_001)
    shell = np.exp(kernel.log_spectral_density(radius**2, 3)) * 4.0 * np.pi * radius**2
    assert trapezoid(shell, radius) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("kernel", [Matern52, SquaredExponential])
def test_frequencies_have_the_kernel_as_their_characteristic_function(kernel: type[Kernel]) -> None:
    """An average of 100 000 cosines, each of variance at most one."""
    frequencies = kernel.frequencies(100_000, 3, np.random.default_rng(0))
    for delta in (np.array([0.2, -0.1, 0.0]), np.array([0.5, 1.0, -0.7])):
        expected = float(kernel.correlation(np.array(delta @ delta)))
        assert np.mean(np.cos(frequencies @ delta)) == pytest.approx(expected, abs=5.0 / np.sqrt(100_000))

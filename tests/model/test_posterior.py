"""The posterior against the textbook formulas, its gradients, and what numerics must not do to it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import Matern52, SquaredExponential
from regretstop.model import Embedding, Kernel, Revisable, merge_duplicates, take_back, variance_floor
from regretstop.model._linalg import cholesky
from regretstop.model._posterior import GaussianProcessPosterior
from tests import oracle
from tests.effort import examples

CORRELATIONS = {Matern52: oracle.matern52, SquaredExponential: oracle.squared_exponential}
KERNELS: list[type[Kernel]] = [Matern52, SquaredExponential]
CATEGORIES = np.array([0, 3, 0])
LENGTHSCALES = np.array([0.3, 1.5, 0.8])
PRIOR_STD, NOISE_STD = 1.7, 0.2

each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_mean = pytest.mark.parametrize("mean", [0.0, 0.4, None])


def mixed_data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.random((n, 3))
    points[:, 1] = rng.integers(3, size=n)
    return points, np.sin(5.0 * points[:, 0]) + 0.5 * points[:, 1] + 0.1 * rng.standard_normal(n)


def process(
    points: np.ndarray,
    values: np.ndarray,
    *,
    kernel: type[Kernel] = Matern52,
    repeats: np.ndarray | None = None,
    mean: float | None = 0.0,
    noise_std: float = NOISE_STD,
    prior_std: float = PRIOR_STD,
    lengthscales: np.ndarray = LENGTHSCALES,
    categories: np.ndarray = CATEGORIES,
) -> GaussianProcessPosterior:
    return GaussianProcessPosterior(
        points,
        values,
        np.ones(len(values)) if repeats is None else repeats,
        kernel=kernel(),
        embedding=Embedding(categories),
        lengthscales=lengthscales,
        prior_std=prior_std,
        noise_std=noise_std,
        mean=mean,
    )


# ---- The textbook ------------------------------------------------------------------------------------------------


@each_kernel
@each_mean
def test_mean_and_deviation_are_the_textbooks(kernel: type[Kernel], mean: float | None) -> None:
    points, values = mixed_data(12)
    queries = np.vstack([mixed_data(20, seed=1)[0], points])
    expected = oracle.posterior(
        points,
        values,
        queries,
        correlation=CORRELATIONS[kernel],
        lengthscales=LENGTHSCALES,
        categories=CATEGORIES,
        prior_std=PRIOR_STD,
        noise_std=NOISE_STD,
        mean=mean,
    )
    ours = process(points, values, kernel=kernel, mean=mean).mean_std(queries)
    assert ours[0] == pytest.approx(expected[0], abs=1e-10)
    assert ours[1] == pytest.approx(expected[1], abs=1e-10)


def test_one_observation_by_hand() -> None:
    """μ = m + ρ w (y − m), σ² = s² (1 − ρ² w) with w = s² / (s² + σ²)."""
    y, m, distance, lengthscale = 1.2, 0.3, 0.25, 0.5
    ours = process(
        np.array([[0.5]]),
        np.array([y]),
        mean=m,
        lengthscales=np.array([lengthscale]),
        categories=np.array([0]),
        kernel=SquaredExponential,
    )
    rho = math.exp(-0.5 * (distance / lengthscale) ** 2)
    w = PRIOR_STD**2 / (PRIOR_STD**2 + NOISE_STD**2)
    mean, std = ours.mean_std(np.array([[0.5 + distance]]))
    assert mean[0] == pytest.approx(m + rho * w * (y - m), rel=1e-14)
    assert std[0] == pytest.approx(PRIOR_STD * math.sqrt(1.0 - rho**2 * w), rel=1e-14)


@each_kernel
def test_an_unknown_mean_is_a_constant_of_huge_variance(kernel: type[Kernel]) -> None:
    """k + 10⁶ in place of k, and a known mean of zero: the limit of which is the flat prior."""
    points, values = mixed_data(10)
    queries = mixed_data(15, seed=1)[0]
    numbers: Any = (CORRELATIONS[kernel], LENGTHSCALES, CATEGORIES, PRIOR_STD)
    K = oracle.covariance(points, points, *numbers) + 1e6 + NOISE_STD**2 * np.eye(len(points))
    cross = oracle.covariance(queries, points, *numbers) + 1e6
    mean = cross @ np.linalg.solve(K, values)
    variance = PRIOR_STD**2 + 1e6 - np.sum(cross * np.linalg.solve(K, cross.T).T, axis=1)
    ours = process(points, values, kernel=kernel, mean=None).mean_std(queries)
    assert ours[0] == pytest.approx(mean, abs=1e-4)
    assert ours[1] ** 2 == pytest.approx(variance, abs=1e-4)


def test_an_unknown_mean_costs_certainty() -> None:
    points, values = mixed_data(6)
    queries = mixed_data(30, seed=1)[0]
    known, unknown = (process(points, values, mean=m).mean_std(queries)[1] for m in (0.0, None))
    assert np.all(unknown >= known)


# ---- Gradients ---------------------------------------------------------------------------------------------------


@each_kernel
@each_mean
def test_gradients_are_finite_differences(kernel: type[Kernel], mean: float | None) -> None:
    points, values = mixed_data(9)
    posterior = process(points, values, kernel=kernel, mean=mean)
    queries = mixed_data(25, seed=2)[0]
    ours = posterior.mean_std_gradient(queries)
    assert ours[0] == pytest.approx(posterior.mean_std(queries)[0], abs=1e-13)
    assert ours[1] == pytest.approx(posterior.mean_std(queries)[1], abs=1e-13)
    step = 1e-6
    for j in range(3):
        if CATEGORIES[j]:
            assert np.all(ours[2][:, j] == 0.0)
            assert np.all(ours[3][:, j] == 0.0)
            continue
        moved = step * np.eye(3)[j]
        above, below = posterior.mean_std(queries + moved), posterior.mean_std(queries - moved)
        assert ours[2][:, j] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
        assert ours[3][:, j] == pytest.approx((above[1] - below[1]) / (2 * step), abs=1e-6)


@each_kernel
def test_gradients_at_the_data_are_finite(kernel: type[Kernel]) -> None:
    points, values = mixed_data(9)
    for part in process(points, values, kernel=kernel, noise_std=0.0).mean_std_gradient(points):
        assert np.all(np.isfinite(part))


# ---- Duplicates --------------------------------------------------------------------------------------------------


@each_mean
@examples(30)
@given(seed=st.integers(0, 2**32 - 1))
def test_merged_duplicates_are_the_same_data(mean: float | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distinct, _ = mixed_data(6, seed)
    points = distinct[rng.integers(6, size=15)]
    values = rng.standard_normal(15)
    merged, means, repeats, within = merge_duplicates(points, values, np.ones(15))
    assert len(np.unique(merged, axis=0)) == len(merged)
    assert np.sum(repeats) == 15
    assert repeats @ means == pytest.approx(np.sum(values))
    assert within == pytest.approx(np.sum(values**2) - repeats @ means**2, abs=1e-9)
    queries = mixed_data(10, seed + 1)[0]
    ours = process(merged, means, repeats=repeats, mean=mean).mean_std(queries)
    unmerged = oracle.posterior(
        points,
        values,
        queries,
        correlation=oracle.matern52,
        lengthscales=LENGTHSCALES,
        categories=CATEGORIES,
        prior_std=PRIOR_STD,
        noise_std=NOISE_STD,
        mean=mean,
    )
    assert ours[0] == pytest.approx(unmerged[0], abs=1e-8)
    assert ours[1] == pytest.approx(unmerged[1], abs=1e-8)


def test_merging_keeps_the_order_of_first_appearance() -> None:
    points = np.array([[0.9], [0.1], [0.9], [0.5]])
    merged, means, repeats, within = merge_duplicates(points, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4))
    assert merged.ravel().tolist() == [0.9, 0.1, 0.5]
    assert means.tolist() == [2.0, 2.0, 4.0]
    assert repeats.tolist() == [2.0, 1.0, 1.0]
    assert within == pytest.approx(2.0)


def test_merging_merged_points_weighs_by_repeats() -> None:
    points = np.array([[0.5], [0.5]])
    _, means, repeats, within = merge_duplicates(points, np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    assert means.tolist() == [2.0]
    assert repeats.tolist() == [3.0]
    assert within == pytest.approx(2 * 1.0 + 1 * 4.0)


def test_nothing_to_merge() -> None:
    points, values = mixed_data(5)
    assert merge_duplicates(points, values, np.ones(5))[0] is points


# ---- Numerics ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log_noise", [-3.0, -1.0, 0.5])
def test_the_floor_is_what_all_observations_at_one_point_leave(log_noise: float) -> None:
    """n of noise σ: s² σ² / (n s² + σ²), by hand and by the posterior itself; and more is left of points apart."""
    noise_std, repeats = 10.0**log_noise, np.array([3.0, 2.0, 1.0])
    by_hand = (PRIOR_STD * noise_std) ** 2 / (6.0 * PRIOR_STD**2 + noise_std**2)
    assert variance_floor(PRIOR_STD, noise_std**2 / repeats) == pytest.approx(by_hand, rel=1e-12)
    at_one_point = process(np.zeros((1, 3)), np.ones(1), repeats=np.array([6.0]), noise_std=noise_std)
    assert at_one_point.mean_std(np.zeros((1, 3)))[1][0] ** 2 == pytest.approx(by_hand, rel=1e-9)
    points, values = mixed_data(3)
    assert np.all(process(points, values, repeats=repeats, noise_std=noise_std).mean_std(points)[1] ** 2 > by_hand)
    assert variance_floor(PRIOR_STD, np.array([0.0, 1.0])) == 0.0


def test_jitter_is_reported() -> None:
    clean, values = mixed_data(8)
    assert process(clean, values).jitter == 0.0
    near = np.repeat(clean, 2, axis=0)
    near[1::2, 0] += 1e-12
    posterior = process(near, np.repeat(values, 2), noise_std=0.0)
    assert 0.0 < posterior.jitter <= 1e-4 * PRIOR_STD**2
    # It acts as noise: the deviation at the data is at least of its size.
    assert np.all(posterior.mean_std(near)[1] ** 2 >= 0.1 * posterior.jitter)


def test_noise_free_data_are_interpolated() -> None:
    points, values = mixed_data(8)
    mean, std = process(points, values, noise_std=0.0).mean_std(points)
    assert mean == pytest.approx(values, abs=1e-6)
    assert np.all(std < 1e-3)


def test_cholesky_of_what_is_not_positive_definite() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite even with jitter"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), 1.0)
    factor, inverse, jitter = cholesky(np.ones((3, 3)), 1.0)
    assert jitter > 0.0
    assert factor @ factor.T == pytest.approx(np.ones((3, 3)) + jitter * np.eye(3), abs=1e-12)
    assert factor @ inverse == pytest.approx(np.eye(3), abs=1e-8)
    assert np.all(np.triu(factor, 1) == 0.0)


# ---- Fantasies ---------------------------------------------------------------------------------------------------


@each_mean
def test_conditioning_on_pending_points_keeps_the_mean_and_shrinks_the_deviation(mean: float | None) -> None:
    points, values = mixed_data(10)
    posterior = process(points, values, mean=mean)
    pending = mixed_data(3, seed=5)[0]
    queries = np.vstack([mixed_data(30, seed=1)[0], pending])
    conditioned = posterior.condition_on(pending)
    before, after = posterior.mean_std(queries), conditioned.mean_std(queries)
    assert after[0] == pytest.approx(before[0], abs=1e-9)
    assert np.all(after[1] <= before[1] + 1e-9)
    assert np.all(after[1][-3:] < 0.99 * before[1][-3:])


@each_mean
def test_conditioning_on_values_is_observing_them(mean: float | None) -> None:
    points, values = mixed_data(12)
    conditioned = process(points[:9], values[:9], mean=mean).condition_on(points[9:], values[9:])
    queries = mixed_data(20, seed=1)[0]
    observed = process(points, values, mean=mean).mean_std(queries)
    assert conditioned.mean_std(queries)[0] == pytest.approx(observed[0], abs=1e-10)
    assert conditioned.mean_std(queries)[1] == pytest.approx(observed[1], abs=1e-10)


def test_conditioning_on_a_point_of_the_data_counts_as_one_more_repeat() -> None:
    points, values = mixed_data(10)
    posterior = process(points, values)
    once = posterior.condition_on(points[:1])
    assert len(once.points) == 10
    assert once.repeats.tolist() == [2.0] + [1.0] * 9
    assert once.mean_std(points)[1][0] < posterior.mean_std(points)[1][0]
    assert posterior.repeats.tolist() == [1.0] * 10  # the original is as it was


def test_conditioning_on_nothing() -> None:
    points, values = mixed_data(10)
    posterior = process(points, values)
    assert posterior.condition_on(np.empty((0, 3))) is posterior


# ---- Taking an observation back, and joint moments -------------------------------------------------------------------


@each_mean
def test_taking_an_observation_back_is_not_having_made_it(mean: float | None) -> None:
    points, values = mixed_data(10)
    posterior = process(points, values, mean=mean)
    assert isinstance(posterior, Revisable)
    queries = mixed_data(20, seed=1)[0]
    without = posterior.without(points[9], float(values[9]))
    never = process(points[:9], values[:9], mean=mean)
    for one, other in zip(without.mean_std(queries), never.mean_std(queries), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    assert len(posterior.points) == 10  # the original is as it was


@each_mean
def test_taking_a_repeat_back_leaves_the_others(mean: float | None) -> None:
    points, values = mixed_data(10)
    before = process(points, values, mean=mean)
    again = before.condition_on(points[[3, 3]], np.array([1.7, -0.4]))
    queries = mixed_data(20, seed=1)[0]
    back = again.without(points[3], -0.4).without(points[3], 1.7)
    for one, other in zip(back.mean_std(queries), before.mean_std(queries), strict=True):
        assert one == pytest.approx(other, abs=1e-10)
    assert back.repeats.tolist() == [1.0] * 10


def test_what_was_not_observed_cannot_be_taken_back() -> None:
    points, values = mixed_data(4)
    with pytest.raises(ValueError, match=r"^point must be one of the observed points, got array"):
        take_back(points, values, np.ones(4), points[0] + 0.1, 0.0)


@each_kernel
@each_mean
def test_the_covariance_is_that_of_the_textbook(kernel: type[Kernel], mean: float | None) -> None:
    points, values = mixed_data(10)
    posterior = process(points, values, kernel=kernel, mean=mean)
    queries = np.vstack([mixed_data(6, seed=1)[0], points[:2]])

    def k(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return oracle.covariance(one, other, CORRELATIONS[kernel], LENGTHSCALES, CATEGORIES, PRIOR_STD)

    inverse = np.linalg.inv(k(points, points) + NOISE_STD**2 * np.eye(10))
    cross = k(queries, points)
    expected = k(queries, queries) - cross @ inverse @ cross.T
    if mean is None:
        unexplained = 1.0 - cross @ inverse @ np.ones(10)
        expected += np.outer(unexplained, unexplained) / (np.ones(10) @ inverse @ np.ones(10))
    assert posterior.covariance(queries) == pytest.approx(expected, abs=1e-10)
    assert np.sqrt(np.diag(posterior.covariance(queries))) == pytest.approx(posterior.mean_std(queries)[1], abs=1e-10)

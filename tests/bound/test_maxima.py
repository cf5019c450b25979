"""Counted maxima against draws of the posterior on fine grids, and against quadrature."""

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from regretstop import Categorical, Float, Int, Space
from regretstop.bound import ExpectedMaxima
from regretstop.bound._counts import mean_of_capped, upper_limit
from regretstop.bound._normal_vectors import determinants
from regretstop.model import Embedding, Kernel, Matern52, SquaredExponential
from regretstop.model._posterior import GaussianProcessPosterior

KERNELS = [pytest.param(Matern52(), id="Matern52"), pytest.param(SquaredExponential(), id="SquaredExponential")]
N_DRAWS = 4000


def posterior_on(
    space: Space,
    n: int,
    seed: int,
    *,
    kernel: Kernel,
    lengthscale: float,
    mean: float | None = 0.0,
    noise: float = 3e-3,
) -> GaussianProcessPosterior:
    """Return the posterior given n random points of the space and a draw of the prior there."""
    rng = np.random.default_rng(seed)
    points = space.snap(rng.random((n, space.dim)) * np.maximum(space.categories, 1))
    given = {
        "kernel": kernel,
        "embedding": Embedding(space.categories),
        "lengthscales": np.full(space.dim, lengthscale),
        "prior_std": 1.0,
        "noise_std": noise,
        "mean": mean,
    }
    points = np.unique(points, axis=0)
    n = len(points)
    prior = GaussianProcessPosterior(points[:1], np.zeros(1), np.ones(1), **{**given, "noise_std": 1e4, "mean": 0.0})
    values = np.linalg.cholesky(prior.covariance(points) + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
    return GaussianProcessPosterior(points, values + noise * rng.standard_normal(n), np.ones(n), **given)


def best_of(posterior: GaussianProcessPosterior) -> np.ndarray:
    return posterior.points[np.argsort(-posterior.mean_std(posterior.points)[0])]


def counted(
    posterior: GaussianProcessPosterior, space: Space, level: float, *, seed: int = 0, n: int = 64
) -> np.ndarray:
    best = best_of(posterior)
    maxima = ExpectedMaxima(
        posterior, space, best[0], best[:4], lambda: best[:0], np.random.default_rng(seed), len(posterior.points)
    )
    return maxima.sample([level], n).counts(np.array([level]))[0]


def drawn(posterior: GaussianProcessPosterior, grid: np.ndarray) -> np.ndarray:
    """Return f − f(x̂) on a grid for draws of the posterior, shape (grid, draws)."""
    places = np.vstack([grid, best_of(posterior)[:1]])
    factor = np.linalg.cholesky(posterior.covariance(places) + 1e-9 * np.eye(len(places)))
    noise = np.random.default_rng(9).standard_normal((len(places), N_DRAWS))
    values = posterior.mean_std(places)[0][:, None] + factor @ noise
    return values[:-1] - values[-1]


def square_grid(side: int) -> np.ndarray:
    axis = np.linspace(0.0, 1.0, side)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def maxima_of(values: np.ndarray, level: float) -> float:
    """Return how many grid points of a line or a square, shape (…, draws), are above all neighbours and the level."""
    padded = np.pad(values, [(1, 1)] * (values.ndim - 1) + [(0, 0)], constant_values=-np.inf)
    is_top = values > level
    inner = tuple(slice(1, -1) for _ in range(values.ndim - 1))
    for shift in np.ndindex(*(3,) * (values.ndim - 1)):
        move = np.array(shift) - 1
        if np.any(move):
            is_top &= values >= np.roll(padded, move, axis=tuple(range(values.ndim - 1)))[inner]
    return float(np.mean(np.sum(is_top, axis=tuple(range(values.ndim - 1)))))


@pytest.mark.parametrize("mean", [0.0, None], ids=["known mean", "estimated mean"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_on_a_line_as_many_are_counted_as_draws_have(kernel: Kernel, mean: float | None, seed: int) -> None:
    space = Space({"x": Float(0, 1)})
    posterior = posterior_on(space, 12, seed, kernel=kernel, lengthscale=0.1, mean=mean)
    values = drawn(posterior, np.linspace(0.0, 1.0, 401)[:, None])
    for level in np.quantile(values.max(axis=0), [0.5, 0.9, 0.98]):
        expected = maxima_of(values, level)
        found = counted(posterior, space, float(level))
        error = 4.0 * math.hypot(math.sqrt(expected / N_DRAWS), found.std() / math.sqrt(len(found)))
        assert found.mean() == pytest.approx(expected, rel=0.03, abs=error)
        assert found.mean() >= np.mean(values.max(axis=0) > level) - error


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_on_a_square_as_many_are_counted_as_draws_have(kernel: Kernel, seed: int) -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    posterior = posterior_on(space, 18, seed, kernel=kernel, lengthscale=0.3)
    side = 31
    values = drawn(posterior, square_grid(side))
    for level in np.quantile(values.max(axis=0), [0.5, 0.95]):
        expected = maxima_of(values.reshape(side, side, -1), level)
        found = counted(posterior, space, float(level))
        error = 4.0 * math.hypot(math.sqrt(expected / N_DRAWS), found.std() / math.sqrt(len(found)))
        assert found.mean() == pytest.approx(expected, rel=0.06, abs=error)


def test_where_little_is_left_the_count_is_about_the_probability() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    posterior = posterior_on(space, 25, 3, kernel=Matern52(), lengthscale=0.3)
    best = drawn(posterior, square_grid(31)).max(axis=0)
    level = float(np.quantile(best, 0.95))
    found = counted(posterior, space, level).mean()
    assert 0.04 < found < 0.075  # of a probability of 0.05, of which 4,000 draws have a deviation of 0.0035


def test_on_a_line_the_count_is_the_integral() -> None:
    """Two normal variables and their derivative: by quadrature, without a draw."""
    space = Space({"x": Float(0, 1)})
    posterior = posterior_on(space, 8, 5, kernel=Matern52(), lengthscale=0.15)
    level = 0.5
    best = best_of(posterior)[0]
    grid = (np.arange(1000) + 0.5)[:, None] / 1000.0
    axes = np.zeros((len(grid), 1), dtype=int)
    mean, covariance = posterior.jet(grid, axes, 1, best)
    heights = np.linspace(level, level + 8.0, 2001)
    total = 0.0
    for m, c in zip(mean, covariance, strict=True):
        # f − f(x̂) and f'' given f' = 0, then f'' given both
        gain = c[[0, 2], 1] / c[1, 1]
        given = m[[0, 2]] - gain * m[1]
        left = c[np.ix_([0, 2], [0, 2])] - np.outer(gain, c[1, [0, 2]])
        std = math.sqrt(left[0, 0])
        bend_mean = given[1] + left[0, 1] / left[0, 0] * (heights - given[0])
        bend_std = math.sqrt(left[1, 1] - left[0, 1] ** 2 / left[0, 0])
        z = bend_mean / bend_std
        falling = bend_std * (norm.pdf(z) - z * norm.cdf(-z))  # E|f''| where f'' < 0
        weights = norm.pdf(heights, given[0], std) * falling
        total += norm.pdf(0.0, m[1], math.sqrt(c[1, 1])) * trapezoid(weights, heights)
    inside = total / len(grid) / 0.15
    ends, (end_mean, end_covariance) = (
        0.0,
        posterior.jet(np.array([[0.0], [1.0]]), np.zeros((2, 1), dtype=int), 0, best),
    )
    for m, c, sign in zip(end_mean, end_covariance, (-1.0, 1.0), strict=True):
        z = (heights - m[0]) / math.sqrt(c[0, 0])
        slope_mean = sign * (m[1] + c[0, 1] / c[0, 0] * (heights - m[0]))
        slope_std = math.sqrt(c[1, 1] - c[0, 1] ** 2 / c[0, 0])
        outward = norm.cdf(slope_mean / slope_std)
        ends += trapezoid(norm.pdf(z) / math.sqrt(c[0, 0]) * outward, heights)
    found = counted(posterior, space, level, n=256)
    assert found.mean() == pytest.approx(inside + ends, abs=4.0 * found.std() / 16.0, rel=0.02)


def test_categories_are_summed_over() -> None:
    space = Space({"c": Categorical(["a", "b", "c"]), "x": Float(0, 1)})
    posterior = posterior_on(space, 20, 1, kernel=Matern52(), lengthscale=0.3)
    grid = np.array([[c, x] for c in range(3) for x in np.linspace(0.0, 1.0, 201)])
    values = drawn(posterior, grid)
    level = float(np.quantile(values.max(axis=0), 0.8))
    expected = sum(maxima_of(values[grid[:, 0] == c], level) for c in range(3))
    found = counted(posterior, space, level)
    assert found.mean() == pytest.approx(expected, rel=0.08, abs=4.0 * found.std() / 8.0)


def test_choices_alone_are_counted_one_by_one() -> None:
    space = Space({"c": Categorical(list(range(4))), "d": Categorical(list(range(3)))})
    posterior = posterior_on(space, 8, 1, kernel=Matern52(), lengthscale=1.0, noise=0.1)
    mean, covariance = posterior.jet(space.enumerate(), np.zeros((12, 0), dtype=int), 0, best_of(posterior)[0])
    level = 0.2
    std = np.sqrt(np.maximum(covariance[:, 0, 0], 1e-300))
    assert counted(posterior, space, level).mean() == pytest.approx(norm.sf((level - mean[:, 0]) / std).sum(), rel=0.02)


def test_a_discrete_axis_is_never_counted_for_less_than_its_values() -> None:
    space = Space({"n": Int(1, 6), "x": Float(0, 1)})
    posterior = posterior_on(space, 15, 2, kernel=Matern52(), lengthscale=0.4)
    grid = np.array([[n, x] for n in space.axis_values(0) for x in np.linspace(0.0, 1.0, 101)])
    best = drawn(posterior, grid).max(axis=0)
    for share in (0.5, 0.9):
        level = float(np.quantile(best, share))
        assert counted(posterior, space, level).mean() > (1.0 - share) - 0.02


@pytest.mark.parametrize("dim", [1, 3, 6, 10])
def test_in_many_dimensions_and_with_points_close_together(dim: int) -> None:
    space = Space({f"x{j}": Float(0, 1) for j in range(dim)})
    rng = np.random.default_rng(dim)
    points = np.clip(0.5 + 1e-5 * rng.standard_normal((12, dim)), 0.0, 1.0)
    posterior = GaussianProcessPosterior(
        points,
        rng.standard_normal(12) * 1e-6,
        np.ones(12),
        kernel=SquaredExponential(),
        embedding=Embedding(space.categories),
        lengthscales=np.full(dim, 0.5),
        prior_std=1.0,
        noise_std=0.0,
        mean=0.0,
    )
    counts = counted(posterior, space, 1.0, n=8)
    assert np.all(np.isfinite(counts))
    assert np.all(counts >= 0.0)
    assert counts.mean() > 0.02  # what is far from the points is as open as before


def test_the_upper_limit_is_exceeded_as_seldom_as_it_says() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    posterior = posterior_on(space, 20, 0, kernel=Matern52(), lengthscale=0.25)
    level = 1.0
    truth = counted(posterior, space, level, n=1024).mean()
    limits = [upper_limit(counted(posterior, space, level, seed=1 + s, n=8)[None], math.log(0.1)) for s in range(120)]
    below = np.mean(np.array(limits) < truth)
    assert 0.03 < below < 0.17  # a binomial of 120 and 0.1 has a deviation of 0.027


@pytest.mark.parametrize("known", [0.01, 0.04, 0.6])
def test_what_is_known_raises_a_count_and_leaves_its_error(known: float) -> None:
    """Were each replicate raised by itself, those that differ by much would seem to agree."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    posterior = posterior_on(space, 20, 0, kernel=Matern52(), lengthscale=0.25)
    best = best_of(posterior)
    maxima = ExpectedMaxima(
        posterior, space, best[0], best[:4], lambda: best[:0], np.random.default_rng(0), len(posterior.points)
    )
    sampled, levels = maxima.sample([1.5], 8), np.array([1.5, 1.8])
    before = sampled.counts(levels)
    sampled._at_hills = np.array([1.5 - norm.isf(known)]), np.array([1.0])
    after = sampled.counts(levels)
    floors = norm.sf(levels - 1.5 + norm.isf(known))
    np.testing.assert_allclose(after.mean(axis=1), np.maximum(before.mean(axis=1), floors))
    np.testing.assert_allclose(after.std(axis=1), before.std(axis=1))
    assert before.std(axis=1).min() > 0.0
    for one, other in zip(before, after, strict=True):
        assert upper_limit(other[None], math.log(1e-4)) >= upper_limit(one[None], math.log(1e-4))


def test_the_upper_limit_of_a_mean_over_posteriors() -> None:
    """From two replicates of each, their errors together; where much is left under one of them it counts as 1."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    posteriors = [posterior_on(space, 20, 0, kernel=Matern52(), lengthscale=ell) for ell in (0.08, 0.2, 0.25, 0.3)]
    level = 0.7
    truths = [counted(posterior, space, level, n=512).mean() for posterior in posteriors]
    assert truths[0] > 1.8  # the others are to be averaged with a 1
    assert max(truths[1:]) < 0.7
    truth = (1.0 + sum(truths[1:])) / 4.0
    limits = [
        upper_limit(
            np.array([counted(posterior, space, level, seed=1 + s, n=2) for posterior in posteriors]), math.log(0.1)
        )
        for s in range(120)
    ]
    below = np.mean(np.array(limits) < truth)
    assert 0.03 < below < 0.17


def test_what_is_left_for_certain_counts_as_one_without_an_error() -> None:
    mean, error, freedom = mean_of_capped(np.array([[3.0, 5.0], [0.1, 0.3]]))
    assert mean == pytest.approx((1.0 + 0.2) / 2.0)
    assert error == pytest.approx(0.1 / 2.0)  # the deviation of two that are 0.2 apart is 0.14, of their mean 0.1
    assert freedom == pytest.approx(1.0)
    assert upper_limit(np.array([[3.0, 5.0]]), math.log(0.01)) == 1.0
    assert upper_limit(np.zeros((1, 8)), math.log(0.01)) == 0.0


def test_determinants_are_those_of_lapack() -> None:
    rng = np.random.default_rng(0)
    halves = rng.standard_normal((50, 4, 4))
    matrices = halves + halves.transpose(0, 2, 1) + 4.0 * np.eye(4)
    size, is_positive = determinants(matrices)
    assert np.array_equal(is_positive, np.linalg.eigvalsh(matrices)[:, 0] > 0.0)
    assert 5 < is_positive.sum() < 45
    assert size == pytest.approx(np.abs(np.linalg.det(matrices)))


@pytest.mark.parametrize("dim", [8, 15, 20])
def test_what_too_few_draws_would_miss_counts_as_left(dim: int) -> None:
    """At a low level hardly any draw of so many second derivatives has a maximum, but there is no end of them."""
    space = Space({f"x{j}": Float(0, 1) for j in range(dim)})
    posterior = posterior_on(space, 30, 0, kernel=Matern52(), lengthscale=0.6)
    assert counted(posterior, space, 0.05, n=8).mean() > 1.0


def test_choices_of_which_hardly_any_matter_are_not_missed() -> None:
    """Of 8,000 settings those that are like the best one hold nearly all that is left: against the exact sum."""
    space = Space({name: Categorical(list(range(20))) for name in "abc"})
    rng = np.random.default_rng(1)
    points = rng.integers(0, 20, (150, 3)).astype(float)
    points[0] = 1, 2, 3
    points = np.unique(points, axis=0)
    posterior = GaussianProcessPosterior(
        points,
        (points == [1, 2, 3]) @ np.array([2.0, 1.0, 1.0]) - 1.0,
        np.ones(len(points)),
        kernel=Matern52(),
        embedding=Embedding(space.categories),
        lengthscales=np.full(3, 1.5),
        prior_std=1.0,
        noise_std=0.3,
        mean=0.0,
    )
    best = best_of(posterior)
    mean, covariance = posterior.jet(space.enumerate(), np.zeros((8000, 0), dtype=int), 0, best[0])
    std = np.sqrt(np.maximum(covariance[:, 0, 0], 1e-10))
    level = next(b for b in np.geomspace(1e-3, 8.0, 400) if norm.sf((b - mean[:, 0]) / std).sum() < 0.05)
    assert level > 0.01
    exact = norm.sf((level - mean[:, 0]) / std).sum()
    for seed in range(5):
        assert counted(posterior, space, level, seed=seed, n=8).mean() == pytest.approx(exact, rel=0.25)

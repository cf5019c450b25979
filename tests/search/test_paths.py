"""Posterior paths against the textbook formulas, and their maxima against dense grids."""

import math
from typing import Any

import numpy as np
import pytest

from regretstop import GPUCB, Categorical, Float, GaussianProcess, Int, Matern52, Space, SquaredExponential
from regretstop.model import HasPaths, Kernel
from regretstop.model._posterior import GaussianProcessPosterior
from regretstop.search import Maximizer, maximize_paths
from regretstop.search._path_maxima import PathMaxima
from tests.histories import SPACES, History, declared, estimated, random_history, random_points
from tests.oracle import covariance, matern52, squared_exponential

KERNELS: dict[type[Kernel], Any] = {Matern52: matern52, SquaredExponential: squared_exponential}
N_SETS, N_EACH = 64, 64
N_DRAWS = N_SETS * N_EACH


def posterior_of(optimizer: GPUCB) -> GaussianProcessPosterior:
    posterior = optimizer.snapshot().model.posteriors[0]
    assert isinstance(posterior, GaussianProcessPosterior)
    return posterior


def repeated(history: History) -> History:
    """Return the history with its first point evaluated three times in all."""
    first = history.values[0]
    return History(
        history.space,
        [*history.params, history.params[0], history.params[0]],
        [*history.values, first + 0.2, first - 0.1],
    )


def joint(
    posterior: GaussianProcessPosterior, queries: np.ndarray, correlation: Any, categories: np.ndarray, known: bool
) -> Any:
    """Return the exact mean and covariance at the queries (R&W eq. 2.41–2.42) by explicit inverses."""
    s, ell = posterior.prior_std, posterior.lengthscales

    def k(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return covariance(one, other, correlation, ell, categories, s)

    noise = posterior.noise_std**2 / posterior.repeats + posterior.jitter
    inverse = np.linalg.inv(k(posterior.points, posterior.points) + np.diag(noise))
    cross = k(queries, posterior.points)
    cov = k(queries, queries) - cross @ inverse @ cross.T
    mean = posterior.mean
    if not known:
        ones = np.ones(len(noise))
        precision = ones @ inverse @ ones
        mean = ones @ inverse @ posterior.values / precision
        rest = 1.0 - cross @ inverse @ ones
        cov = cov + np.outer(rest, rest) / precision
    return mean + cross @ inverse @ (posterior.values - mean), cov


@pytest.mark.parametrize("treatment", ["fixed", "map"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["a square", "a line and categories", "a table"])
def test_moments(name: str, kernel: type[Kernel], treatment: str) -> None:
    """Mean and covariance of 4096 paths, 64 for each of 64 sets of frequencies.

    Standard errors: of a mean σ/√4096; of a covariance σσ'√(2/4096) from the draws, and from the frequencies at most
    σσ'·0.4/√64, for a set whose variances are off by 40 %.
    """
    space = SPACES[name]
    history = repeated(random_history(space, 8, seed=1))
    options = declared(space, kernel=kernel, mean=0.7) if treatment == "fixed" else estimated(kernel=kernel())
    posterior = posterior_of(history.told(**options))
    rng = np.random.default_rng(0)
    queries = random_points(space, 6, rng)
    draws = np.hstack([posterior.paths(N_EACH, rng).values(queries) for _ in range(N_SETS)])
    mean, cov = joint(posterior, queries, KERNELS[kernel], space.categories, known=treatment == "fixed")
    std = np.sqrt(np.diag(cov))
    np.testing.assert_array_less(np.abs(draws.mean(axis=1) - mean), 5.0 * std / math.sqrt(N_DRAWS))
    error = 5.0 * math.hypot(math.sqrt(2.0 / N_DRAWS), 0.4 / math.sqrt(N_SETS))
    np.testing.assert_array_less(np.abs(np.cov(draws) - cov), error * np.outer(std, std))


@pytest.mark.parametrize("kernel", KERNELS)
def test_deviations_where_almost_everything_is_known(kernel: type[Kernel]) -> None:
    """A hundred observations of a smooth draw leave a few thousandths of the prior deviation, at high frequencies.

    Frequencies drawn plainly from the spectral distribution of Matérn-5/2 give less than half of it here.
    """
    space = Space({f"x{j}": Float(0, 1) for j in range(4)})
    history = random_history(space, 100, seed=0)
    posterior = posterior_of(history.told(**declared(space, kernel=kernel, lengthscale=3.0, noise_std=1e-3)))
    rng = np.random.default_rng(0)
    queries = rng.random((100, 4))
    mean, std = posterior.mean_std(queries)
    assert np.median(std) < 6e-3
    draws = np.hstack([posterior.paths(N_EACH, rng).values(queries) for _ in range(16)])
    ratios = np.sqrt(np.mean((draws - mean[:, None]) ** 2, axis=1)) / std
    assert 0.9 < np.median(ratios) < 1.1
    assert 0.75 < np.min(ratios) < np.max(ratios) < 1.35


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_noise_free_data_are_interpolated(kernel: type[Kernel], known: bool) -> None:
    space = SPACES["a square"]
    history = random_history(space, 9, seed=3)
    options = declared(space, kernel=kernel, noise_std=0.0) if known else estimated(kernel=kernel(), noise_std=0.0)
    posterior = posterior_of(history.told(**options))
    values = posterior.paths(20, np.random.default_rng(0)).values(posterior.points)
    np.testing.assert_allclose(values, np.repeat(posterior.values[:, None], 20, axis=1), atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_path_is_one_function_whose_gradient_is_its_slope(kernel: type[Kernel]) -> None:
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b", "c"]), "y": Float(0, 1)})
    posterior = posterior_of(random_history(space, 10, seed=2).told(surrogate=GaussianProcess(kernel=kernel())))
    rng = np.random.default_rng(0)
    paths = posterior.paths(5, rng)
    points, which = random_points(space, 30, rng), rng.integers(5, size=30)
    values, gradients = paths.value_gradient(points, which)
    assert len(paths) == 5
    np.testing.assert_allclose(values, paths.values(points)[np.arange(30), which], rtol=1e-9, atol=1e-9)
    for axis in (0, 2):
        step = np.zeros(3)
        step[axis] = 1e-5
        above, below = (paths.value_gradient(points + s, which)[0] for s in (step, -step))
        # The curvature of the highest frequencies limits what a difference can show.
        np.testing.assert_allclose(gradients[:, axis], (above - below) / 2e-5, rtol=1e-3, atol=1e-3)
    assert not np.any(gradients[:, 1])


def test_paths_are_determined_by_the_seed() -> None:
    posterior = posterior_of(random_history(SPACES["a square"], 8, seed=0).told())
    queries = np.random.default_rng(0).random((4, 2))
    one, same, other = (posterior.paths(3, np.random.default_rng(seed)).values(queries) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.any(one == other)
    assert isinstance(posterior, HasPaths)


# ---- Maxima ------------------------------------------------------------------------------------------------------


def maxima_of(space: Space, history: History, n: int = 40, **options: Any) -> Any:
    """Return paths and their maxima, with the first observation as anchor."""
    snapshot = history.told(**declared(space, **options)).snapshot()
    posterior, search = snapshot.model.posteriors[0], snapshot.model.maximizers[0]
    assert isinstance(posterior, GaussianProcessPosterior)
    rng = np.random.default_rng(0)
    paths = posterior.paths(n, rng)
    maxima = maximize_paths(paths, search, snapshot.data.points[:1], rng, n_starts=3, tolerance=1e-6)
    np.testing.assert_allclose(maxima.at_anchors, paths.values(snapshot.data.points[:1]))
    own = paths.value_gradient(maxima.points, np.arange(n))[0]
    np.testing.assert_allclose(maxima.values, own, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(space.snap(maxima.points), maxima.points)
    return paths, maxima


def test_a_finite_space_is_enumerated() -> None:
    space = SPACES["integers and categories"]
    paths, maxima = maxima_of(space, random_history(space, 6, seed=0))
    assert maxima.how == "enumerated"
    np.testing.assert_allclose(maxima.values, np.max(paths.values(space.enumerate()), axis=0))


@pytest.mark.parametrize("name", ["a line", "a square", "a line and categories"])
def test_maxima_over_a_continuous_space(name: str) -> None:
    """Never below the best point of a grid by more than a hundredth, for nearly every path."""
    space = SPACES[name]
    paths, maxima = maxima_of(space, random_history(space, 8, seed=0), lengthscale=0.2)
    fine = np.linspace(0.0, 1.0, 4001 if space.dim == 1 else 101)
    axes = [np.arange(c) if c else fine for c in space.categories]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, space.dim)
    shortfall = np.max(paths.values(grid), axis=0) - maxima.values
    assert maxima.how == "searched"
    assert np.mean(shortfall < 0.01) >= 0.95
    assert np.max(shortfall) < 0.2


def test_maxima_over_a_lattice_too_large_to_enumerate() -> None:
    space = Space({"n": Int(0, 119), "m": Int(0, 99)})
    paths, maxima = maxima_of(space, random_history(space, 8, seed=0), lengthscale=0.3)
    shortfall = np.max(paths.values(space.enumerate()), axis=0) - maxima.values
    assert np.all(shortfall >= -1e-9)
    assert np.mean(shortfall < 1e-2) >= 0.95


def test_paths_after_one_that_is_good_enough_are_left_alone() -> None:
    space = SPACES["a square"]
    history = random_history(space, 8, seed=0)
    snapshot = history.told(**declared(space)).snapshot()
    n = 20

    def maximized(**options: float) -> PathMaxima:
        rng = np.random.default_rng(0)
        paths = posterior_of(history.told(**declared(space))).paths(n, rng)
        options = {"tolerance": 1e-6, **options}
        return maximize_paths(paths, snapshot.model.maximizers[0], snapshot.data.points[:1], rng, n_starts=2, **options)

    all_climbed, none_climbed = maximized(), maximized(tolerance=math.inf)  # no climb promises so much
    leads = none_climbed.values - none_climbed.at_anchors[0]
    good = float(np.sort(leads)[-4])
    first = int(np.argmax(leads > good))
    found = maximized(until=good)
    assert 0 < first < n - 1
    np.testing.assert_allclose(found.values[: first + 1], all_climbed.values[: first + 1])
    np.testing.assert_allclose(found.values[first + 1 :], none_climbed.values[first + 1 :], rtol=1e-12)
    np.testing.assert_allclose(maximized(until=float(np.max(leads))).values, all_climbed.values)


def test_a_path_that_is_far_above_is_climbed_all_the_same() -> None:
    """Its maximum enters a mean: what it is spared, moves along discrete axes, costs it next to nothing."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1), "n": Int(0, 10**6), "c": Categorical(range(9))})
    history = random_history(space, 12, seed=0)
    snapshot = history.told(**declared(space)).snapshot()

    def mean(**options: float) -> float:
        paths = posterior_of(history.told(**declared(space))).paths(64, np.random.default_rng(0))
        maxima = maximize_paths(
            paths,
            snapshot.model.maximizers[0],
            snapshot.data.points[:1],
            np.random.default_rng(0),
            n_starts=1,
            **{"tolerance": 1e-6, **options},
        )
        return float(np.mean(maxima.values - maxima.at_anchors[0]))

    full, spared, candidates = mean(), mean(enough=0.0), mean(tolerance=math.inf, enough=0.0)
    assert candidates < spared <= full + 1e-9
    assert spared == pytest.approx(full, rel=0.05)


def test_many_mixed_axes_are_climbed_in_bounds() -> None:
    axes: dict[str, Any] = {f"x{j}": Float(0, 1) for j in range(10)}
    axes |= {f"n{j}": Int(0, 10**9) for j in range(3)} | {f"c{j}": Categorical(range(50)) for j in range(3)}
    space = Space(axes)
    paths, maxima = maxima_of(space, random_history(space, 30, seed=0), n=8, lengthscale=1.0)
    best = Maximizer(posterior_of(random_history(space, 30, seed=0).told(**declared(space, lengthscale=1.0))), space,
                  np.zeros((0, space.dim)), 0).promising(3.0, 100)  # fmt: skip
    assert np.all(maxima.values >= np.max(paths.values(best), axis=0) - 1e-9)

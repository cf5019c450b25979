"""Estimating hyperparameters: the likelihood and its gradient, one history one fit, and sensible numbers."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import Matern52, SquaredExponential
from regretstop.model import (
    LENGTHSCALE_PRIOR,
    NOISE_STD_PRIOR,
    PRIOR_STD_PRIOR,
    Embedding,
    Fit,
    GaussianProcess,
    HyperparameterDensity,
    Kernel,
    standardize,
)
from regretstop.model._hmc import Chains
from regretstop.model._sampling import summary_of
from tests import oracle
from tests.draws import FourierDraws, data_for
from tests.effort import examples

CORRELATIONS = {Matern52: oracle.matern52, SquaredExponential: oracle.squared_exponential}
KERNELS: list[type[Kernel]] = [Matern52, SquaredExponential]
SPACES = {"numeric": np.array([0, 0]), "mixed": np.array([0, 3, 0])}

each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_space = pytest.mark.parametrize("space", SPACES)
each_noise = pytest.mark.parametrize("noise_std", [None, 0.1, 0.0])


def density_of(
    points: np.ndarray, values: np.ndarray, categories: np.ndarray, kernel: type[Kernel], noise_std: float | None
) -> HyperparameterDensity:
    return HyperparameterDensity(points, values, kernel=kernel(), embedding=Embedding(categories), noise_std=noise_std)


def random_theta(density: HyperparameterDensity, rng: np.random.Generator, longest: float = 0.5) -> np.ndarray:
    theta = rng.uniform(longest - 2.0, longest, density.size)
    if density.size == density.dim + 2:
        theta[-1] = rng.uniform(-4.0, 0.0)
    return theta


# ---- The likelihood ----------------------------------------------------------------------------------------------


@each_kernel
@each_space
@each_noise
def test_gradient_is_finite_differences(kernel: type[Kernel], space: str, noise_std: float | None) -> None:
    rng = np.random.default_rng(0)
    categories = SPACES[space]
    # Noise-free repeats contradict one another, and leave nothing to differentiate.
    points, values = data_for(categories, 14, n_repeats=0 if noise_std == 0.0 else 4)
    density = density_of(points, values, categories, kernel, noise_std)
    assert density.size == len(categories) + 1 + (noise_std is None)
    for _ in range(5):
        # Without noise and with long lengthscales the matrix is nearly singular, and the difference loses its digits.
        theta = random_theta(density, rng, longest=-1.0 if noise_std == 0.0 else 0.5)
        _, gradient = density(theta)
        step = 1e-6
        numeric = [
            (density(theta + step * e)[0] - density(theta - step * e)[0]) / (2 * step) for e in np.eye(density.size)
        ]
        assert gradient == pytest.approx(np.array(numeric), abs=1e-5 * max(1.0, float(np.max(np.abs(gradient)))))


@each_kernel
@each_space
def test_value_is_the_textbooks(kernel: type[Kernel], space: str) -> None:
    """Up to one constant: −log ∫ N(y; m 1, K) dm of the unmerged data, minus the log of the priors."""
    rng = np.random.default_rng(1)
    categories = SPACES[space]
    points, values = data_for(categories, 14, n_repeats=4)
    density = density_of(points, values, categories, kernel, None)
    differences: list[float] = []
    for _ in range(5):
        theta = random_theta(density, rng)
        lengthscales, s, sigma = np.exp(theta[:-2]), math.exp(theta[-2]), math.exp(theta[-1])
        K = oracle.covariance(points, points, CORRELATIONS[kernel], lengthscales, categories, s)
        inverse = np.linalg.inv(K + sigma**2 * np.eye(len(points)))
        precision = float(np.sum(inverse))
        residuals = values - float(np.sum(inverse @ values)) / precision
        expected = 0.5 * (residuals @ inverse @ residuals - np.linalg.slogdet(inverse)[1] + math.log(precision))
        for value, (center, width) in zip(
            theta, [LENGTHSCALE_PRIOR] * len(categories) + [PRIOR_STD_PRIOR, NOISE_STD_PRIOR], strict=True
        ):
            expected += 0.5 * ((value - center) / width) ** 2
        differences.append(density(theta)[0] - float(expected))
    assert differences == pytest.approx([differences[0]] * 5, abs=1e-6)


def test_what_cannot_be_factorised_is_infinitely_implausible() -> None:
    """Not an exception: the search for the mode must be able to step back."""
    points, values = data_for(SPACES["numeric"], 8)
    density = density_of(points, values, SPACES["numeric"], Matern52, 0.0)
    value, gradient = density(np.array([0.0, 0.0, -500.0]))
    assert value == math.inf or math.isfinite(value)
    assert np.all(np.isfinite(gradient))


# ---- The fit -----------------------------------------------------------------------------------------------------


@dataclass
class Fitter:
    """A surrogate in one space, maximising."""

    surrogate: GaussianProcess
    categories: np.ndarray

    def fit(self, points: np.ndarray, values: np.ndarray) -> Fit:
        return self.surrogate.fit(points, values, categories=self.categories, sign=1.0)


def surrogate_for(categories: np.ndarray, **options: Any) -> Fitter:
    return Fitter(GaussianProcess(**options), categories)


def numbers_of(fit: Fit) -> list[Any]:
    numbers: list[Any] = []
    for posterior in (*fit.posteriors, *([] if fit.mode is None else [fit.mode])):
        mean, std = posterior.mean_std(np.full((1, len(posterior.lengthscales)), 0.0))
        numbers += [*posterior.lengthscales, posterior.prior_std, posterior.noise_std, mean[0], std[0]]
    return numbers


@examples(10)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 40),
    space=st.sampled_from(sorted(SPACES)),
    treatment=st.sampled_from(["map", "posterior"]),
)
def test_the_same_history_gives_the_same_fit(seed: int, n: int, space: str, treatment: str) -> None:
    """Bit for bit: fitted at every step, at some of them, or only once."""
    categories = SPACES[space]
    points, values = data_for(categories, n, seed)
    every, some, fresh = (surrogate_for(categories, hyperparameters=treatment, n_samples=3) for _ in range(3))
    for k in range(1, n):
        every.fit(points[:k], values[:k])
        if k % 7 == 3:
            some.fit(points[:k], values[:k])
    expected = numbers_of(fresh.fit(points, values))
    assert numbers_of(every.fit(points, values)) == expected
    assert numbers_of(some.fit(points, values)) == expected
    assert numbers_of(fresh.fit(points, values)) == expected


def test_another_history_in_between_leaves_no_trace() -> None:
    categories = SPACES["numeric"]
    surrogate = surrogate_for(categories)
    (one, values), (other, other_values) = (data_for(categories, 30, seed) for seed in (0, 1))
    first = numbers_of(surrogate.fit(one, values))
    surrogate.fit(other, other_values)
    assert numbers_of(surrogate.fit(one, values)) == first


def test_large_histories_give_the_same_fit_too() -> None:
    """Above 256 observations the hyperparameters come from a part of them; the posterior uses all."""
    categories = SPACES["numeric"]
    points, values = data_for(categories, 300)
    stepped, fresh = surrogate_for(categories), surrogate_for(categories)
    for k in (255, 256, 257, 299):
        stepped.fit(points[:k], values[:k])
    fit = fresh.fit(points, values)
    assert numbers_of(stepped.fit(points, values)) == numbers_of(fit)
    mean, std = fit.posteriors[0].mean_std(points)
    residuals = (fit.data.values - mean) / fit.posteriors[0].noise_std
    assert np.sqrt(np.mean(residuals**2)) == pytest.approx(1.0, abs=0.2)
    assert np.all(std < 3.0 * fit.posteriors[0].noise_std)


@each_kernel
@pytest.mark.parametrize("lengthscales", [(0.2, 0.2), (0.15, 1.5)])
def test_lengthscales_are_recovered(kernel: type[Kernel], lengthscales: tuple[float, float]) -> None:
    """On draws of the prior itself with 80 observations: within a factor of two, each on average."""
    rng = np.random.default_rng(0)
    logs: list[np.ndarray] = []
    noises: list[float] = []
    for _ in range(5):
        points = rng.random((80, 2))
        values = 3.0 * FourierDraws(kernel, lengthscales, 1, rng).values(points)[:, 0]
        values += 10.0 + 0.15 * rng.standard_normal(80)
        fit = surrogate_for(np.array([0, 0]), kernel=kernel()).fit(points, values)
        logs.append(np.log(fit.posteriors[0].lengthscales / np.array(lengthscales)))
        noises.append(fit.posteriors[0].noise_std * fit.data.scale)
    assert np.all(np.abs(np.mean(logs, axis=0)) < math.log(2.0))
    assert np.mean(noises) == pytest.approx(0.15, rel=0.4)


def test_a_known_noise_is_kept_in_the_objectives_units() -> None:
    points, values = data_for(SPACES["numeric"], 20)
    for noise_std in (0.0, 0.3):
        fit = surrogate_for(SPACES["numeric"], noise_std=noise_std).fit(points, 7.0 * values)
        assert fit.posteriors[0].noise_std * fit.data.scale == pytest.approx(noise_std)


def test_an_irrelevant_category_gets_a_long_lengthscale() -> None:
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.random(60), rng.integers(4, size=60), rng.integers(4, size=60)]).astype(float)
    values = np.sin(6.0 * points[:, 0]) + 2.0 * (points[:, 1] == 2)
    fit = surrogate_for(np.array([0, 4, 4]), noise_std=0.0).fit(points, values)
    assert fit.posteriors[0].lengthscales[2] > 5.0 * fit.posteriors[0].lengthscales[1]


def test_the_mode_is_at_least_as_good_as_the_truth() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((40, 2))
    values = FourierDraws(Matern52, [0.3, 0.6], 1, rng).values(points)[:, 0] + 0.1 * rng.standard_normal(40)
    fit = surrogate_for(np.array([0, 0]), model_check=False).fit(points, values)
    density = density_of(points, fit.data.values, np.array([0, 0]), Matern52, None)
    posterior = fit.posteriors[0]
    mode = np.log([*posterior.lengthscales, posterior.prior_std, posterior.noise_std])
    truth = np.log([0.3, 0.6, 1.0 / fit.data.scale, 0.1 / fit.data.scale])
    assert density(mode)[0] <= density(truth)[0] + 1e-6
    assert np.max(np.abs(density(mode)[1])) < 0.05


def test_outliers_do_not_stretch_the_model() -> None:
    """A disaster at −10⁶ leaves the fit of the good values what it is for a mild one."""
    points, values = data_for(SPACES["numeric"], 30)
    values[4] = -1e6
    fit = surrogate_for(SPACES["numeric"]).fit(points, values)
    good = np.arange(30) != 4
    mean, _ = fit.posteriors[0].mean_std(points[good])
    back = fit.data.offset + fit.data.scale * mean
    assert np.sqrt(np.mean((back - values[good]) ** 2)) < 0.5
    assert fit.data.n_clipped == 1


# ---- Samples of the hyperparameters ------------------------------------------------------------------------------


def thetas_of(fit: Fit) -> np.ndarray:
    """Return θ of every sample, shape (K, d + 2)."""
    return np.log([[*p.lengthscales, p.prior_std, p.noise_std] for p in fit.posteriors])


@pytest.mark.parametrize("n", [8, 15, 30])  # run anew, and refreshed from 8 and from 16
def test_samples_are_those_of_the_density(n: int) -> None:
    """Against the density itself on a grid: one axis and known noise leave two numbers, log ℓ and log s."""
    categories = np.array([0])
    rng = np.random.default_rng(7)
    points = rng.random((n, 1))
    values = np.sin(7.0 * points[:, 0]) + 0.2 * rng.standard_normal(n)
    noise_std = 0.2 * standardize(values).scale
    k = 256
    fit = surrogate_for(categories, noise_std=noise_std, hyperparameters="posterior", n_samples=k).fit(points, values)
    samples = thetas_of(fit)[:, :2]
    density = density_of(points, fit.data.values, categories, Matern52, 0.2)
    axes = np.linspace(-4.0, 3.0, 141), np.linspace(-3.5, 3.5, 141)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = -density.many(grid)[0]
    weights = np.exp(logs - np.max(logs))
    weights /= np.sum(weights)
    for j in range(2):
        mean = float(weights @ grid[:, j])
        std = math.sqrt(float(weights @ (grid[:, j] - mean) ** 2))
        assert np.mean(samples[:, j]) == pytest.approx(mean, abs=4.5 * std / math.sqrt(k))
        assert np.std(samples[:, j]) == pytest.approx(std, rel=0.25)


def test_samples_surround_the_mode_which_is_that_of_map() -> None:
    points, values = data_for(SPACES["mixed"], 30)
    fit = surrogate_for(SPACES["mixed"], hyperparameters="posterior").fit(points, values)
    at_map = surrogate_for(SPACES["mixed"]).fit(points, values).posteriors[0]
    assert fit.mode is not None
    assert fit.mode.lengthscales.tolist() == at_map.lengthscales.tolist()
    samples = thetas_of(fit)
    assert samples.shape == (8, 5)
    assert len(np.unique(samples, axis=0)) == 8
    mode = np.log([*at_map.lengthscales, at_map.prior_std, at_map.noise_std])
    assert np.all((np.min(samples, axis=0) < mode + 0.5) & (np.max(samples, axis=0) > mode - 0.5))
    assert fit.sampling is not None
    assert fit.sampling.fallback is None
    assert fit.sampling.n_transitions == 8 * 32  # a warm-up of 30 at 16 observations, and two since
    assert 0.3 < fit.sampling.acceptance <= 1.0


def test_samples_do_not_see_the_number_of_observations_beyond_256() -> None:
    points, values = data_for(SPACES["numeric"], 300)
    fit = surrogate_for(SPACES["numeric"], hyperparameters="posterior", n_samples=2).fit(points, values)
    half = surrogate_for(SPACES["numeric"], hyperparameters="posterior", n_samples=2).fit(points[::2], values[::2])
    ratio = half.data.scale / fit.data.scale
    for one, other in zip(fit.posteriors, half.posteriors, strict=True):
        assert one.lengthscales == pytest.approx(other.lengthscales)
        assert one.noise_std == pytest.approx(other.noise_std * ratio)


@pytest.mark.parametrize("noise_std", [0.0, 1e-9])
def test_clustered_points_without_noise_can_be_sampled(noise_std: float) -> None:
    """A search that converges leaves points so close together that the matrix is singular in floating point."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((20, 2)), 0.5 + 1e-5 * rng.standard_normal((30, 2))])
    values = -np.sum((points - 0.5) ** 2, axis=1)
    fit = surrogate_for(SPACES["numeric"], noise_std=noise_std, hyperparameters="posterior").fit(points, values)
    assert fit.sampling is not None
    assert fit.sampling.fallback is None
    assert len(fit.posteriors) == 8
    # What is declared stays: the floor is for the sampling alone.
    assert all(p.noise_std * fit.data.scale == pytest.approx(noise_std) for p in fit.posteriors)


def test_a_learned_noise_at_its_floor_stays_there() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((16, 2)), 0.5 + 1e-2 * rng.standard_normal((14, 2))])
    values = -np.sum((points - 0.5) ** 2, axis=1)
    fit = surrogate_for(SPACES["numeric"], hyperparameters="posterior").fit(points, values)
    assert fit.mode is not None
    assert fit.mode.noise_std == pytest.approx(1e-4)
    assert fit.sampling is not None
    assert fit.sampling.fallback is None
    assert thetas_of(fit)[:, -1] == pytest.approx(math.log(1e-4))
    assert len(np.unique(thetas_of(fit)[:, :-1], axis=0)) == 8


class NoSlope(Matern52):
    """A kernel whose derivative is no number, so that nothing can be sampled."""

    @staticmethod
    def correlation_and_slope(r2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return Matern52.correlation(r2), np.full_like(r2, np.nan)


@pytest.mark.parametrize("n", [8, 12])
def test_what_cannot_be_sampled_falls_back_to_the_mode(n: int) -> None:
    points, values = data_for(SPACES["numeric"], n)
    fit = surrogate_for(SPACES["numeric"], kernel=NoSlope(), hyperparameters="posterior").fit(points, values)
    assert len(fit.posteriors) == 1
    assert fit.sampling is not None
    assert fit.sampling.fallback == "the density is not finite near its mode"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": 1e-3}, "the steps had to be as short as 0.001 deviations"),
        ({"n_divergent": 30}, "30 of 80 trajectories diverged"),
        ({"positions": np.full((8, 3), np.nan)}, "the density is not finite"),
        ({"values": np.full(8, np.inf)}, "the density is not finite"),
        ({"n_divergent": 20}, None),
    ],
)
def test_chains_that_did_not_move_are_no_samples(change: dict[str, Any], words: str | None) -> None:
    chains = Chains(np.zeros((8, 3)), np.zeros(8), np.zeros((8, 3)), np.eye(3), n_transitions=80)
    assert summary_of(None, replace(chains, **change)).fallback == words


def test_samples_that_do_not_move_are_run_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the fit jumps, a refreshment may be refused by every chain; here no acceptance is enough."""
    points, values = data_for(SPACES["numeric"], 12)
    carried = surrogate_for(SPACES["numeric"], hyperparameters="posterior").fit(points, values)
    monkeypatch.setattr("regretstop.model._hyperparameters.LEAST_ACCEPTANCE", 1.1)
    anew = surrogate_for(SPACES["numeric"], hyperparameters="posterior").fit(points, values)
    assert carried.sampling is not None
    assert anew.sampling is not None
    assert (carried.sampling.n_transitions, anew.sampling.n_transitions) == (8 * 32, 8 * 30)
    assert anew.sampling.fallback is None
    assert not np.any(np.isin(thetas_of(anew), thetas_of(carried)))


def test_the_number_of_samples_is_checked() -> None:
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1, got 0"):
        surrogate_for(SPACES["numeric"], n_samples=0)


# ---- Declared hyperparameters ------------------------------------------------------------------------------------


@each_kernel
def test_declared_hyperparameters_are_used_as_they_are(kernel: type[Kernel]) -> None:
    points, values = data_for(SPACES["numeric"], 9)
    values = 5.0 + 3.0 * values
    surrogate = surrogate_for(
        SPACES["numeric"],
        kernel=kernel(lengthscales=[0.3, 0.7], outputscale=4.0),
        noise_std=0.5,
        hyperparameters="fixed",
        mean=4.0,
    )
    fit = surrogate.fit(points, values)
    queries = np.random.default_rng(1).random((10, 2))
    mean, std = fit.posteriors[0].mean_std(queries)
    expected = oracle.posterior(
        points,
        values,
        queries,
        correlation=CORRELATIONS[kernel],
        lengthscales=np.array([0.3, 0.7]),
        prior_std=2.0,
        noise_std=0.5,
        mean=4.0,
    )
    assert fit.data.offset + fit.data.scale * mean == pytest.approx(expected[0], abs=1e-10)
    assert fit.data.scale * std == pytest.approx(expected[1], abs=1e-10)


def test_declared_hyperparameters_take_outliers_at_their_word() -> None:
    """Clipping would change the data of a theorem."""
    points, values = data_for(SPACES["numeric"], 9)
    values[2] = -1e3
    kernel = Matern52(lengthscales=[0.3, 0.7], outputscale=1.0)
    fit = surrogate_for(SPACES["numeric"], kernel=kernel, noise_std=0.1, hyperparameters="fixed").fit(points, values)
    assert fit.data.n_clipped == 0
    assert fit.data.offset + fit.data.scale * fit.data.values == pytest.approx(values)


def test_estimated_fits_standardise() -> None:
    points, values = data_for(SPACES["numeric"], 9)
    fit = surrogate_for(SPACES["numeric"]).fit(points, 100.0 + values)
    assert fit.data.values == pytest.approx(standardize(100.0 + values).values)

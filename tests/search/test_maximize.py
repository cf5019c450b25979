"""The global maximum of an acquisition: exact where the space is enumerated, else against brute force."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from regretstop import Categorical, Float, GaussianProcess, Int, Matern52, Space
from regretstop.model import Embedding
from regretstop.model._posterior import GaussianProcessPosterior
from regretstop.search import Maximizer, UpperConfidenceBound
from regretstop.spaces import sobol_points
from tests.draws import cube_grid
from tests.histories import FINITE, SPACES, random_history, random_points

INFINITE = {
    "a line": Space({"x": Float(0, 1)}),
    "a square": Space({"x": Float(0, 1), "y": Float(0, 1)}),
    "a line, integers and categories": Space({"x": Float(0, 1), "n": Int(1, 9), "c": Categorical(["a", "b", "c"])}),
    "a line and a long log axis": Space({"x": Float(0, 1), "n": Int(1, 5000, log=True)}),
}
BIG = Space({"n": Int(1, 40), "m": Int(1, 40), "k": Int(1, 40), "c": Categorical(["a", "b", "c"])})


def posterior_on(
    space: Space, n: int, seed: int, lengthscale: float = 0.2, noise_std: float = 0.05
) -> GaussianProcessPosterior:
    rng = np.random.default_rng(seed)
    points = np.unique(random_points(space, n, rng), axis=0)
    return GaussianProcessPosterior(
        points,
        rng.standard_normal(len(points)),
        np.ones(len(points)),
        kernel=Matern52(),
        embedding=Embedding(space.categories),
        lengthscales=np.where(space.categories > 0, 1.0, lengthscale) * np.ones(space.dim),
        prior_std=1.0,
        noise_std=noise_std,
        mean=None,
    )


def brute_force(space: Space) -> np.ndarray:
    """Return a fine enumeration: every value of a discrete axis of up to 60 values, 601 (97 in 2-D) of any other."""
    unit = cube_grid(1, 601 if np.sum(np.isinf(space.counts)) == 1 and space.dim != 2 else 97)[:, 0]
    axes = [space.axis_values(j) if space.counts[j] <= 60 else unit for j in range(space.dim)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, space.dim)
    return space.snap(points)


@pytest.mark.parametrize("sqrt_beta", [0.0, 2.0, 6.0])
@pytest.mark.parametrize("name", FINITE)
def test_enumerated_spaces_are_exact(name: str, sqrt_beta: float) -> None:
    space = FINITE[name]
    posterior = posterior_on(space, 6, seed=0)
    maximum = Maximizer(posterior, space, posterior.points, seed=0).maximize(UpperConfidenceBound(sqrt_beta))
    mean, std = posterior.mean_std(space.enumerate())
    assert maximum.how == "enumerated"
    assert maximum.value == float(np.max(mean + sqrt_beta * std))
    assert maximum.value == maximum.mean + sqrt_beta * maximum.std
    assert space.contains(space.decode(maximum.point))


@pytest.mark.parametrize("sqrt_beta", [0.0, 2.0, 6.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", INFINITE)
def test_the_global_maximum_is_found(name: str, seed: int, sqrt_beta: float) -> None:
    space = INFINITE[name]
    posterior = posterior_on(space, 15, seed)
    maximum = Maximizer(posterior, space, posterior.points, seed=0).maximize(UpperConfidenceBound(sqrt_beta))
    mean, std = posterior.mean_std(brute_force(space))
    assert maximum.how == "searched"
    assert maximum.value >= float(np.max(mean + sqrt_beta * std)) - 1e-4
    # It is a point of the space, and what is said of it is true.
    assert space.snap(maximum.point[None])[0] == pytest.approx(maximum.point, abs=1e-12)
    mean, std = posterior.mean_std(maximum.point[None])
    assert (maximum.mean, maximum.std) == pytest.approx((float(mean[0]), float(std[0])), rel=1e-9)
    assert maximum.value == pytest.approx(maximum.mean + sqrt_beta * maximum.std, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_finite_space_too_large_to_enumerate(seed: int) -> None:
    """192,000 points: more than are enumerated, few enough to be enumerated here."""
    posterior = posterior_on(BIG, 30, seed)
    maximum = Maximizer(posterior, BIG, posterior.points, seed=0).maximize(UpperConfidenceBound(2.0))
    everything = BIG.enumerate()
    best = max(float(np.max(m + 2.0 * s)) for m, s in map(posterior.mean_std, np.array_split(everything, 40)))
    assert maximum.how == "searched"
    assert maximum.value >= best - 1e-3
    assert np.all(BIG.snap(maximum.point[None])[0] == maximum.point)


def test_a_narrow_peak_at_the_data_is_found() -> None:
    """A lengthscale of 0.01 in two dimensions: no space-filling start lies on it."""
    space = INFINITE["a square"]
    rng = np.random.default_rng(0)
    points = rng.random((40, 2))
    values = np.zeros(40)
    values[17] = 10.0
    posterior = GaussianProcessPosterior(
        points,
        values,
        np.ones(40),
        kernel=Matern52(),
        embedding=Embedding(space.categories),
        lengthscales=np.array([0.01, 0.01]),
        prior_std=1.0,
        noise_std=0.01,
        mean=0.0,
    )
    maximum = Maximizer(posterior, space, points, seed=0).maximize(UpperConfidenceBound(0.5))
    assert maximum.value > 9.9
    assert np.max(np.abs(maximum.point - points[17])) < 0.02


@pytest.mark.parametrize("seed", [55, 84, 88, 118, 154])
def test_maxima_on_the_faces_of_the_cube_are_found(seed: int) -> None:
    """Few data and unequal lengthscales: an under-estimate here is a bound that is too low."""
    space = Space({f"x{j}": Float(0, 1) for j in range(3)})
    history = random_history(space, 8, seed)
    lengthscales = 10.0 ** np.random.default_rng(seed).uniform(-0.9, 0.1, 3)
    kernel = Matern52(lengthscales=lengthscales.tolist(), outputscale=1.0)
    snapshot = history.told(surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1)).snapshot()
    mean, std = snapshot.model.posteriors[0].mean_std(cube_grid(3, 33))
    maximum = snapshot.model.maximizers[0].maximize(UpperConfidenceBound(4.0))
    assert maximum.value >= float(np.max(mean + 4.0 * std)) - 1e-4


@pytest.mark.parametrize("lengthscales", [(0.2, 0.5), (0.5, 0.2)])
def test_the_hill_of_the_best_start_is_climbed(lengthscales: tuple[float, float]) -> None:
    """The same posterior with its axes in either order."""
    space = SPACES["a square"]
    history = random_history(space, 8, seed=972513)
    if lengthscales[0] > lengthscales[1]:
        history = replace(history, space=Space(dict(reversed(list(space.items())))))
    kernel = Matern52(lengthscales=lengthscales, outputscale=1.0)
    snapshot = history.told(surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1)).snapshot()
    mean, std = snapshot.model.posteriors[0].mean_std(cube_grid(2, 201))
    maximum = snapshot.model.maximizers[0].maximize(UpperConfidenceBound(5.3))
    assert maximum.value >= float(np.max(mean + 5.3 * std)) - 1e-4


def test_without_data_the_whole_space_is_searched() -> None:
    space = INFINITE["a square"]
    posterior = posterior_on(space, 10, seed=0)
    none_inside = Maximizer(posterior, space, np.empty((0, 2)), seed=0).maximize(UpperConfidenceBound(2.0))
    all_inside = Maximizer(posterior, space, posterior.points, seed=0).maximize(UpperConfidenceBound(2.0))
    assert none_inside.value == pytest.approx(all_inside.value, abs=1e-4)


@dataclass(frozen=True)
class MeanOnly:
    """An acquisition of another kind, to see that any function of mean and deviation will do."""

    def __call__(self, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
        return np.tanh(mean)

    def slopes(self, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1.0 - np.tanh(mean) ** 2, np.zeros_like(std)


def test_any_acquisition() -> None:
    space = INFINITE["a line"]
    posterior = posterior_on(space, 10, seed=3)
    maximum = Maximizer(posterior, space, posterior.points, seed=0).maximize(MeanOnly())
    assert maximum.value >= float(np.max(np.tanh(posterior.mean_std(brute_force(space))[0]))) - 1e-9


def test_slopes_of_the_upper_confidence_bound() -> None:
    mean, std = np.array([0.1, -0.5]), np.array([1.0, 0.2])
    acquisition = UpperConfidenceBound(3.0)
    assert acquisition(mean, std).tolist() == [3.1, pytest.approx(0.1)]
    by_mean, by_std = acquisition.slopes(mean, std)
    assert by_mean.tolist() == [1.0, 1.0]
    assert by_std.tolist() == [3.0, 3.0]


def test_the_search_is_deterministic_and_remembers() -> None:
    space = INFINITE["a line, integers and categories"]
    posterior = posterior_on(space, 12, seed=0)
    one, other = (Maximizer(posterior, space, posterior.points, seed=5) for _ in range(2))
    first = one.maximize(UpperConfidenceBound(2.0))
    assert one.maximize(UpperConfidenceBound(2.0)) is first
    one.maximize(UpperConfidenceBound(3.0))
    again = other.maximize(UpperConfidenceBound(2.0))
    assert (again.point.tolist(), again.value) == (first.point.tolist(), first.value)


@pytest.mark.parametrize("name", [*INFINITE, "big"])
def test_sobol_points_are_valid_and_a_sequence(name: str) -> None:
    space = BIG if name == "big" else INFINITE[name]
    points = sobol_points(space, 40, seed=3)
    assert np.all(space.snap(points) == points)
    assert np.all(sobol_points(space, 17, seed=3) == points[:17])
    assert not np.all(sobol_points(space, 40, seed=4) == points)
    for j in np.flatnonzero(space.categories):
        assert set(points[:, j]) == set(range(space.categories[j]))

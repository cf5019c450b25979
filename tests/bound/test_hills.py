"""Hills whose tops are known to a small part of a lengthscale, which places at random miss."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regretstop import GPUCB, Categorical, Float, Space, UCBbr, UpperConfidenceBound
from regretstop.bound import ExpectedMaxima
from regretstop.bound._faces import Faces
from regretstop.bound._hills import narrow_hills
from regretstop.model import Embedding, Kernel, Matern52, SquaredExponential
from regretstop.model._posterior import GaussianProcessPosterior
from regretstop.search import Maximizer

SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})
CUBE = Space({"x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)})
N_DRAWS = 20_000


def bowl(points: np.ndarray) -> np.ndarray:
    """Its maximum lies on the face x = 1."""
    centre = np.array([1.4, 0.4, 0.6])[: points.shape[1]]
    return -((points - centre) ** 2 * np.array([0.25, 1.0, 0.5])[: points.shape[1]]).sum(axis=1)


def posterior_of(points: np.ndarray, values: np.ndarray, kernel: Kernel, lengthscale: float, noise: float):
    d = points.shape[1]
    return GaussianProcessPosterior(
        points, values, np.ones(len(points)), kernel=kernel, embedding=Embedding(np.zeros(d, dtype=np.int64)),
        lengthscales=np.full(d, lengthscale), prior_std=1.0, noise_std=noise, mean=0.0,
    )  # fmt: skip


def counted(posterior, space: Space, level: float, *, sees_hills: bool = True, seed: int = 0, n: int = 16) -> float:
    best = posterior.points[np.argsort(-posterior.mean_std(posterior.points)[0])]
    maximizer = Maximizer(posterior, space, posterior.points, seed)
    maxima = ExpectedMaxima(
        posterior,
        space,
        best[0],
        best[:4],
        lambda: maximizer.hills(UpperConfidenceBound(2.0)) if sees_hills else best[:0],
        np.random.default_rng(seed),
        len(best),
    )
    if not sees_hills:
        maxima._hills = []
    return float(maxima.sample([level], n).counts(np.array([level])).mean())


@pytest.mark.parametrize("kernel", [Matern52(), SquaredExponential()], ids=["Matern52", "SquaredExponential"])
def test_a_top_that_is_surely_better_is_counted(kernel) -> None:
    """Of a smooth function few values tell where the maximum is; nobody has been there. The control is blind to it."""
    points = np.random.default_rng(0).random((40, 3))
    posterior = posterior_of(points, bowl(points), kernel, 4.0, 1e-5)
    at_top = posterior.mean_std(np.array([[1.0, 0.4, 0.6]]))[0][0] - posterior.mean_std(points)[0].max()
    level = 0.2 * float(at_top)
    assert counted(posterior, CUBE, level) > 0.99
    if isinstance(kernel, SquaredExponential):
        assert counted(posterior, CUBE, level, sees_hills=False) < 0.1


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("seed", range(3))
def test_narrow_hills_are_counted_as_draws_have_them(seed, quantile) -> None:
    """On a grid around each top, so fine that the maximum of a draw is not far from a point.

    Draws with two tops above the level count once there: so N may be somewhat more.
    """
    rng = np.random.default_rng(seed)
    points = rng.random((25, 2))
    prior = posterior_of(points[:1], np.zeros(1), SquaredExponential(), 0.5, 1e4)
    values = np.linalg.cholesky(prior.covariance(points) + 1e-9 * np.eye(25)) @ rng.standard_normal(25)
    posterior = posterior_of(points, values, SquaredExponential(), 0.5, 3e-3)
    best = posterior.points[[np.argmax(posterior.mean_std(points)[0])]]
    axis = np.linspace(0.0, 1.0, 41)
    grid = np.array(list(itertools.product(axis, axis)))
    likely = grid[np.argsort(-posterior.mean_std(grid)[0])[:400]]
    fine = np.clip(likely + 0.0125 * rng.uniform(-1.0, 1.0, likely.shape), 0.0, 1.0)
    places = np.vstack([likely, fine, best])
    factor = np.linalg.cholesky(posterior.covariance(places) + 1e-12 * np.eye(len(places)))
    draws = posterior.mean_std(places)[0][:, None] + factor @ rng.standard_normal((len(places), N_DRAWS))
    gains = draws[:-1].max(axis=0) - draws[-1]
    level = float(np.quantile(gains, quantile))
    share = float(np.mean(gains > level))
    assert 0.9 * share < counted(posterior, SQUARE, level, n=64) < 1.4 * share


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 1.5]), st.floats(1e-3, 0.3), st.booleans())
def test_no_less_is_counted_than_what_is_above_the_level_at_any_point(seed, lengthscale, level, is_smooth) -> None:
    kernel = SquaredExponential() if is_smooth else Matern52()
    rng = np.random.default_rng(seed)
    points = rng.random((12, 2))
    posterior = posterior_of(points, np.sin(5.0 * points[:, 0] + seed) + points[:, 1], kernel, lengthscale, 1e-3)
    best = points[[np.argmax(posterior.mean_std(points)[0])]]
    somewhere = rng.random((300, 2))
    joint = np.array([posterior.covariance(np.vstack([p, best[0]])) for p in somewhere])
    means = posterior.mean_std(somewhere)[0] - posterior.mean_std(best)[0]
    stds = np.sqrt(np.maximum(joint[:, 0, 0] + joint[:, 1, 1] - 2.0 * joint[:, 0, 1], 1e-300))
    known = max(0.5 * math.erfc((level - m) / s / math.sqrt(2.0)) for m, s in zip(means, stds, strict=True))
    assert counted(posterior, SQUARE, level) > 0.8 * min(known, 1.0) - 1e-3


def hills_of(space: Space, ends: np.ndarray, lengthscale: float = 0.6):
    points = space.snap(np.random.default_rng(1).random((60, space.dim)))
    posterior = GaussianProcessPosterior(
        points, bowl(points[:, :2]), np.ones(60), kernel=SquaredExponential(), embedding=Embedding(space.categories),
        lengthscales=np.full(space.dim, lengthscale), prior_std=1.0, noise_std=1e-3, mean=0.0,
    )  # fmt: skip

    def jet(x, axes, n_free):
        return posterior.jet(x, axes, n_free, points[0])

    return narrow_hills(jet, space, posterior.lengthscales, 1.0, ends), posterior


MIXED = Space({"x": Float(0, 1), "y": Float(0, 1), "c": Categorical(["a", "b"])})


@pytest.mark.parametrize("space", [SQUARE, MIXED], ids=["numeric", "mixed"])
def test_places_on_hills_have_the_weights_that_make_the_average_an_integral(space) -> None:
    """The weights of all places of a face add up to its volume, in lengthscales, times the number of choices."""
    top = [1.0, 0.4, 0.0][: space.dim]
    hills, posterior = hills_of(space, np.array([top]))
    assert len(hills) == 1
    faces = Faces(space, posterior.lengthscales, posterior.points[:4], hills, np.random.default_rng(0))
    places = faces.places(256, 1.0)
    n_choices = 2 if space is MIXED else 1
    weights = np.exp(places.log_weights)
    for k, sides in ((0, 4), (1, 4), (2, 1)):
        total = float(np.sum(weights[places.n_free == k])) / len(weights)
        assert total == pytest.approx(sides * n_choices / 0.6**k, rel=0.05)
    on_face = (places.points[:, 0] == 1.0) & (places.n_free == 1)
    away = np.abs(places.points[:, 1] - hills[0].point[1]) / (0.6 * abs(hills[0].factor[1, 1]))
    assert np.mean(on_face & (away < 2.0)) > 0.24


def test_ends_on_one_hill_make_one() -> None:
    near = [1.0, 0.4], [1.0, 0.40001], [1.0, 0.43]
    assert len(hills_of(SQUARE, np.array(near))[0]) == 1
    (hill,) = hills_of(SQUARE, np.array(near[2:]))[0]
    assert hill.is_free.tolist() == [False, True]
    assert hill.is_high.tolist() == [True, False]
    assert hill.point[1] == pytest.approx(0.4, abs=0.01)
    assert len(hills_of(SQUARE, np.array([[1.0, 0.0], [1.0, 0.4]]))[0]) == 2  # a corner has a place of its own


@pytest.mark.parametrize("seed", range(4))
def test_a_search_by_chance_is_not_certified_before_it_is_near(seed) -> None:
    """Samples of hyperparameters ended it by what they did not see: with a regret of 25 ε it was sure of itself."""
    optimizer = GPUCB(CUBE, direction="maximize", seed=0)
    points = np.random.default_rng(seed).random((36, 3))
    values = bowl(points)
    top = float(bowl(np.array([[1.0, 0.4, 0.6]]))[0])
    for point, value in zip(points[:29], values[:29], strict=True):
        optimizer.tell(dict(zip(CUBE, point.tolist(), strict=True)), float(value))
    for i in range(29, 36):
        optimizer.tell(dict(zip(CUBE, points[i].tolist(), strict=True)), float(values[i]))
        certificate = optimizer.certificate(UCBbr(0.001))
        assert certificate.incumbent is not None
        regret = top - float(values[certificate.incumbent])
        assert regret > 0.001
        assert not certificate.stop
        assert certificate.left is not None
        assert certificate.left.probability > 0.5

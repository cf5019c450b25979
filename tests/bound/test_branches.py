"""Bounds over the branches of a conditional space: sums over them, and nothing of what is inactive."""

import math

import numpy as np
import pytest

from regretstop import Categorical, Float, Int, Space
from regretstop.bound import ExpectedMaxima, grid_for, grids_of, log_n_exact, sloped_axes, slopes_of
from regretstop.bound._slopes import kernel_slopes
from regretstop.model import Matern52
from tests.bound.test_maxima import N_DRAWS, best_of, counted, drawn, maxima_of, posterior_on, square_grid

LINES = Space(
    {"c": Categorical(["a", "b"]), "x": Float(0, 1), "y": Float(0, 1)}, when={"x": {"c": ["a"]}, "y": {"c": ["b"]}}
)
# A line, and a square; the integer decides, and varies within the second branch.
MIXED = Space({"n": Int(0, 2), "x": Float(0, 1), "y": Float(0, 1)}, when={"y": {"n": [2]}})


def lines_and_squares(space: Space) -> list[tuple[np.ndarray, tuple[int, ...]]]:
    """Return a fine grid of each branch, and its shape."""
    line, square = np.linspace(0.0, 1.0, 201)[:, None], square_grid(31)
    if space is LINES:
        a, b = np.tile([0.0, 0.5, 0.5], (201, 1)), np.tile([1.0, 0.5, 0.5], (201, 1))
        a[:, 1:2], b[:, 2:3] = line, line
        return [(a, (201,)), (b, (201,))]
    first, second = np.full((31 * 31, 3), 0.5), np.full((31 * 31, 3), 5 / 6)
    first[:, :2], second[:, 1:] = square * [1 / 3, 1.0] + [1 / 6, 0.0], square
    return [(first, (31, 31)), (second, (31, 31))]


@pytest.mark.parametrize("space", [LINES, MIXED], ids=["two lines", "an integer that decides"])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_counted_is_the_sum_over_the_branches_of_what_draws_have(space: Space, seed: int) -> None:
    posterior = posterior_on(space, 14, seed, kernel=Matern52(), lengthscale=0.3)
    parts = lines_and_squares(space)
    values = [drawn(posterior, grid) for grid, _ in parts]
    for level in np.quantile(np.max([each.max(axis=0) for each in values], axis=0), [0.5, 0.95]):
        expected = sum(maxima_of(v.reshape(*shape, -1), level) for v, (_, shape) in zip(values, parts, strict=True))
        found = counted(posterior, space, float(level))
        error = 4.0 * math.hypot(math.sqrt(expected / N_DRAWS), found.std() / math.sqrt(len(found)))
        assert found.mean() == pytest.approx(expected, rel=0.06, abs=error)


def test_the_product_would_have_more() -> None:
    """Where nothing is known, a square for each category has many more hills than the two lines."""
    posterior = posterior_on(LINES, 3, 0, kernel=Matern52(), lengthscale=0.1)
    product = Space(dict(LINES))
    best = best_of(posterior)

    def count(space: Space) -> float:
        maxima = ExpectedMaxima(
            posterior, space, best[0], best[:4], lambda: best[:0], np.random.default_rng(0), len(best)
        )
        return float(maxima.sample([1.0], 32).counts(np.array([1.0])).mean())

    assert 5.0 * count(LINES) < count(product)


def test_places_are_points_of_branches_with_the_density_that_they_say() -> None:
    """The mean of their weights over the places with one branch and one face is the size of that face."""
    posterior = posterior_on(LINES, 6, 0, kernel=Matern52(), lengthscale=0.3)
    best = best_of(posterior)
    maxima = ExpectedMaxima(posterior, LINES, best[0], best[:4], lambda: best[:0], np.random.default_rng(1), len(best))
    places = maxima._places(512, 1.0)
    assert np.array_equal(LINES.project(places.points), places.points)
    weights = np.exp(places.log_weights)
    for branch, axis in ((0, 0), (1, 1)):
        own = (places.points[:, 0] == branch) & places.is_free[:, axis]
        assert np.sum(weights[own]) / len(weights) == pytest.approx(1.0 / 0.3, rel=0.02)
        ends = (places.points[:, 0] == branch) & ~places.is_free.any(axis=1)
        assert np.sum(weights[ends]) / len(weights) == pytest.approx(2.0, rel=0.05)


# ---- Grids ---------------------------------------------------------------------------------------------------------

WIDE = Space(
    {"c": Categorical(["a", "b", "c"]), "k": Int(0, 9), "x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)},
    when={"k": {"c": ["a"]}, "x": {"c": ["a", "b"]}, "y": {"c": ["b"]}},
)


def test_a_grid_is_the_sum_over_the_branches_of_the_products_of_their_axes() -> None:
    posterior = posterior_on(WIDE, 5, 0, kernel=Matern52(), lengthscale=0.5)
    assert sloped_axes(WIDE).tolist() == [False, False, True, True, True]
    assert log_n_exact(WIDE) == pytest.approx(math.log(10 + 1 + 1))
    levels = slopes_of(WIDE, posterior, 0.01)
    h = 0.1

    def cells(*slopes: float) -> float:
        return math.prod(math.ceil(len(slopes) * slope / (2.0 * h)) for slope in slopes)

    x, y, z = levels
    expected = 10 * cells(x, z) + cells(x, y, z) + cells(z)
    assert grid_for(WIDE, posterior, 0.01).log_size(h) == pytest.approx(math.log(expected))
    (grid,) = grids_of(WIDE, levels, one_level=False)
    reach = math.exp(3.0)
    paper = 10 * (2 * x * reach + 1) * (2 * z * reach + 1) + (z * reach + 1)
    paper += math.prod(3 * level * reach + 1 for level in (x, y, z))
    assert grid(3.0)[0] == pytest.approx(math.log(paper))


def test_the_slopes_of_the_grids_are_derivatives() -> None:
    posterior = posterior_on(WIDE, 5, 0, kernel=Matern52(), lengthscale=0.5)
    for log_grid in (
        grid_for(WIDE, posterior, 0.01).smooth,
        *grids_of(WIDE, slopes_of(WIDE, posterior, 0.01), one_level=False),
        *grids_of(WIDE, np.full(3, 2.0), one_level=True),
    ):
        difference = (log_grid(2.0 + 1e-5)[0] - log_grid(2.0 - 1e-5)[0]) / 2e-5
        assert log_grid(2.0)[1] == pytest.approx(difference, rel=1e-6)


def test_slopes_are_those_of_the_active_axes_at_a_shared_risk() -> None:
    """Three sets of sloped axes share the risk; where two branches have the same set they are copies of one cube."""
    posterior = posterior_on(WIDE, 5, 0, kernel=Matern52(), lengthscale=0.5)
    found = slopes_of(WIDE, posterior, 0.03)
    of_two = kernel_slopes(Matern52(), np.full(2, 0.5), math.log(10.0), risk=0.01)
    of_three = kernel_slopes(Matern52(), np.full(3, 0.5), 0.0, risk=0.01)
    of_one = kernel_slopes(Matern52(), np.full(1, 0.5), 0.0, risk=0.01)
    assert found == pytest.approx([max(of_two[0], of_three[0]), of_three[1], max(of_one[0], of_two[1], of_three[2])])


def test_a_finite_conditional_space_is_its_points() -> None:
    space = Space({"c": Categorical(["a", "b"]), "k": Int(0, 9)}, when={"k": {"c": ["a"]}})
    posterior = posterior_on(space, 4, 0, kernel=Matern52(), lengthscale=0.5)
    grid = grid_for(space, posterior, 0.01)
    assert grid.is_finite
    assert grid.log_n_exact == pytest.approx(math.log(11.0))
    assert grids_of(space, np.zeros(0), one_level=False) == [pytest.approx(math.log(11.0))]

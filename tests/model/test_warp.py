"""The warp of a best possible value: there and back, which levels are which regrets, and how strong it is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import GaussianProcess
from regretstop.gap import RegretLevels
from regretstop.model import LogWarp, Units
from tests.effort import examples

numbers = st.floats(-3.0, 3.0)
positive = st.floats(1e-3, 10.0)
units = st.builds(Units, numbers, st.floats(0.1, 2.0), st.none() | st.builds(LogWarp, numbers, positive))


def test_by_hand() -> None:
    """With b = 1 and c = 0.1 an accuracy of 0.9 is −log 2, and one of 0.7 is −log 4."""
    warp = LogWarp(1.0, 0.1)
    assert warp(np.array([1.0, 0.9, 0.7])) == pytest.approx([0.0, -math.log(2.0), -math.log(4.0)])
    # dz/dy = 1/(b + c − y)
    assert np.exp(warp.log_slopes(np.array([1.0, 0.9]))) == pytest.approx([10.0, 5.0])
    back = Units(0.0, math.log(2.0), warp)
    assert back.values(np.array([0.0, -1.0, -2.0])) == pytest.approx([1.0, 0.9, 0.7])
    assert back.gain(-2.0, np.array([1.0])) == pytest.approx([0.2])
    assert back.gap(-2.0, 0.2) == pytest.approx(1.0)
    assert back.gap(-2.0, 0.4) == math.inf  # the model knows no value above b + c
    assert back.room(-2.0) == pytest.approx(0.4)


@examples(50)
@given(units, numbers, st.floats(0.0, 3.0))
def test_there_and_back(units: Units, start: float, gap: float) -> None:
    low, high = units.values(np.array([start, start + gap])).tolist()
    gain = float(units.gain(start, np.array(gap)))
    assert gain == pytest.approx(high - low, rel=1e-9, abs=1e-9 * (1.0 + abs(low)))
    assert units.gap(start, gain) == pytest.approx(gap, rel=1e-6, abs=1e-9)
    assert units.standardized(low) == pytest.approx(start, rel=1e-6, abs=1e-6)
    assert gain <= units.slope(start) * gap * (1.0 + 1e-9)  # concave


@examples(100)
@given(units, numbers, positive, positive, st.lists(st.tuples(numbers, st.floats(-1.0, 6.0)), min_size=1, max_size=8))
def test_what_is_better_by_a_regret_lies_above_its_level(
    units: Units, pivot: float, near: float, regret: float, pairs: list[tuple[float, float]]
) -> None:
    """For any f and f(x̂): the tangent is below what is convex."""
    levels = RegretLevels.at(units, pivot, near)
    for own, lead in pairs:
        other = own + lead
        if float(units.gain(own, np.array(lead))) > regret * (1.0 + 1e-9):
            compared = other - levels.weight * own + (levels.weight - 1.0) * pivot
            assert compared >= levels.level(regret) - 1e-9 * (1.0 + abs(compared))


@examples(100)
@given(units, numbers, st.floats(1e-25, 10.0))
def test_the_tangent_touches_where_it_is_asked_to(units: Units, pivot: float, near: float) -> None:
    levels = RegretLevels.at(units, pivot, near)
    assert levels.level(levels.near) == pytest.approx(units.gap(pivot, levels.near), rel=1e-9, abs=0.0)
    assert levels.regret(levels.level(near)) == pytest.approx(near, rel=1e-6, abs=0.0)


def _search(best: float, noise: float, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return points, and values whose distance to the best one is log-normal about a smooth function."""
    rng = np.random.default_rng(0)
    points = rng.random((n, 2))
    smooth = 3.0 * np.cos(3.0 * points[:, 0]) + 2.0 * np.sin(4.0 * points[:, 1])
    return points, best - 0.1 * np.exp(-smooth + noise * rng.standard_normal(n))


def test_values_that_bend_are_warped_strongly_and_others_are_not() -> None:
    model, categories = GaussianProcess(), np.zeros(2, dtype=np.intp)
    points, bent = _search(1.0, 0.3)
    strong = model.warp(points, bent, categories=categories, best=1.0)
    assert strong is not None
    straight = np.log(1.0 - bent)  # smooth with a noise that is the same everywhere
    weak = model.warp(points, -straight, categories=categories, best=8.0)
    assert weak is not None
    assert strong.shift == pytest.approx(0.3 * np.median(1.0 - bent[:8]))
    assert weak.shift > 0.9 * np.median(8.0 + straight[:8])
    # In other units it is the same warp, and up to twice as many data it stays.
    scaled = model.warp(points, 1000.0 * bent, categories=categories, best=1000.0)
    assert scaled is not None
    assert scaled.shift == pytest.approx(1000.0 * strong.shift)
    fewer = model.warp(points[:33], bent[:33], categories=categories, best=1.0)
    assert fewer == strong


def test_what_is_declared_of_the_values_themselves_is_not_warped() -> None:
    from regretstop import Matern52

    points, values = _search(1.0, 0.3)
    known = Matern52(lengthscales=[0.3, 0.3], outputscale=1.0)
    for model in (
        GaussianProcess(hyperparameters="fixed", kernel=known, noise_std=0.01),
        GaussianProcess(noise_std=0.01),
    ):
        assert model.warp(points, values, categories=np.zeros(2, dtype=np.intp), best=1.0) is None
    at_best = GaussianProcess().warp(points, np.ones(40), categories=np.zeros(2, dtype=np.intp), best=1.0)
    assert at_best is None

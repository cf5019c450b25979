"""Units: there and back, at any scale, and outliers that stay harmless."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regretstop.model import plateau_of, standardize

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).map(np.array)
# Magnitudes drawn evenly from 5e-324 to 1e300: floats drawn at random are hardly ever as small as the smallest.
ANY_SIZE = st.builds(
    lambda sign, digits, exponent: sign * math.ldexp(digits, exponent),
    st.sampled_from([-1.0, 0.0, 1.0]),
    st.floats(1.0, 2.0),
    st.integers(-1074, 996),
)
SMALLEST = st.builds(lambda n: n * 5e-324, st.integers(-(2**60), 2**60))


@given(VALUES)
def test_standardised_values_have_mean_zero_and_deviation_one(values: np.ndarray) -> None:
    data = standardize(values)
    if not data.has_spread:
        assert np.all(data.values == 0.0)
        return
    assert np.mean(data.values) == pytest.approx(0.0, abs=1e-9)
    assert np.std(data.values) == pytest.approx(1.0, rel=1e-9)
    assert data.scale > 0.0


@given(st.lists(ANY_SIZE | SMALLEST, min_size=1, max_size=12).map(np.array))
@example(np.array([0.0, 5e-324]))
@example(np.array([-1.0, 0.0, 0.0, 5e-324]))  # the spread of the good ones is none to tell a disaster by
@example(np.array([5e-324, 5e-324]))
def test_values_of_any_size_are_standardised_or_count_as_equal(values: np.ndarray) -> None:
    """No scale is 0 or has lost its digits, and no spread that has them counts as none."""
    data = standardize(values)
    assert np.all(np.isfinite(data.values))
    assert 2e-308 < data.scale < math.inf
    assert math.isfinite(data.offset)
    if data.has_spread:
        assert np.std(data.values) == pytest.approx(1.0, rel=1e-9)
        assert 1e-10 * data.scale > 2e-308
    else:
        assert np.all(data.values == 0.0)
        assert np.ptp(values) <= max(4e-12 * float(np.max(np.abs(values))), 1e-295)


@given(st.lists(SMALLEST, min_size=2, max_size=40).map(np.array), st.floats(-1.0, 1.0))
def test_the_smallest_numbers_are_no_spread(values: np.ndarray, around: float) -> None:
    data = standardize(around + values)
    assert not data.has_spread
    assert data.scale > 2e-308


@given(VALUES)
def test_only_bad_values_are_changed(values: np.ndarray) -> None:
    """Undone, all values are as they were, but for those raised to one fence far below the rest."""
    data = standardize(values)
    back = data.offset + data.scale * data.values
    changed = np.abs(back - values) > 1e-9 * np.max(np.abs(values), initial=1.0)
    if not data.has_spread:
        return
    assert np.sum(changed) <= data.n_clipped
    assert np.all(back[changed] > values[changed])
    plateau = plateau_of(values)
    median = np.median(values if plateau is None else values[values > plateau.value])
    best = np.max(values)
    # Clipped values were further below the median than the best value is above it.
    assert np.all(values[changed] < median - (best - median))


@given(VALUES)
def test_the_order_is_kept(values: np.ndarray) -> None:
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(standardize(values).values[order]) >= 0.0)


@given(VALUES, st.integers(-900, 900))
def test_powers_of_two_change_the_units_only(values: np.ndarray, exponent: int) -> None:
    one, other = standardize(values), standardize(np.ldexp(values, exponent))
    tiny = np.any((values != 0.0) & (np.abs(np.ldexp(values, exponent)) < 1e-290))
    if tiny or not np.all(np.isfinite(np.ldexp(values, exponent))):  # digits were lost
        return
    assert np.all(one.values == other.values)
    if one.has_spread:
        assert other.scale == np.ldexp(one.scale, exponent)


@pytest.mark.parametrize("factor", [1e200, 1e-200, -1e200, 1e307])
def test_extreme_units(factor: float) -> None:
    values = np.array([0.3, -0.2, 0.9, 0.5, -1.0, 1.2])
    data = standardize(factor * values)
    assert np.std(data.values) == pytest.approx(1.0)
    assert data.offset + data.scale * data.values == pytest.approx(factor * values, rel=1e-9)


def test_differences_that_overflow() -> None:
    values = np.array([1.7e308, -1.7e308, 0.0, 1e308])
    data = standardize(values)
    assert np.std(data.values) == pytest.approx(1.0)
    assert np.isfinite(data.scale)
    assert data.has_spread


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e300, 1e-300])
@pytest.mark.parametrize("relative", [0.0, 1e-13])
def test_rounding_is_no_spread(value: float, relative: float) -> None:
    data = standardize(value * (1.0 + relative * np.array([0.0, 1.0, -1.0, 0.5])))
    assert not data.has_spread
    assert np.all(data.values == 0.0)
    assert data.scale > 0.0


def test_a_small_spread_is_a_spread() -> None:
    data = standardize(1.0 + 1e-9 * np.arange(5.0))
    assert data.has_spread
    assert data.scale == pytest.approx(1e-9 * np.sqrt(2.0), rel=1e-3)


@pytest.mark.parametrize("outlier", [-1e6, -1e30, -1e300])
def test_a_disaster_does_not_distort_the_good_values(outlier: float) -> None:
    good = np.random.default_rng(0).standard_normal(30)
    data = standardize(np.append(good, outlier))
    assert data.n_clipped == 1
    spread = np.ptp(data.values[:-1])
    assert spread > 2.0  # without the fence it would be 30 values at the same place
    back = data.offset + data.scale * data.values[:-1]
    assert back == pytest.approx(good, abs=1e-9)


def test_a_record_is_never_touched() -> None:
    good = np.random.default_rng(0).standard_normal(30)
    data = standardize(np.append(good, 1e6))
    assert data.n_clipped == 0
    assert data.offset + data.scale * data.values[-1] == pytest.approx(1e6)


def test_most_values_the_same_best_one() -> None:
    """There is then no typical spread to call anything a disaster by."""
    data = standardize(np.array([1.0] * 9 + [0.0]))
    assert data.n_clipped == 0
    assert data.has_spread


def test_one_value() -> None:
    data = standardize(np.array([3.0]))
    assert not data.has_spread
    assert data.offset == 3.0

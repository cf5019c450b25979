"""The log expected improvement: its values against integrals and exact series, its slopes against differences."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from regretstop.search import LogExpectedImprovement, expected_improvement
from regretstop.search._acquisition import log_h

LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def log_h_by_integral(z: float) -> float:
    """Return log ∫_0^∞ u φ(u − z) du = −z²/2 − log √(2π) + log ∫_0^∞ u exp(zu − u²/2) du."""
    # In units of the integrand's own width, so that quadrature sees it.
    width = 1.0 / max(1.0, -z)
    peak = max(z, 0.0)
    value, _ = quad(
        lambda v: v * width * math.exp(z * v * width - 0.5 * (v * width) ** 2 - 0.5 * peak**2) * width,
        0.0,
        (peak + 40.0) / width if z > -1.0 else 60.0,
        epsabs=0.0,
        epsrel=1e-12,
        limit=500,
        points=[peak / width] if peak else None,
    )
    return -0.5 * z * z + 0.5 * peak**2 - LOG_ROOT_TWO_PI + math.log(value)


@pytest.mark.parametrize("z", [-200.0, -50.1, -50.0, -49.9, -30.0, -5.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 5.0, 30.0])
def test_log_h_is_the_integral(z: float) -> None:
    assert float(log_h(np.array(z))) == pytest.approx(log_h_by_integral(z), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("t", [51, 100, 1000, 10**6, 10**11])
def test_log_h_lies_between_partial_sums_of_its_series(t: int) -> None:
    """h(−t)/φ(t) = 1/t² − 3/t⁴ + 15/t⁶ − …: every partial sum is on the other side of it than the next one."""
    u = Fraction(1, t * t)
    terms = [Fraction((-1) ** k * math.prod(range(1, 2 * k + 2, 2))) * u ** (k + 1) for k in range(12)]
    found = float(log_h(np.array(-float(t)))) + 0.5 * float(t) ** 2 + LOG_ROOT_TWO_PI
    upper, lower = (math.log(sum(terms[:n])) for n in (11, 12))
    # What is left after the square is taken off has its rounding.
    slack = 4.0 * np.finfo(float).eps * float(t) ** 2 + 1e-12
    assert lower - slack <= found <= upper + slack


def test_log_h_is_the_direct_formula_where_that_is_exact() -> None:
    z = np.linspace(-3.0, 10.0, 1001)
    cdf = 0.5 * np.array([math.erfc(-x / math.sqrt(2.0)) for x in z])
    direct = np.log(np.exp(-0.5 * z**2 - LOG_ROOT_TWO_PI) + z * cdf)
    assert log_h(z) == pytest.approx(direct, abs=1e-12)


def test_log_h_rises_without_a_seam() -> None:
    z = np.concatenate([np.linspace(-51.0, -49.0, 4001), np.linspace(-1e-6, 1e-6, 101), np.linspace(1.0, 9.0, 101)])
    assert np.all(np.diff(log_h(z)) > 0.0)


@given(st.floats(-300.0, 20.0), st.floats(-6.0, 3.0), st.floats(-5.0, 5.0))
def test_slopes_are_differences(z: float, log_std: float, best: float) -> None:
    acquisition, std = LogExpectedImprovement(best), 10.0**log_std
    mean = best + z * std
    step = 1e-5 * std / max(1.0, abs(z))
    by_mean, by_std = acquisition.slopes(np.array([mean]), np.array([std]))

    def value(m: float, s: float) -> float:
        return float(acquisition(np.array([m]), np.array([s]))[0])

    # Differences of values near z²/2 have their rounding, and that of a mean that is not far from the best.
    rounding = (1.0 + z * z + abs(best) * max(1.0, abs(z)) / std) * 1e-15 / step
    assert by_mean[0] == pytest.approx(
        (value(mean + step, std) - value(mean - step, std)) / (2 * step), rel=1e-5, abs=4 * rounding
    )
    assert by_std[0] == pytest.approx(
        (value(mean, std + step) - value(mean, std - step)) / (2 * step), rel=1e-5, abs=4 * rounding
    )


@pytest.mark.parametrize("std", [0.0, 1e-300, 1e-12])
@pytest.mark.parametrize("mean", [-3.0, 0.0, 3.0])
def test_a_known_value_is_finite_and_does_not_pull(mean: float, std: float) -> None:
    """At a noise-free observation the deviation is 0 or rounding."""
    acquisition = LogExpectedImprovement(0.0)
    value = acquisition(np.array([mean]), np.array([std]))
    by_mean, by_std = acquisition.slopes(np.array([mean]), np.array([std]))
    assert np.all(np.isfinite([value, by_mean, by_std]))
    assert by_std[0] == 0.0
    assert math.exp(value[0]) == pytest.approx(max(mean, 0.0), abs=1e-10)


@given(st.floats(-3.0, 3.0), st.floats(0.1, 3.0))
def test_expected_improvement_is_the_mean_of_what_is_gained(gain: float, std: float) -> None:
    expected, _ = quad(
        lambda x: max(x, 0.0) * math.exp(-0.5 * ((x - gain) / std) ** 2) / (std * math.sqrt(2.0 * math.pi)),
        0.0,
        max(gain, 0.0) + 12.0 * std,
        limit=200,
    )
    assert expected_improvement(gain, std) == pytest.approx(expected, abs=1e-9)
    assert expected_improvement(gain, 0.0) == max(gain, 0.0)

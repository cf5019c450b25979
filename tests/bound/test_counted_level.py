"""The search for the level above which no more than a share is left."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop.bound._counted import _FARTHEST, _level_with


@given(st.floats(1e-3, 1e3), st.floats(0.5, 8.0), st.floats(1e-3, 0.5), st.floats(0.02, 50.0), st.floats(0.0, 3.0))
def test_it_is_found_to_within_a_few_hundredths(
    scale: float, power: float, share: float, off: float, step: float
) -> None:
    """Of tails like exp(−x^p), with a jump somewhere, from guesses that are off by up to fifty times."""

    def left(x: np.ndarray) -> np.ndarray:
        tail = np.exp(-np.minimum((x / scale) ** power, 700.0))
        return np.where(x > step * scale, tail, 1.0)

    truth = scale * max(math.log(1.0 / share) ** (1.0 / power), step)
    calls: list[np.ndarray] = []

    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(x)
        return left(x)

    found = _level_with(counted, share, off * truth)
    assert left(np.array([found]))[0] <= share
    assert found <= max(1.0301 * truth, 1.03 * off * truth / _FARTHEST)  # it looks no farther down
    assert len(calls) <= 6


def test_a_tail_that_vanishes() -> None:
    assert 1.0 <= _level_with(lambda x: (x < 1.0).astype(float), 0.05, 3.0) <= 1.01
    assert _level_with(np.zeros_like, 0.05, 3.0) == 3.0 / _FARTHEST


@pytest.mark.parametrize("lower", [math.nan, math.inf])
def test_what_is_no_number_further_down_does_no_harm(lower: float) -> None:
    found = _level_with(lambda x: np.where(x < 1.0, lower, 0.01 / x), 0.05, 3.0)
    assert 1.0 <= found <= 1.0301


@pytest.mark.parametrize("left", [1.0, math.nan])
def test_what_never_falls_or_is_no_number_has_no_level(left: float) -> None:
    assert _level_with(lambda x: np.full_like(x, left), 0.05, 3.0) == math.inf

"""The search for the level above which no more than a share is left."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop.bound._counted import _FARTHEST, Left, _level_with, count_left
from regretstop.bound._maxima import N_CHOSEN


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


class Tail:
    """So many maxima are left above 1, fewer above more, and estimates of them are off by a tenth."""

    prior_std = 1.0

    def __init__(self, left: float, seed: int) -> None:
        self._left, self._rng = left, np.random.default_rng(seed)
        self.asked: list[int] = []

    def sample(self, levels: list[float], n_replicates: int) -> "Places":
        """Return places; where they are for ε = 1 their number is kept."""
        if 1.0 in levels:
            self.asked.append(n_replicates)
        return Places(self, n_replicates)

    def counts(self, levels: np.ndarray, n_replicates: int) -> np.ndarray:
        mean = self._left * np.exp(3.0 * (1.0 - levels))
        return mean[:, None] * (1.0 + 0.1 * self._rng.standard_normal((len(levels), n_replicates)))


@dataclass
class Places:
    """Where so many estimates at each level are made."""

    tail: Tail
    n_replicates: int

    def counts(self, levels: np.ndarray) -> np.ndarray:
        return self.tail.counts(levels, self.n_replicates)


def counted(left: float, epsilon: float = 1.0, **options: object) -> tuple[Left, list[int]]:
    """Return what is counted under 32 posteriors, and how many replicates each was asked for."""
    tails = [Tail(left, seed) for seed in range(32)]
    found = count_left(tails, 0.05, -9.0, epsilon, **options)  # type: ignore[arg-type]
    assert all(tail.asked == tails[0].asked for tail in tails)
    return found, tails[0].asked


def test_many_posteriors_are_counted_until_their_error_is_known() -> None:
    """Of two replicates each it hardly is, and the limit of a small mean is a large one."""
    clear, asked = counted(0.001)
    assert asked[0] == 2
    assert clear.bound < 1.0
    near, asked = counted(0.045)
    assert asked == [2, 8, 32][: len(asked)]
    assert len(asked) > 1
    assert near.bound < 1.0
    assert near.above == pytest.approx(0.045, rel=0.02)
    assert near.n_places == asked[-1] * N_CHOSEN


def test_no_more_is_counted_than_the_answer_needs() -> None:
    more, asked = counted(0.08)
    assert asked == [2]
    assert more.bound > 1.0
    undecided, asked = counted(0.0499)  # too near to δ for any number of replicates
    assert asked == [2, 8, 32]
    assert undecided.bound > 1.0
    assert counted(0.0499, decides=lambda: False)[1] == [2]


@pytest.mark.parametrize("left", [0.001, 0.045, 0.0499, 0.08, 0.3, 3.0])
def test_where_only_closing_matters_the_answer_is_the_same_and_no_longer_in_coming(left: float) -> None:
    whole, _ = counted(left)
    tails = [Tail(left, seed) for seed in range(32)]
    found = count_left(tails, 0.05, -9.0, 1.0, if_closed=True)  # type: ignore[arg-type]
    n_asked = sum(tail.asked != [] for tail in tails)
    assert (found.bound < 1.0) == (whole.bound < 1.0)
    if left > 0.05:  # it is known after so many that more is left, if none were left under the others
        assert n_asked == pytest.approx(1 + 32 * 0.05 / min(left, 1.0), abs=1.5)
        assert found.bound == math.inf
        assert 0.05 < found.above <= whole.above
    else:
        assert n_asked == 32
        assert found.above == pytest.approx(whole.above, rel=0.05)


class HeavyTail(Tail):
    """Of what is left above 1 some is left far above it: estimates that are exact."""

    prior_std = 1e3

    def __init__(self, left: float, power: float) -> None:
        super().__init__(left, 0)
        self._power = power

    def counts(self, levels: np.ndarray, n_replicates: int) -> np.ndarray:
        """Return the same estimate as often as was asked."""
        return np.repeat((self._left * levels**-self._power)[:, None], n_replicates, axis=1)


@pytest.mark.parametrize("power", [0.8, 1.2, 2.0])
def test_what_is_left_to_gain_is_summed_up_finely_where_some_is_left_far_away(power: float) -> None:
    left, highest = 0.02, 8e3  # eight prior deviations
    tails = [HeavyTail(left, power) for _ in range(32)]
    found = count_left(tails, 0.05, -9.0, 1.0)  # type: ignore[arg-type]
    start = left ** (1.0 / power)  # as far all is left
    truth = start + left * (highest ** (1.0 - power) - start ** (1.0 - power)) / (1.0 - power)
    assert 0.98 * truth <= found.mean <= 1.1 * truth

"""The level above which no more than δ local maxima are expected, in the mean over posteriors: the counted bound."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from regretstop.bound._maxima import LEAST_LEVEL, N_CHOSEN, ExpectedMaxima, SampledMaxima, upper_mean

# Of δ: what is kept for the error with which maxima are counted.
_COUNTING = 0.01
# The most are for a count that is near δ.
_FEWEST_REPLICATES, _MOST_REPLICATES = 8, 32
# Places for one level suit those that are larger or smaller by no more than the first factor. Far below them what is
# missed would not be seen to be.
_SUITS, _FARTHEST = 1.25, 5.0
_ROUNDS = 6


def counted_level(
    maxima: Sequence[ExpectedMaxima], delta: float, log_share: float, epsilon: float
) -> tuple[float, int]:
    """Return a level above which at most δ is left, and how many places say so.

    Args:
        maxima: Under each posterior.
        delta: δ. A hundredth of it is kept for the error of the count.
        log_share: Log of this count's part of that.
        epsilon: How exact the count is matters where the level is near this.
    """
    # A test may look at several samples, twice as many rounds at most, before it takes one.
    log_risk = math.log(_COUNTING * delta / (2 * _ROUNDS * len(maxima))) + log_share
    level, n_replicates = max(each.level_for(delta) for each in maxima), _FEWEST_REPLICATES
    likely, bound = _levels(maxima, level, n_replicates, delta, log_risk)
    while likely < epsilon <= bound and n_replicates < _MOST_REPLICATES:
        n_replicates *= 4
        likely, bound = _levels(maxima, likely, n_replicates, delta, log_risk)
    return bound, n_replicates * N_CHOSEN


def counted_left(maxima: Sequence[ExpectedMaxima], level: float, n_replicates: int) -> tuple[float, float]:
    """Return an estimate of how much is left above a level, at most 1, and its standard error."""
    counts = [each.sample(level, n_replicates).counts(level) for each in maxima]
    left = float(np.mean([min(1.0, float(np.mean(each))) for each in counts]))
    return left, math.sqrt(sum(float(np.var(each, ddof=1)) for each in counts) / n_replicates) / len(maxima)


def _levels(
    maxima: Sequence[ExpectedMaxima], level: float, n_replicates: int, delta: float, log_risk: float
) -> tuple[float, float]:
    """Return the level above which about δ is left, and the one above which it is less but for that risk.

    Args:
        maxima: Under each posterior.
        level: A guess.
        n_replicates: Of each count.
        delta: δ.
        log_risk: With which the count under one posterior may be wrong.
    """
    least = LEAST_LEVEL * max(each.prior_std for each in maxima)
    rounds = 0
    while True:
        sampled = [each.sample(level, n_replicates) for each in maxima]
        likely = _level_with(partial(_mean_left, sampled), delta, level)
        rounds += 1
        if level / _SUITS <= likely <= level * _SUITS or level <= least or rounds == _ROUNDS:
            break
        level = max(likely, least)
    bound = _level_with(partial(_mean_left, sampled, log_risk=log_risk), (1.0 - _COUNTING) * delta, level)
    return likely, max(bound, level / _SUITS)


def _mean_left(sampled: Sequence[SampledMaxima], level: float, *, log_risk: float | None = None) -> float:
    """Return how many maxima above a level are expected, at most 1 of each posterior, in the mean over them.

    Args:
        sampled: Under each posterior.
        level: The level.
        log_risk: With which each of the numbers may exceed what is taken for it; None for the estimates themselves.
    """
    counts = [each.counts(level) for each in sampled]
    numbers = [float(np.mean(c)) if log_risk is None else upper_mean(c, log_risk) for c in counts]
    return float(np.mean(np.minimum(numbers, 1.0)))


def _level_with(left: Callable[[float], float], share: float, level: float) -> float:
    """Return the level, to within a hundredth, above which no more than that is left."""
    low = high = level
    while left(high) > share:
        low, high = high, 1.5 * high
    # Places for one level do not suit much lower ones, where what is missed would not be seen to be.
    while (low == high or left(low) <= share) and low > level / _FARTHEST:
        low, high = low / 1.5, low
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if left(middle) <= share else (middle, high)
    return high

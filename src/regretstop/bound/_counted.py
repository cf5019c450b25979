"""The level above which no more than δ local maxima are expected, in the mean over posteriors: the counted bound."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.special import stdtrit

from regretstop.array import Array
from regretstop.bound._maxima import LEAST_LEVEL, N_CHOSEN, ExpectedMaxima, SampledMaxima

# Of δ: what is kept for the error with which maxima are counted.
_COUNTING = 0.01
# Of all posteriors together, at least two of each, by which the error is known; the most are for a count near δ.
_FEWEST_REPLICATES, _MORE = 8, 4
# Places for one level suit those that are larger or smaller by no more than the first factor. Far below them what is
# missed would not be seen to be.
_SUITS, _FARTHEST = 1.25, 5.0
_ROUNDS = 6
# Of the search for a level: how exact it is, and by how much the level changes until it is passed.
_PRECISION, _STEP = 0.01, 1.5


@dataclass(frozen=True)
class Left:
    """What is left above the bound and above ε.

    Attributes:
        bound: The level above which no more than δ is left.
        above_epsilon: How much is left above ε: maxima that are expected, at most 1 of each posterior, in the mean.
        error: Its standard error.
        n_places: Where the integrand was computed for the bound, for each posterior.
    """

    bound: float
    above_epsilon: float
    error: float
    n_places: int


def count_left(maxima: Sequence[ExpectedMaxima], delta: float, log_share: float, epsilon: float) -> Left:
    """Return the level above which at most δ is left, and how much is left above ε.

    Args:
        maxima: Under each posterior.
        delta: δ. A hundredth of it is kept for the error of the count.
        log_share: Log of this count's part of that.
        epsilon: How exact the count is matters where the level is near this; infinite if it is not asked about.
    """
    # A test may look at several samples, twice as many rounds at most, before it takes one.
    log_risk = math.log(_COUNTING * delta / (2 * _ROUNDS)) + log_share
    # Many posteriors are asked about one level, ε. One is asked for the level, wherever it is.
    level = epsilon if len(maxima) > 1 and math.isfinite(epsilon) else max(each.level_for(delta) for each in maxima)
    n_replicates = max(_FEWEST_REPLICATES // len(maxima), 2)
    found = _levels(maxima, level, n_replicates, delta, log_risk, epsilon)
    if found.likely < epsilon <= found.bound:
        n_replicates *= _MORE
        found = _levels(maxima, found.likely, n_replicates, delta, log_risk, epsilon)
    if math.isinf(epsilon):
        return Left(found.bound, math.nan, math.nan, n_replicates * N_CHOSEN)
    sampled = found.sampled
    if not found.level / _SUITS <= epsilon <= found.level * _SUITS:
        sampled = [each.sample(epsilon, n_replicates) for each in maxima]
    above, error, _ = mean_of_capped([each.counts(epsilon) for each in sampled])
    return Left(found.bound, above, error, n_replicates * N_CHOSEN)


@dataclass(frozen=True)
class _Levels:
    """The level above which about δ is left, that above which it is less but for the risk of the count, and whence."""

    likely: float
    bound: float
    sampled: Sequence[SampledMaxima]
    level: float


def _levels(
    maxima: Sequence[ExpectedMaxima], level: float, n_replicates: int, delta: float, log_risk: float, epsilon: float
) -> _Levels:
    """Return the levels.

    Args:
        maxima: Under each posterior.
        level: A guess.
        n_replicates: Of each count.
        delta: δ.
        log_risk: With which the mean of the counts may be wrong.
        epsilon: Levels above it need not be exact under many posteriors.
    """
    least = LEAST_LEVEL * max(each.prior_std for each in maxima)
    rounds = 0
    while True:
        sampled = [each.sample(level, n_replicates) for each in maxima]
        counts = cache(partial(_counts, sampled))
        likely = _level_with(lambda x: mean_of_capped(counts(x))[0], delta, level)  # noqa: B023 (called at once)
        rounds += 1
        suits = level / _SUITS <= likely <= level * _SUITS
        if suits or level <= least or rounds == _ROUNDS or (len(maxima) > 1 and likely > epsilon):
            break
        level = max(likely, least)
    bound = _level_with(lambda x: upper_limit(counts(x), log_risk), (1.0 - _COUNTING) * delta, likely)
    return _Levels(likely, max(bound, level / _SUITS), sampled, level)


def _counts(sampled: Sequence[SampledMaxima], level: float) -> list[Array]:
    return [each.counts(level) for each in sampled]


def _level_with(left: Callable[[float], float], share: float, level: float) -> float:
    """Return the level, to within a hundredth, above which no more than that is left."""
    low = high = level
    at_low = at_high = left(level)
    while at_high > share:
        low, at_low = high, at_high
        high *= _STEP
        at_high = left(high)
    # Places for one level do not suit much lower ones, where what is missed would not be seen to be.
    while at_low <= share and low > level / _FARTHEST:
        high, at_high = low, at_low
        low /= _STEP
        at_low = left(low)
    if at_low <= share:
        return low
    tries = 0
    while high > (1.0 + _PRECISION) * low:
        middle = math.sqrt(low * high)
        # Just above where it is if the log of what is left is linear, just below, and one halving, in turn.
        if tries % 3 < 2 and at_high > 0.0:
            along = math.log(at_low / share) / math.log(at_low / at_high)
            guess = low * (high / low) ** along * (1.0 + (_PRECISION if tries % 3 == 0 else -_PRECISION) / 3.0)
            middle = min(max(guess, 0.9 * low + 0.1 * middle), 0.9 * high + 0.1 * middle)
        value = left(middle)
        if value <= share:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
        tries += 1
    return high


def mean_of_capped(counts: Sequence[Array]) -> tuple[float, float, float]:
    """Return the mean over posteriors of min(1, N), its standard error and the degrees of freedom of that.

    Where N may well be above 1 it counts as 1: the mean of estimates that are capped one by one would be too small.

    Args:
        counts: Replicates of the estimate of N under each posterior, each of shape (R,), R ≥ 2.
    """
    each = np.array(counts)
    n = each.shape[1]
    variances = np.var(each, axis=1, ddof=1) / n
    means = np.mean(each, axis=1)
    is_capped = means + 2.0 * np.sqrt(variances) >= 1.0
    variances = np.where(is_capped, 0.0, variances)
    total = float(np.sum(variances))
    # Welch & Satterthwaite: as many as if the largest variances alone counted.
    freedom = (n - 1) / float(np.sum((variances / total) ** 2)) if total > 0.0 else math.inf
    return float(np.mean(np.where(is_capped, 1.0, means))), math.sqrt(total) / len(each), freedom


def upper_limit(counts: Sequence[Array], log_risk: float) -> float:
    """Return what the mean over posteriors of min(1, N) exceeds with a probability of at most e^log_risk.

    Student's, for means of many places are about normal.
    """
    mean, error, freedom = mean_of_capped(counts)
    return mean if error == 0.0 else min(mean - float(stdtrit(freedom, math.exp(log_risk))) * error, 1.0)

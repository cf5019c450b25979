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
# Of all posteriors together, at least two of each, by which the error is known: for a first look, for a count far from
# δ and for one near it, and as many times more where that leaves the answer open.
_FIRST_LOOK, _FAR, _NEAR, _MORE = 4, 8, 16, 4
# Where the level is off ε by more than this factor the count is far from δ.
_IS_FAR = 1.5
# Places for one level suit those that are larger or smaller by no more than the first factor. Far below them what is
# missed would not be seen to be.
_SUITS, _FARTHEST = 1.25, 5.0
_ROUNDS = 6
# In prior deviations: so high nothing is left, and squares are finite.
_HIGHEST = 1e100
# Of the search for a level: how exact it is, and by how much the level changes until it is passed.
_ROUGH, _PRECISION, _STEP = 0.1, 0.01, 1.5


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
        epsilon: In their units. A bound is not looked for below a fifth of it.
    """
    log_risk = math.log(_COUNTING * delta / 2) + log_share  # of two counts at most
    epsilon = min(epsilon, _HIGHEST * max(each.prior_std for each in maxima))
    # Many posteriors are asked about one level, ε. One is asked for the level, wherever it is.
    levels = [epsilon] if len(maxima) > 1 else [likely_level(maxima, delta, epsilon), epsilon]
    is_far = not epsilon / _IS_FAR <= levels[0] <= epsilon * _IS_FAR
    n_replicates = _replicates(maxima, _FAR if is_far else _NEAR)
    while True:
        sampled = [each.sample(levels, n_replicates) for each in maxima]
        counts = cache(partial(_counts, sampled))
        likely = _level_with(lambda x: mean_of_capped(counts(x))[0], delta, levels[0], _ROUGH)  # noqa: B023 (called now)
        bound = _level_with(lambda x: upper_limit(counts(x), log_risk), (1.0 - _COUNTING) * delta, likely)  # noqa: B023
        if not likely < epsilon <= bound or n_replicates >= _replicates(maxima, _NEAR) * _MORE:
            break
        levels, n_replicates = [likely, epsilon], _replicates(maxima, _NEAR) * _MORE
    above, error, _ = mean_of_capped(counts(epsilon))
    return Left(max(bound, min(levels) / _SUITS), above, error, n_replicates * N_CHOSEN)


def count_above(maxima: Sequence[ExpectedMaxima], level: float) -> float:
    """Return how many maxima above a level are expected, at most 1 under each posterior, in the mean; an estimate."""
    level = min(level, _HIGHEST * max(each.prior_std for each in maxima))
    return mean_of_capped([each.sample([level], _replicates(maxima, _FAR)).counts(level) for each in maxima])[0]


def likely_level(maxima: Sequence[ExpectedMaxima], delta: float, epsilon: float = math.inf) -> float:
    """Return about the level above which δ is left, at a first look, which is no bound.

    Args:
        maxima: Under each posterior.
        delta: δ.
        epsilon: The level that is asked about, if there is one: it is not looked for below a fifth of it.
    """
    least = LEAST_LEVEL * max(each.prior_std for each in maxima)
    is_asked = math.isfinite(epsilon)
    if is_asked:
        least = max(least, epsilon / _FARTHEST)
    level = likely = epsilon if is_asked else max(each.level_for(delta) for each in maxima)
    for _ in range(_ROUNDS):
        counts = cache(partial(_counts, [each.sample([level], _replicates(maxima, _FIRST_LOOK)) for each in maxima]))
        likely = max(_level_with(lambda x: mean_of_capped(counts(x))[0], delta, level, _ROUGH), least)  # noqa: B023
        if likely <= level * _IS_FAR and (is_asked or level <= likely * _IS_FAR):
            break
        level = likely
    return likely


def _replicates(maxima: Sequence[ExpectedMaxima], n: int) -> int:
    return max(n // len(maxima), 2)


def _counts(sampled: Sequence[SampledMaxima], level: float) -> list[Array]:
    return [each.counts(level) for each in sampled]


def _level_with(left: Callable[[float], float], share: float, level: float, precision: float = _PRECISION) -> float:
    """Return the level, to within the precision, above which no more than that is left."""
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
    while high > (1.0 + precision) * low:
        middle = math.sqrt(low * high)
        # Just above where it is if the log of what is left is linear, just below, and one halving, in turn.
        if tries % 3 < 2 and at_high > 0.0:
            along = math.log(at_low / share) / math.log(at_low / at_high)
            guess = low * (high / low) ** along * (1.0 + (precision if tries % 3 == 0 else -precision) / 3.0)
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

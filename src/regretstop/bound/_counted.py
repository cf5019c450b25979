"""The level above which no more than δ local maxima are expected, in the mean over posteriors: the counted bound."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from regretstop.array import Array
from regretstop.bound._counts import Counts, mean_of_capped
from regretstop.bound._maxima import LEAST_LEVEL, N_CHOSEN, ExpectedMaxima, SampledMaxima
from regretstop.bound._summed import SUITS, summed_up

# Of δ: what is kept for the error with which maxima are counted.
_COUNTING = 0.01
# Of all posteriors together, at least two of each, by which the error is known: for a first look, for a count far from
# δ and for one near it, and as many times more where that leaves the answer open; of many posteriors once more, for by
# two of each the error is hardly known.
_FIRST_LOOK, _FAR, _NEAR, _MORE = 2, 8, 16, 4
# Where the level is off ε by more than this factor the count is far from δ.
_IS_FAR = 1.5
# Of all posteriors together, for what is left to gain on average.
_SUMMED = 4
# So far below a level places for it are not looked at; and what may be left is at most so many prior deviations.
_FARTHEST, _MOST_STDS = 5.0, 8.0
_ROUNDS = 6
# In prior deviations, or times a guess: so high nothing is left, and squares are finite.
_HIGHEST = 1e100
# Of the search for a level: how exact it is.
_ROUGH, _PRECISION = 0.15, 0.03
# Levels that are looked at together: first, and between two of them.
_N_LEVELS, _N_FINER = 8, 5


@dataclass(frozen=True)
class Left:
    """What is left above the bound and above ε.

    Attributes:
        bound: The level above which no more than δ is left.
        above: How much is left above ε: maxima that are expected, at most 1 of each posterior, in the mean.
        error: Its standard error.
        mean: About the integral of what is left over the gains of all levels, no less than what is left to gain on
            average.
        mean_error: Its standard error.
        n_places: Where the integrand was computed for the bound, for each posterior.
    """

    bound: float
    above: float
    error: float
    mean: float
    mean_error: float
    n_places: int


def count_left(
    maxima: Sequence[ExpectedMaxima],
    delta: float,
    log_share: float,
    epsilon: float,
    gain: Callable[[Array], Array] = np.asarray,
    *,
    guessed: bool = False,
    if_closed: bool = False,
    decides: Callable[[], bool] = lambda: True,
) -> Left:
    """Return the level above which at most δ is left, and how much is left above ε.

    Args:
        maxima: Under each posterior.
        delta: δ. A hundredth of it is kept for the error of the count.
        log_share: Log of this count's part of that.
        epsilon: In their units. A bound is not looked for below 0.16 of it; under many posteriors, or where it is
            guessed, not below four fifths.
        gain: Returns what levels are to gain, both of shape (l,).
        guessed: Whether ε is a guess of the bound: then it need not be looked for.
        if_closed: Whether the bound only matters where it is below ε. Then no more posteriors are counted than tell
            that more than δ is left above ε, if it is: the bound is infinite, and what is left is no less than said.
        decides: Returns whether it matters on which side of ε the bound is, asked only where that is not clear at
            once. Where it does not, a count that is as exact as one far from δ will do.
    """
    # Many posteriors are asked about one level, ε, and counted three times at most. One is asked for the level,
    # wherever it is, and twice.
    is_one = len(maxima) == 1
    log_risk = math.log(_COUNTING * delta / (2 if is_one else 3)) + log_share
    asked, (least, highest) = epsilon, _range_of(maxima)
    epsilon = min(max(epsilon, least), highest)
    likely = likely_level(maxima, delta, epsilon) if is_one and not guessed else epsilon
    levels = [likely, epsilon] if epsilon != likely < math.inf else [epsilon]
    is_near = epsilon / _IS_FAR <= levels[0] <= epsilon * _IS_FAR
    n_replicates = _replicates(maxima, _NEAR if is_near and decides() else _FAR)
    most = _replicates(maxima, _NEAR) * _MORE ** (1 if is_one else 2)
    while True:
        sampled, known, at_least = _places(maxima, levels, n_replicates, epsilon, delta if if_closed else math.inf)
        if if_closed and at_least > delta:
            return Left(math.inf, at_least, 0.0, math.inf, 0.0, n_replicates * N_CHOSEN)
        counts = Counts(sampled, {epsilon: known})
        bound = _level_with(partial(counts.upper, log_risk=log_risk), (1.0 - _COUNTING) * delta, levels[0])
        (above,), (error,) = counts.mean_and_error(np.array([epsilon]))
        if above > delta:  # the answer is clear, but of two replicates each the bound may be all error
            enough = 0 if is_one or if_closed else _replicates(maxima, _NEAR * _MORE)
            level = bound if n_replicates >= enough else _level_with(counts.mean, delta, epsilon, _ROUGH)
            if not level * _IS_FAR < bound:
                break
            levels, n_replicates = [level, epsilon], enough
            continue
        if bound < epsilon or n_replicates >= most or not decides():
            break
        n_replicates = max(_replicates(maxima, _NEAR), n_replicates) * _MORE
        if is_one:
            levels = [_level_with(counts.mean, delta, levels[0], _ROUGH), epsilon]

    def count_at(lower: Sequence[float]) -> Counts:
        return Counts([each.sample(lower, _replicates(maxima, _SUMMED)) for each in maxima])

    most_gained = _MOST_STDS * max(each.prior_std for each in maxima)
    mean, mean_error = summed_up(counts, min(levels), most_gained, gain, count_at)
    bound = max(bound, min(levels) / SUITS)
    if asked < least:  # what rounding leaves open
        above, error = 1.0, 0.0
    return Left(bound, float(above), float(error), mean, mean_error, n_replicates * N_CHOSEN)


def _range_of(maxima: Sequence[ExpectedMaxima]) -> tuple[float, float]:
    """Return the least level that rounding allows to look at, and one at which nothing is left."""
    prior_std = max(each.prior_std for each in maxima)
    return LEAST_LEVEL * prior_std, _HIGHEST * prior_std


def _places(
    maxima: Sequence[ExpectedMaxima], levels: Sequence[float], n_replicates: int, epsilon: float, enough: float
) -> tuple[list[SampledMaxima], Array, float]:
    """Return the places under each posterior, as long as no more than enough is left above ε by those before it.

    Returns:
        The places, the counts above ε there, shape (number of these, R), and how much is left by them, if nothing were
        under the others.
    """
    sampled: list[SampledMaxima] = []
    counts: list[Array] = []
    least = 0.0
    for each in maxima:
        sampled.append(each.sample(levels, n_replicates))
        counts.append(sampled[-1].counts(np.array([epsilon]))[0])
        least += float(mean_of_capped(counts[-1][None])[0]) / len(maxima)
        if least > enough:
            break
    return sampled, np.array(counts), least


def count_above(maxima: Sequence[ExpectedMaxima], level: float) -> tuple[float, float]:
    """Estimate how many maxima above a level are expected, at most 1 under each posterior, and the error."""
    least, highest = _range_of(maxima)
    if level < least:
        return 1.0, 0.0
    level = min(level, highest)
    counts = Counts([each.sample([level], _replicates(maxima, _FAR)) for each in maxima])
    above, error, _ = mean_of_capped(counts.at(np.array([level])))
    return float(above[0]), float(error[0])


def likely_level(maxima: Sequence[ExpectedMaxima], delta: float, epsilon: float = math.inf) -> float:
    """Return about the level above which δ is left, at a first look, which is no bound.

    Args:
        maxima: Under each posterior.
        delta: δ.
        epsilon: The level that is asked about, if there is one: it is not looked for below a fifth of it.
    """
    least, _ = _range_of(maxima)
    is_asked = math.isfinite(epsilon)
    if is_asked:
        least = max(least, epsilon / _FARTHEST)
    level = likely = epsilon if is_asked else max(each.level_for(delta) for each in maxima)
    for _ in range(_ROUNDS):
        counts = Counts([each.sample([level], _replicates(maxima, _FIRST_LOOK)) for each in maxima])
        likely = max(_level_with(counts.mean, delta, level, _ROUGH), least)
        if math.isinf(likely) or (likely <= level * _IS_FAR and (is_asked or level <= likely * _IS_FAR)):
            break
        level = likely
    return likely


def _replicates(maxima: Sequence[ExpectedMaxima], n: int) -> int:
    return max(n // len(maxima), 2)


def _level_with(left: Callable[[Array], Array], share: float, level: float, precision: float = _PRECISION) -> float:
    """Return the level, to within the precision, above which no more than that is left.

    Args:
        left: Returns how much is left above levels of shape (l,); it falls, but for the error of a count. Where it
            never does the level is infinite.
        share: That.
        level: A guess, a fifth of which is the least that is looked at: places for it do not suit much lower ones,
            where what is missed would not be seen to be.
        precision: Relative to the level.
    """
    levels = _geomspace(level / _FARTHEST, level * _FARTHEST, _N_LEVELS)
    while levels[-1] <= _HIGHEST * level:
        values = left(levels)
        above = np.flatnonzero(~(values <= share))  # what is no number is not little
        if not len(above):
            return float(levels[0])
        i = int(above[-1])
        if i == len(levels) - 1:
            levels = _geomspace(levels[-1], levels[-1] * _FARTHEST**2, _N_LEVELS)
            continue
        low, high = float(levels[i]), float(levels[i + 1])
        if high <= (1.0 + precision) * low:
            return high
        levels = _geomspace(low, high, _N_FINER)
        ends = values[i : i + 2]
        if levels[1] > (1.0 + precision) * low and np.all(np.isfinite(ends) & (ends > 0.0)):
            logs = np.log(ends / share)  # a step further, where the tail is about a power
            guess = low * (high / low) ** (logs[0] / (logs[0] - logs[1]))
            sides = guess * (1.0 + precision) ** np.array([-0.45, 0.45])
            levels = np.sort(np.concatenate([levels, np.clip(sides, low, high)]))
    return math.inf


def _geomspace(low: float, high: float, n: int) -> Array:
    return np.asarray(np.geomspace(low, high, n), dtype=np.float64)

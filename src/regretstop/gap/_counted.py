"""The optimality gap of one evaluated trial by what is left, counted (docs/theory.md, What is left, counted)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from regretstop.bound import ExpectedMaxima, count_above, count_left, likely_level
from regretstop.gap._levels import RegretLevels
from regretstop.model import HasJets
from regretstop.normal import upper_quantile
from regretstop.search import UpperConfidenceBound
from regretstop.snapshot import Snapshot

# Of d numeric parameters there are d²/2 second derivatives: with 20 and 60 observations a test took 0.6 s.
_MOST_NUMERIC = 20
# Settings of a finite space that are counted one by one, if that makes less of them.
_MOST_LISTED = 2048
# The best data, around which hills are narrow.
_N_CENTERS = 4
# Of which hills are sought.
_HIGH = UpperConfidenceBound(2.0)
# Where a bound is larger than ε by more than this factor it has a tangent of its own.
_IS_FAR = 1.5
# A tangent touches so many deviations below the mean of f(x̂), about where something better by ε is the likeliest.
_LOWER = 1.0


@dataclass(frozen=True)
class CountedGap:
    """The smallest b such that no more than δ local maxima better than x̂ by more than b are expected.

    Attributes:
        bound: b, upper bound on the regret of x̂, in the objective's units.
        incumbent: Index of x̂ among the snapshot's points.
        left: Expected number of maxima that are better than x̂ by more than ε, at most 1 of each posterior, in the mean
            over the posteriors: a bound on the probability that there is one.
        left_error: Its standard error.
        mean: About an upper bound on what is left to gain on average, in the objective's units.
        mean_error: Its standard error.
        n_places: Where the integrand was computed, for each posterior.
    """

    bound: float
    incumbent: int
    left: float
    left_error: float
    mean: float
    mean_error: float
    n_places: int


def counting_obstacle(snapshot: Snapshot) -> str | None:
    """Return why no maxima can be counted, in words; None if they can."""
    if not all(
        isinstance(posterior, HasJets) and posterior.kernel is not None for posterior in snapshot.model.posteriors
    ):
        return "the surrogate's posterior knows no derivatives, without which beta='calibrated' can count no maxima"
    n_numeric = max(int(np.sum(branch.numeric)) for branch in snapshot.space.branches)
    if n_numeric > _MOST_NUMERIC:
        return (
            f"beta='calibrated' counts maxima of at most {_MOST_NUMERIC} numeric parameters, and there are {n_numeric}"
        )
    return None


def counted_gap(
    snapshot: Snapshot,
    delta: float,
    epsilon: float,
    incumbent: int | None = None,
    *,
    if_closed: bool = False,
    decides: Callable[[], bool] = lambda: True,
) -> CountedGap:
    """Return the counted gap of an evaluated trial.

    The snapshot must have no obstacle, and its draws derivatives.

    Args:
        snapshot: The data and the model.
        delta: δ. A hundredth of it is kept for the error of the count, and shared by all tests like 1/k(k+1).
        epsilon: ε in the objective's units, by which it is known how exact the count has to be, and what is left.
        incumbent: Index of the trial among the snapshot's points; by default the best one.
        if_closed: Whether the gap only matters where it is below ε: where more is left it may be infinite, at a part of
            the price, and `left` the least that is left.
        decides: Returns whether it matters on which side of ε the gap is; asked only where that is not clear at once.
    """
    if incumbent is None:
        incumbent = best_trial(snapshot, delta)
    # The shares of the tests, 1/k(k+1), add up to 1.
    log_share = -math.log(snapshot.test * (snapshot.test + 1))
    units, pivot = snapshot.model.units, _pivot(snapshot, incumbent)
    with np.errstate(under="ignore"):  # densities and tails that are next to nothing
        is_straight = if_closed or units.warp is None
        asked = epsilon if is_straight else _likely_regret(snapshot, incumbent, delta, epsilon)
        levels = RegretLevels.at(units, pivot, asked)
        ways = [
            count_left(
                maxima,
                delta,
                log_share,
                levels.level(asked),
                units.bent,
                guessed=asked != epsilon,
                if_closed=if_closed,
                decides=decides if asked == epsilon else lambda: False,
            )
            for maxima in _ways(snapshot, incumbent, levels)
        ]
        found = min(ways, key=lambda left: left.bound)
        above = (found.above, found.error) if asked == epsilon else _left_above(snapshot, epsilon, incumbent)
    slope = units.slope(snapshot.mean_of(incumbent))
    mean, error = found.mean * slope, found.mean_error * slope
    return CountedGap(levels.regret(found.bound), incumbent, *above, mean, error, found.n_places)


def left_above(snapshot: Snapshot, epsilon: float, incumbent: int) -> float:
    """Return how many maxima better than a trial by more than ε are expected, at most 1 under each posterior.

    The snapshot must have no obstacle, and its draws derivatives.
    """
    with np.errstate(under="ignore"):
        return _left_above(snapshot, epsilon, incumbent)[0]


def likely_optimum(snapshot: Snapshot, delta: float) -> float:
    """Return about the value, standardised, above which δ maxima are expected: a first look, and no bound.

    The snapshot must have no obstacle, and its draws derivatives.
    """
    incumbent = best_trial(snapshot, delta)
    with np.errstate(under="ignore"):
        return snapshot.mean_of(incumbent) + min(likely_level(maxima, delta) for maxima in _ways(snapshot, incumbent))


def _left_above(snapshot: Snapshot, epsilon: float, incumbent: int) -> tuple[float, float]:
    levels = RegretLevels.at(snapshot.model.units, _pivot(snapshot, incumbent), epsilon)
    return min(count_above(maxima, levels.level(epsilon)) for maxima in _ways(snapshot, incumbent, levels))


def _likely_regret(snapshot: Snapshot, incumbent: int, delta: float, epsilon: float) -> float:
    """Return ε, or about the bound where that is far above: a tangent at ε would make it much larger."""
    units, pivot = snapshot.model.units, _pivot(snapshot, incumbent)
    near = RegretLevels.at(units, pivot, epsilon)
    level = min(likely_level(maxima, delta, near.level(epsilon)) for maxima in _ways(snapshot, incumbent, near))
    seen = float(units.gain(pivot, np.array(level)))
    return seen if seen > _IS_FAR * epsilon else epsilon


def best_trial(snapshot: Snapshot, delta: float) -> int:
    """Return the index of the trial whose lower confidence bounds are the best on average."""
    half = upper_quantile(math.log(0.5 * delta))
    lower = [mean - half * std for mean, std in snapshot.at_data()]
    return int(np.argmax(np.mean(lower, axis=0)))


def _pivot(snapshot: Snapshot, incumbent: int) -> float:
    """Return about what f(x̂) is, standardised, where something is better than it by ε: rather low."""
    if snapshot.model.warp is None:
        return 0.0
    point = snapshot.data.points[[incumbent]]
    found = np.array([np.ravel(posterior.mean_std(point)) for posterior in snapshot.model.posteriors])
    return float(np.mean(found[:, 0] - _LOWER * found[:, 1]))


def _ways(snapshot: Snapshot, incumbent: int, levels: RegretLevels | None = None) -> list[list[ExpectedMaxima]]:
    """Return the ways to count what is better than a trial, in standardised units by default: either is a bound."""
    is_listed = snapshot.space.size <= _MOST_LISTED
    by_maxima = [False] if np.any(snapshot.space.categories == 0) or not is_listed else []
    by_setting = [True] if is_listed else []
    return [_maxima(snapshot, incumbent, levels, by_setting=way) for way in (*by_maxima, *by_setting)]


def _maxima(
    snapshot: Snapshot, incumbent: int, levels: RegretLevels | None, *, by_setting: bool
) -> list[ExpectedMaxima]:
    """Return what counts the maxima, or the settings, that are better than a trial, for each posterior."""
    rng = np.random.default_rng([snapshot.model.maximizers[0].seed, snapshot.data.n_observations])
    points = snapshot.data.all_points  # a hill that is known to be there is one, feasible or not
    return [
        ExpectedMaxima(
            posterior,
            snapshot.space,
            snapshot.data.points[incumbent],
            points[np.argsort(-posterior.mean_std(points)[0])[:_N_CENTERS]],
            partial(maximizer.hills, _HIGH),
            rng,
            snapshot.data.n_observations,
            by_setting,
            weight=1.0 if levels is None else levels.weight,
            pivot=0.0 if levels is None else levels.pivot,
        )
        for maximizer in snapshot.model.relaxed or snapshot.model.maximizers
        if isinstance(posterior := maximizer.posterior, HasJets)
    ]

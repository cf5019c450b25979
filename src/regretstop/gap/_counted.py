"""The optimality gap of one evaluated trial by what is left, counted (docs/theory.md, What is left, counted)."""

import math
from dataclasses import dataclass

import numpy as np

from regretstop.bound import ExpectedMaxima, count_above, count_left, likely_level
from regretstop.model import HasJets
from regretstop.normal import upper_quantile
from regretstop.snapshot import Snapshot

# Of d numeric parameters there are d²/2 second derivatives: with 20 and 60 observations a test took 0.6 s.
_MOST_NUMERIC = 20
# Settings of a finite space that are counted one by one, if that makes less of them.
_MOST_LISTED = 2048
# The best data, around which hills are narrow.
_N_CENTERS = 4


@dataclass(frozen=True)
class CountedGap:
    """The smallest b above which no more than δ local maxima of f − f(x̂) are expected, in standardised units.

    Attributes:
        bound: b, upper bound on f* − f(x̂).
        incumbent: Index of x̂ among the snapshot's points.
        left: Expected number of maxima that are better than x̂ by more than ε, at most 1 of each posterior, in the mean
            over the posteriors: a bound on the probability that there is one.
        left_error: Its standard error.
        mean: About an upper bound on what is left to gain on average, E[max(f* − f(x̂), 0)].
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
    n_numeric = int(np.sum(snapshot.space.categories == 0))
    if n_numeric > _MOST_NUMERIC:
        return (
            f"beta='calibrated' counts maxima of at most {_MOST_NUMERIC} numeric parameters, and there are {n_numeric}"
        )
    return None


def counted_gap(snapshot: Snapshot, delta: float, epsilon: float, incumbent: int | None = None) -> CountedGap:
    """Return the counted gap of an evaluated trial.

    The snapshot must have no obstacle, and its draws derivatives.

    Args:
        snapshot: The data and the model.
        delta: δ. A hundredth of it is kept for the error of the count, and shared by all tests like 1/k(k+1).
        epsilon: ε in the objective's units, by which it is known how exact the count has to be, and what is left.
        incumbent: Index of the trial among the snapshot's points; by default the best one.
    """
    if incumbent is None:
        incumbent = _best_trial(snapshot, delta)
    # The shares of the tests, 1/k(k+1), add up to 1.
    log_share = -math.log(snapshot.test * (snapshot.test + 1))
    epsilon /= snapshot.model.scale
    with np.errstate(under="ignore"):  # densities and tails that are next to nothing
        ways = [count_left(maxima, delta, log_share, epsilon) for maxima in _ways(snapshot, incumbent)]
    found = min(ways, key=lambda left: left.bound)
    above, error = found.above_epsilon, found.error
    return CountedGap(found.bound, incumbent, above, error, found.mean, found.mean_error, found.n_places)


def left_above(snapshot: Snapshot, epsilon: float, incumbent: int) -> float:
    """Return how many maxima better than a trial by more than ε are expected, at most 1 under each posterior.

    The snapshot must have no obstacle, and its draws derivatives.
    """
    with np.errstate(under="ignore"):
        return min(count_above(maxima, epsilon / snapshot.model.scale) for maxima in _ways(snapshot, incumbent))


def likely_optimum(snapshot: Snapshot, delta: float) -> float:
    """Return about the value, standardised, above which δ maxima are expected: a first look, and no bound.

    The snapshot must have no obstacle, and its draws derivatives.
    """
    incumbent = _best_trial(snapshot, delta)
    means = [each.mean_std(snapshot.data.points[[incumbent]])[0][0] for each in snapshot.model.posteriors]
    with np.errstate(under="ignore"):
        return float(np.mean(means)) + min(likely_level(maxima, delta) for maxima in _ways(snapshot, incumbent))


def _best_trial(snapshot: Snapshot, delta: float) -> int:
    """Return the index of the trial whose lower confidence bounds are the best on average."""
    half = upper_quantile(math.log(0.5 * delta))
    lower = [mean - half * std for mean, std in snapshot.at_data()]
    return int(np.argmax(np.mean(lower, axis=0)))


def _ways(snapshot: Snapshot, incumbent: int) -> list[list[ExpectedMaxima]]:
    """Return the ways to count what is better than a trial: either is a bound."""
    is_listed = snapshot.space.size <= _MOST_LISTED
    by_maxima = [False] if np.any(snapshot.space.categories == 0) or not is_listed else []
    by_setting = [True] if is_listed else []
    return [_maxima(snapshot, incumbent, by_setting=way) for way in (*by_maxima, *by_setting)]


def _maxima(snapshot: Snapshot, incumbent: int, *, by_setting: bool) -> list[ExpectedMaxima]:
    """Return what counts the maxima, or the settings, that are better than a trial, for each posterior."""
    rng = np.random.default_rng([snapshot.model.maximizers[0].seed, snapshot.data.n_observations])
    points = snapshot.data.all_points  # a hill that is known to be there is one, feasible or not
    return [
        ExpectedMaxima(
            posterior,
            snapshot.space,
            snapshot.data.points[incumbent],
            points[np.argsort(-posterior.mean_std(points)[0])[:_N_CENTERS]],
            rng,
            snapshot.data.n_observations,
            by_setting,
        )
        for posterior in snapshot.model.posteriors
        if isinstance(posterior, HasJets)
    ]

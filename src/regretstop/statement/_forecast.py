"""How many more evaluations it takes until the bound is below ε: a forecast from what certificates have said so far.

It is statistics of past searches, and no part of any proof. Some searches come to a stop, and of these the logarithm of
how many more evaluations they take is about normal; others do not within sight (a mixture cure model):

    P(at most m more) = π Φ((log m − μ)/τ),   π = 1/(1 + e^(−a·x)),   μ = b·x

| x | |
|---|---|
| log n | n observations so far |
| y = log(bound/ε) | the median of the last three tests, at least 0 |
| log left | the latest probability that something better by more than ε remains, at least 0.001 |
| own | 1 where `GPUCB` chooses the points, which look for what the bound asks; else 0 |

The constants are the likeliest for half of the searches of `python -m benchmarks forecast`, those that were cut off
included; how often intervals held in the other half is in benchmarks/RESULTS.md.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Literal, NamedTuple

from regretstop.statement._statement import Statement

LEVEL = 0.8
# So many times as many evaluations as there were: what is further is not in sight.
SIGHT = 3
# Tests with a finite bound that there have to be.
FEWEST = 4
_LEAST_LEFT = 1e-3
_NOT_IN_SIGHT = {"trend": "not in sight", "noise": "not at this noise"}


class Weights(NamedTuple):
    """What the constants of a linear form are multiplied with."""

    constant: float
    log_n: float
    excess: float
    log_left: float
    own: float


# a, b and τ.
STOPPING = Weights(5.83, -1.74, -0.432, -0.212, 1.02)
DURATION = Weights(2.25, 0.492, 0.141, 0.266, -1.01)
SPREAD = 0.779


class Said(NamedTuple):
    """What is known of an earlier certificate: its number of observations, its bound, and the probability left."""

    n: int
    bound: float
    left: float | None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """How many more evaluations it takes until the bound is below ε, as past searches went on.

    `print(forecast)` says it in words.

    Attributes:
        low: At least so many, or more than are in sight.
        median: As likely fewer as more; None where that is not in sight.
        high: At most so many, with a probability of `level` together with `low`; None where that is not in sight.
        sight: How many more evaluations are in sight.
        level: The probability of the interval, 0.8.
        reason: Of a stop that is not in sight: "noise" where the noise that the model reckons with would alone keep
            the bound up for longer than that; else "trend".
    """

    low: int
    median: int | None
    high: int | None
    sight: int
    level: float = LEVEL
    reason: Literal["trend", "noise"] = "trend"

    @property
    def is_in_sight(self) -> bool:
        """Whether the bound may be below ε within sight."""
        return self.low <= self.sight

    def __str__(self) -> str:
        if not self.is_in_sight:
            return f"{_NOT_IN_SIGHT[self.reason]}, within {self.sight} more evaluations"
        span = f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"
        if self.median is None:
            return f"{span} more evaluations, with {self.level:.0%}"
        return f"about {self.median} more evaluations, with {self.level:.0%} {span}"

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Return the forecast as strict JSON."""
        return asdict(self)


def forecast(certificates: Sequence[Statement], *, own_points: bool) -> Forecast | None:
    """Return how many more evaluations it takes until the bound is below ε.

    Args:
        certificates: Of one rule along one search, in order.
        own_points: Whether `GPUCB` chooses the points, or an adapter of it.

    Returns:
        None where the last one stops the search, is about no bound on a regret, or too few of them have a finite bound.
    """
    return forecast_after(map(said_by, certificates), certificates[-1], own_points=own_points) if certificates else None


def said_by(certificate: Statement) -> Said:
    """Return what a forecast has to know of an earlier certificate."""
    shown = certificate.shown
    return Said(shown.n_observations, shown.bound, None if shown.left is None else shown.left.probability)


def forecast_after(trail: Iterable[Said], now: Statement, *, own_points: bool) -> Forecast | None:
    """Return the same from what was kept of earlier certificates.

    Args:
        trail: Of these, in order; the latest may be among them.
        now: The latest.
        own_points: As for `forecast`.
    """
    shown = now.shown
    if now.stop or shown.measure != "regret" or not math.isfinite(shown.bound) or shown.epsilon <= 0.0:
        return None
    latest = said_by(now)
    known = {said.n: said for said in (*trail, latest) if math.isfinite(said.bound) and said.n <= latest.n}
    if len(known) < FEWEST:
        return None
    x = weights_of([known[n] for n in sorted(known)], shown.epsilon, own_points=own_points)
    sight = SIGHT * latest.n
    found = forecast_from(x, sight)
    # Fitted noise is too often too large to be more than the reason: many searches that it was to keep from stopping
    # within sight did stop (benchmarks/RESULTS.md).
    needs = shown.terms.get("noise_needs", 0)
    is_noise = not found.is_in_sight and isinstance(needs, int | float) and needs > latest.n + sight
    return replace(found, reason="noise") if is_noise else found


def weights_of(known: Sequence[Said], epsilon: float, *, own_points: bool) -> Weights:
    """Return x, for tests with finite bounds, at least three."""
    latest = known[-1]
    excess = sorted(math.log(max(said.bound, epsilon)) - math.log(epsilon) for said in known[-3:])[1]
    left = 1.0 if latest.left is None else max(latest.left, _LEAST_LEFT)
    return Weights(1.0, math.log(latest.n), excess, math.log(left), float(own_points))


def forecast_from(x: Weights, sight: int) -> Forecast:
    """Return the forecast for x, without a look at the noise."""
    tail = 0.5 * (1.0 - LEVEL)
    high = _quantile(x, 1.0 - tail, sight)
    # Where it is open above, all that may be missed lies below.
    low = _quantile(x, tail if high <= sight else 2.0 * tail, sight)
    median = _quantile(x, 0.5, sight)
    return Forecast(
        low=max(math.floor(low), 1) if low <= sight else sight + 1,
        median=max(round(median), 1) if median <= sight else None,
        high=max(math.ceil(high), 1) if high <= sight else None,
        sight=sight,
    )


def _quantile(x: Weights, probability: float, sight: int) -> float:
    """Return how many more evaluations are enough with this probability; infinite where none in sight are."""
    stopping = 1.0 / (1.0 + math.exp(-_combined(STOPPING, x)))
    if probability >= stopping:
        return math.inf
    log = _combined(DURATION, x) + SPREAD * NormalDist().inv_cdf(probability / stopping)
    return math.exp(log) if log <= math.log(sight) else math.inf


def _combined(weights: Weights, x: Weights) -> float:
    return math.fsum(weight * each for weight, each in zip(weights, x, strict=True))

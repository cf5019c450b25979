"""The constants of a forecast, from recorded searches: the likeliest ones, those that were cut off included."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

from regretstop.statement._forecast import DURATION, FEWEST, SPREAD, STOPPING, Said, Weights, weights_of

Record = dict[str, Any]
# After so many evaluations a forecast is made.
MOMENTS = (10, 14, 20, 28, 40, 56, 80)
# Of all squares but those of the first constants: searches of one problem are alike, and there are few problems.
_RIDGE = 0.02
_DIM = len(Weights._fields)


@dataclass(frozen=True)
class Moment:
    """A moment of a search.

    Attributes:
        n: After how many evaluations.
        x: What a forecast knows.
        more: How many more there were to the stop, or to the end of the record.
        is_cut_off: Whether the record ends without a stop.
    """

    n: int
    x: Weights
    more: int
    is_cut_off: bool


def moments_of(record: Record) -> Iterator[Moment]:
    """Yield the moments of a search at which a forecast can be made."""
    ends = record["n"][-1]
    said = [
        Said(n, math.inf if bound is None else bound, left)
        for n, bound, left in zip(record["n"], record["bounds"], record["left"], strict=True)
    ]
    for n in MOMENTS:
        known = [each for each in said[:n] if math.isfinite(each.bound)]
        if n < ends and len(known) >= FEWEST and known[-1].n == n:
            x = weights_of(known, record["epsilon"], own_points=record["sampler"] == "GPUCB")
            yield Moment(n, x, ends - n, record["stop"] is None)


@dataclass(frozen=True)
class Constants:
    """What a forecast multiplies what it knows with: a, b and τ."""

    stopping: Weights
    duration: Weights
    spread: float


PRODUCT = Constants(STOPPING, DURATION, SPREAD)


def fitted(records: Sequence[Record], without: str | None = None) -> Constants:
    """Return the likeliest constants; each search counts as one, however many moments it has.

    Args:
        records: Of the searches.
        without: What the forecast is not to know.
    """
    data = _Data(records, without)
    starts = [np.r_[first, np.zeros(_DIM - 1), 2.0, np.zeros(_DIM - 1), 0.0] for first in (0.0, 1.0)]

    def loss(p: NDArray[np.float64]) -> float:
        squares = float(np.sum(p[1:_DIM] ** 2) + np.sum(p[_DIM + 1 : 2 * _DIM] ** 2))
        return data.loss(p) + _RIDGE * squares

    found = min((minimize(loss, start, method="BFGS") for start in starts), key=lambda result: float(result.fun))
    a, b = (Weights(*map(float, found.x[k : k + _DIM])) for k in (0, _DIM))
    return Constants(a, b, math.exp(float(found.x[-1])))


def log_loss(records: Sequence[Record], constants: Constants, without: str | None = None) -> float:
    """Return minus the mean log-likelihood of searches, the less the better."""
    data = _Data(records, without)
    return data.loss(np.r_[constants.stopping, constants.duration, math.log(constants.spread)]) / data.n_searches


class _Data:
    """The moments of searches as arrays."""

    def __init__(self, records: Sequence[Record], without: str | None) -> None:
        searches = [found for record in records if (found := list(moments_of(record)))]
        moments = [moment for each in searches for moment in each]
        self.n_searches = len(searches)
        self._x = np.array([moment.x for moment in moments])
        if without is not None:
            self._x[:, Weights._fields.index(without)] = 0.0
        self._log_more = np.log([moment.more for moment in moments])
        self._is_cut_off = np.array([moment.is_cut_off for moment in moments])
        self._shares = np.array([1.0 / len(each) for each in searches for _ in each])

    def loss(self, p: NDArray[np.float64]) -> float:
        log_spread = float(np.clip(p[-1], -3.0, 3.0))
        stopping = 1.0 / (1.0 + np.exp(-np.clip(self._x @ p[:_DIM], -30.0, 30.0)))
        z = (self._log_more - self._x @ p[_DIM : 2 * _DIM]) / math.exp(log_spread)
        seen = np.log(stopping + 1e-12) + norm.logpdf(z) - log_spread - self._log_more
        unseen = np.log(1.0 - stopping + stopping * norm.sf(z) + 1e-12)
        return -float(np.sum(self._shares * np.where(self._is_cut_off, unseen, seen)))

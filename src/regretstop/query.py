"""The GP-UCB query, the maximiser of μ + √β σ, for each meaning of β."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regretstop.acquisition import UpperConfidenceBound
from regretstop.bound import theory_sqrt_beta
from regretstop.fitted import Fitted
from regretstop.grid import grid_for
from regretstop.maximize import Search
from regretstop.risk import RiskLedger, ledger_for
from regretstop.rules.gap import certified_gap
from regretstop.slopes import log_n_exact, sloped_axes, slopes_are_known
from regretstop.snapshot import Snapshot
from regretstop.space import Space

Array = NDArray[np.float64]

# The risk behind the widths of beta="theory" and "matched" when the sampler asks for the next point; a rule uses
# its own δ. It changes where the sampler looks, never what a certificate says.
_DELTA = 0.05
_N_L = 10.0


def query(fitted: Fitted, snapshot: Snapshot) -> Array:
    """Return the encoded query, shape (d,).

    Args:
        fitted: The model, with what keeps the query away from evaluations that have no value yet.
        snapshot: Of the completed observations; β is the snapshot's.
    """
    if snapshot.beta == "matched" and snapshot.obstacle is None:
        point = _matched(fitted, snapshot)
        if point is not None:
            return point
    return fitted.chooser.maximize(UpperConfidenceBound(_sqrt_beta(fitted.chooser, snapshot))).point


def _matched(fitted: Fitted, snapshot: Snapshot) -> Array | None:
    """Return the maximiser that keeps the certified gap open, None where there is no gap or no such point."""
    searches = fitted.searches
    seen = replace(snapshot, searches=searches, posteriors=tuple(search.posterior for search in searches))
    gap = certified_gap(seen, _ledger(snapshot.space))
    return None if gap is None else gap.query


def _sqrt_beta(search: Search, snapshot: Snapshot) -> float:
    if not isinstance(snapshot.beta, str):
        return math.sqrt(snapshot.beta)
    space = snapshot.space
    dim = int(np.sum(sloped_axes(space)))
    reach = 0.0
    if dim and slopes_are_known(space, search.posterior):
        slopes = grid_for(space, search.posterior, _ledger(space).slope_risk).slopes
        reach = dim * math.exp(float(np.mean(np.log(slopes))))
    return theory_sqrt_beta(snapshot.n_observations + 1, dim, _DELTA, reach, log_n_exact(space))


def _ledger(space: Space) -> RiskLedger:
    return ledger_for(space, _DELTA, _N_L, None)

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
from regretstop.repetition import is_worth_repeating
from regretstop.risk import RiskLedger, ledger_for
from regretstop.rules.gap import Gap, certified_gap
from regretstop.slopes import log_n_exact, sloped_axes, slopes_are_known
from regretstop.snapshot import Snapshot
from regretstop.space import Space
from regretstop.visited import Visited

Array = NDArray[np.float64]

# The risk behind the widths of beta="theory" and "matched" when the sampler asks for the next point; a rule uses
# its own δ. It changes where the sampler looks, never what a certificate says.
_DELTA = 0.05
_N_L = 10.0


def query(fitted: Fitted, snapshot: Snapshot, visited: Visited, *, repeats: bool) -> Array:
    """Return the encoded query, shape (d,).

    Args:
        fitted: The model, with what keeps the query away from evaluations that have no value yet.
        snapshot: Of the completed observations; β is the snapshot's.
        visited: What was evaluated, or is being. Where the maximiser is among it and is not worth repeating, the best
            point that is not takes its place, as long as there is one.
        repeats: Whether a repeat can tell anything.
    """
    point, width = _query(fitted, snapshot)
    if not visited.among(point[None])[0]:
        return point
    new = fitted.chooser.maximize_new(UpperConfidenceBound(width), visited)
    if new is None:
        return point
    others = np.vstack([fitted.inside, new.point])
    if repeats and is_worth_repeating(fitted.chooser.posterior, point, others, width):
        return point
    return new.point


def _query(fitted: Fitted, snapshot: Snapshot) -> tuple[Array, float]:
    """Return the query, shape (d,), and √β of the acquisition that it maximises."""
    if snapshot.beta == "matched" and snapshot.obstacle is None:
        gap = _matched(fitted, snapshot)
        if gap is not None and gap.query is not None:
            return gap.query, gap.sqrt_alpha
    width = _sqrt_beta(fitted.chooser, snapshot)
    return fitted.chooser.maximize(UpperConfidenceBound(width)).point, width


def _matched(fitted: Fitted, snapshot: Snapshot) -> Gap | None:
    """Return the certified gap, with the maximiser that keeps it open; None where there is no gap."""
    searches = fitted.searches
    seen = replace(snapshot, searches=searches, posteriors=tuple(search.posterior for search in searches))
    return certified_gap(seen, _ledger(snapshot.space))


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

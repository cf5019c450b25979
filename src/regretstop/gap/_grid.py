"""The optimality gap of one evaluated trial by a grid.

For any trial x̂ chosen from the data, and any grid with error h on the event that the slopes hold,

    f* − f(x̂) ≤ max_x [μ_n(x) + √α σ_n(x)] − [μ_n(x̂) − √η σ_n(x̂)] + h

with probability at least 1 − Q(√η) − |grid| Q(√α) − P(slopes fail), Q the upper normal tail (docs/theory.md, The
optimality gap, with the proof; it is the paper's Lemmas B.6 to B.9 at x̂ in place of x_t). It asks nothing of the
sampler that chose the points. The share of the risk and h may depend on the data, because the two tails are
conditional on the data; the slopes hold or fail once for all tests.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from regretstop.array import Array
from regretstop.bound import MATCHED, RiskLedger, Widths, grid_for, settle_cost, slopes_are_known, solve_widths
from regretstop.normal import upper_quantile
from regretstop.search import How, Maximizes, UpperConfidenceBound, coarse_maximizers, largest_of
from regretstop.snapshot import Snapshot, std_floor

# The trial that is certified is named by half the risk that its test would have with this δ, the default of all rules
# (docs/theory.md, Estimated hyperparameters, says why not by the rule's own).
_NAMING_DELTA = 0.05
# Relative to the prior deviation: below this a deviation costs nothing. Ten such make 1e-8, less than
# the √(2⁻⁵²) that rounding leaves of a deviation of 0, whose square is a difference of numbers near 1.
_LEAST_COST = 1e-9


@dataclass(frozen=True)
class Gap:
    """The certified gap, in standardised units but for the bound.

    Attributes:
        bound: Upper bound on the regret of x̂, in the objective's units: the worst over the posteriors.
        lower: Lower confidence bound of x̂ under the worst posterior.
        incumbent: Index of x̂ among the snapshot's points.
        sqrt_alpha: √α of the worst posterior.
        sqrt_eta: √η of the worst posterior.
        grid_error: h of the worst posterior, standardised.
        log_n_grid: Log of its grid's size.
        how: How the maximum was obtained.
        open_point: The maximiser that keeps the gap open, shape (d,): where it jumps between a known and an unknown
            region as √α grows, the unknown one.
        std: σ_n(x̂) of the worst posterior.
        std_floor: Below which none of its deviations can be, however the evaluations are placed.
    """

    bound: float
    lower: float
    incumbent: int
    sqrt_alpha: float
    sqrt_eta: float
    grid_error: float
    log_n_grid: float
    how: How
    open_point: Array | None
    std: float
    std_floor: float


def slopes_known(snapshot: Snapshot) -> bool:
    """Return whether the slopes of draws are known under every posterior, without which there is no grid."""
    return all(slopes_are_known(snapshot.space, posterior) for posterior in snapshot.model.posteriors)


def certified_gap(snapshot: Snapshot, ledger: RiskLedger) -> Gap | None:
    """Return the gap of the best evaluated trial, None where it needs slopes that are not known.

    The snapshot must have no obstacle.
    """
    if not slopes_known(snapshot):
        return None
    log_risk = math.log(ledger.risk_of(snapshot.test))
    at_data = snapshot.at_data()
    # Under several posteriors the trial with the best average need not have the best bound: were it named by a width
    # that depends on δ, a larger δ could name one whose bound is larger.
    half = upper_quantile(log_risk + math.log(0.5 * _NAMING_DELTA / ledger.delta))
    incumbent = int(np.argmax(np.mean([mean - half * std for mean, std in at_data], axis=0)))

    def under(k: int, maximizer: Maximizes) -> Gap:
        return _gap_under(snapshot, k, maximizer, incumbent, *at_data[k], ledger, log_risk)

    coarse = [under(k, maximizer) for k, maximizer in enumerate(coarse_maximizers(snapshot.model.maximizers))]
    return largest_of(coarse, lambda k: under(k, snapshot.model.maximizers[k]), lambda gap: gap.bound)


def calibrated_gaps(snapshot: Snapshot, sqrt_beta: float) -> list[Gap]:
    """Return `max_x [μ(x) + √β σ_n(x)] − [μ(x̂) − √β σ_n(x̂)]` under each posterior, standardised; it proves nothing.

    See docs/theory.md, The optimality gap, "Calibrated". The snapshot must have no obstacle. x̂ is the best
    evaluated trial, the same for all posteriors.
    """
    at_data = snapshot.at_data()
    incumbent = int(np.argmax(np.mean([mean - sqrt_beta * std for mean, std in at_data], axis=0)))
    gaps: list[Gap] = []
    for (mean, std), maximizer in zip(at_data, snapshot.model.maximizers, strict=True):
        own_std, floor = float(std[incumbent]), std_floor(maximizer.posterior, snapshot.data.n_observations)
        maximum = maximizer.maximize(UpperConfidenceBound(sqrt_beta))
        highest = max(maximum.value, float(np.max(mean + sqrt_beta * std)))
        lower = float(mean[incumbent] - sqrt_beta * std[incumbent])
        how, point = maximum.how, maximum.point
        gaps.append(Gap(highest - lower, lower, incumbent, sqrt_beta, sqrt_beta, 0.0, 0.0, how, point, own_std, floor))
    return gaps


def calibrated_gap(snapshot: Snapshot, sqrt_beta: float) -> Gap:
    """Return the worst of the calibrated gaps, in the objective's units; the snapshot must have no obstacle."""
    return max((_in_units(snapshot, gap) for gap in calibrated_gaps(snapshot, sqrt_beta)), key=lambda gap: gap.bound)


def _in_units(snapshot: Snapshot, gap: Gap) -> Gap:
    return replace(gap, bound=float(snapshot.model.units.gain(gap.lower, np.array(gap.bound))))


def _gap_under(
    snapshot: Snapshot,
    k: int,
    maximizer: Maximizes,
    incumbent: int,
    mean: Array,
    std: Array,
    ledger: RiskLedger,
    log_risk: float,
) -> Gap:
    posterior = snapshot.model.posteriors[k]
    grid = grid_for(snapshot.space, posterior, ledger.slope_risk)
    prior_std = posterior.prior_std
    own_std = float(std[incumbent])
    lower_mean = float(mean[incumbent])
    gaps: dict[float, Gap] = {}

    def widths_for(alpha_std: float) -> tuple[Widths, float]:
        """Return the widths that this cost of √α implies, and the log of the grid's size."""
        widths = solve_widths(
            own_std / prior_std,
            alpha_std / prior_std,
            log_risk,
            grid.log_n_exact if grid.is_finite else grid.smooth,
        )
        assert widths is not None  # without a constraint there is always a solution
        size = grid.log_size(math.exp(-widths.log_error))
        return replace(widths, sqrt_alpha=upper_quantile(log_risk + math.log1p(-widths.share) - size)), size

    def respond(alpha_std: float) -> float:
        """Compute the gap for this cost of √α; return the cost at its maximiser."""
        widths, size = widths_for(alpha_std)
        sqrt_alpha, error = widths.sqrt_alpha, math.exp(-widths.log_error)
        maximum = maximizer.maximize(UpperConfidenceBound(sqrt_alpha))
        # The data themselves are candidates: a maximum below what is known there would be an under-estimate.
        highest = max(maximum.value, float(np.max(mean + sqrt_alpha * std)))
        # docs/theory.md, The optimality gap
        lower = lower_mean - widths.sqrt_eta * own_std
        gaps[alpha_std] = Gap(
            highest - lower + prior_std * error,
            lower,
            incumbent,
            sqrt_alpha,
            widths.sqrt_eta,
            prior_std * error,
            size,
            maximum.how,
            maximum.point if maximum.std * MATCHED >= alpha_std else None,
            own_std,
            std_floor(posterior, snapshot.data.n_observations),
        )
        return max(maximum.std, _LEAST_COST * prior_std)

    # By the envelope theorem √α costs the deviation at the maximiser; any cost gives a valid bound. The best candidate
    # has nearly that deviation, which mostly saves the second search.
    least = _LEAST_COST * prior_std
    widths, _ = widths_for(max(own_std, least))
    settle_cost(max(maximizer.best_candidate(UpperConfidenceBound(widths.sqrt_alpha)).std, least), respond)
    best = min(gaps.values(), key=lambda gap: gap.bound)
    open_points = [gaps[cost].open_point for cost in sorted(gaps, reverse=True) if gaps[cost].open_point is not None]
    return _in_units(snapshot, replace(best, open_point=open_points[0] if open_points else None))

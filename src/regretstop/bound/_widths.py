r"""Choosing the widths √η, √α and the analytic grid that make a bound smallest.

| paper | here | |
|---|---|---|
| √β_t, √η_t, √α_t, eq. (4), (7) | `sqrt_beta`, `sqrt_eta`, `sqrt_alpha` | confidence widths in posterior deviations |
| \|𝔻_t\|, eq. (8) | `log_n_grid` | points of the analytic grid |

Further notation as in `regretstop.bound`; everything is in units of the prior deviation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy.special import log_ndtr

from regretstop.bound._grid import LogGrid
from regretstop.normal import mills_ratio, upper_quantile

# Where so many rounds do not settle, the scan takes over; so many points of it are about 1 apart in x, a factor of e in
# the grid's error, and the least is refined. Either way the bound is valid, and only its tightness is at stake.
_MAX_ROUNDS = 60
_N_SCAN = 64
# The value is flat at its minimum: what is wrong here is squared there.
_TOLERANCE = 1e-6
# Closer in x than this two runs are on their way to the same end.
_MET = 1e-3
# e^(−60) = 9e-27, beyond which it is below the rounding of any bound worth printing.
_MAX_LOG_ERROR = 60.0
# Costs are matched to 5 %, or until the bracket has been halved often enough. Every cost tried gives a valid bound, so
# that both only trade tightness for searches of the space.
_MATCHING_ROUNDS = 8
MATCHED = 1.05


@dataclass(frozen=True)
class Widths:
    """A solution of the subproblem.

    Attributes:
        sqrt_eta: √η, the width at the certified point.
        sqrt_alpha: √α, the width over the grid.
        log_error: x, where the grid leaves an error of e^(−x); infinite for a finite space.
        share: w in (0, 1), the part of the test's risk that pays for √η.
        value: √η c₁ + √α c₂ + e^(−x).
        is_settled: Whether the conditions of optimality hold.
    """

    sqrt_eta: float
    sqrt_alpha: float
    log_error: float
    share: float
    value: float
    is_settled: bool = True


def solve_widths(
    eta_cost: float,
    alpha_cost: float,
    log_risk: float,
    log_grid: LogGrid | float,
    max_sqrt_alpha: float = math.inf,
) -> Widths | None:
    """Minimise √η c₁ + √α c₂ + e^(−x) over the share w and the grid error e^(−x), √α at most a given width.

    This is the paper's subproblem, eq. (10), with its risk constraint active and in two variables (docs/theory.md, The
    paper's bound). √η = z(log p + log w) and √α = z(log p + log(1 − w) − log|𝔻|(x)), z the upper normal quantile, are
    eq. (7). At a minimum

        w / (1 − w) = c₁ m(√η) / (c₂ m(√α)),    e^(−x) = c₂ m(√α) d log|𝔻|/dx        (m the Mills ratio).

    Both right-hand sides move the same way as w and x do, but for the growth of the grid, which is constant once an
    axis has a few points. So alternating the two closes in from either side: one run starts from a coarse grid, one
    from a fine one, and the better end is taken. Where the grid has hardly a point per axis they can cycle instead;
    then x is scanned, with the best w for each. Any (w, x) gives a valid bound; that this one is the least is tested
    against a dense search.

    Args:
        eta_cost: c₁ ≥ 0.
        alpha_cost: c₂ ≥ 0.
        log_risk: log p of this test.
        log_grid: The grid, or the log of the size of a finite space (then x is infinite).
        max_sqrt_alpha: The largest √α allowed.

    Returns:
        The best widths, or None if none satisfy the constraint.
    """
    if callable(log_grid):
        grid = log_grid
        low = _settle(eta_cost, alpha_cost, log_risk, grid, 0.0)
        high = _settle(eta_cost, alpha_cost, log_risk, grid, _MAX_LOG_ERROR, other=low)
        best = low if low.value <= high.value else high
        if not (low.is_settled and high.is_settled):
            best = min(best, _scan(eta_cost, alpha_cost, log_risk, grid), key=lambda widths: widths.value)
    else:
        grid = _constant(log_grid)
        best = _settle(eta_cost, alpha_cost, log_risk, grid, math.inf)
    if best.sqrt_alpha <= max_sqrt_alpha:
        return best
    return _on_the_constraint(eta_cost, alpha_cost, log_risk, grid, best.log_error, max_sqrt_alpha)


def _constant(log_size: float) -> LogGrid:
    return lambda _x: (log_size, 0.0)


def _settle(
    eta_cost: float, alpha_cost: float, log_risk: float, log_grid: LogGrid, x: float, other: Widths | None = None
) -> Widths:
    """Alternate the two optimality conditions from x (held where it is infinite) until neither moves.

    A run that comes close to where another one ended would end there too.
    """
    share, c1, c2 = 0.5, max(eta_cost, 1e-300), max(alpha_cost, 1e-300)
    is_finite, settled = math.isinf(x), False
    error = 0.0 if is_finite else math.exp(-x)
    for _ in range(_MAX_ROUNDS):
        size, growth = log_grid(x)
        sqrt_eta = upper_quantile(log_risk + math.log(share))  # paper, eq. (7), and so for √α
        sqrt_alpha = upper_quantile(log_risk + math.log1p(-share) - size)
        pull_eta, pull_alpha = c1 * mills_ratio(sqrt_eta), c2 * mills_ratio(sqrt_alpha)
        # w/(1 − w) = c₁ m(√η) / (c₂ m(√α)), kept off 0 and 1, where one of the widths would be infinite.
        new_share = min(max(pull_eta / (pull_eta + pull_alpha), 1e-12), 1.0 - 1e-12)
        moved = abs(new_share - share) / new_share
        share = new_share
        if not is_finite:
            # e^(−x) = c₂ m(√α) d log|𝔻|/dx. A grid of error above the prior deviation says nothing; one finer than
            # rounding costs nothing more.
            new_x = min(max(-math.log(max(pull_alpha * growth, 1e-300)), 0.0), _MAX_LOG_ERROR)
            moved = max(moved, abs(new_x - x))
            x, error = new_x, math.exp(-new_x)
        if other is not None and abs(x - other.log_error) < _MET:
            return other
        settled = moved < _TOLERANCE
        if settled:
            break
    size, _ = log_grid(x)
    sqrt_eta = upper_quantile(log_risk + math.log(share))
    sqrt_alpha = upper_quantile(log_risk + math.log1p(-share) - size)
    return Widths(sqrt_eta, sqrt_alpha, x, share, eta_cost * sqrt_eta + alpha_cost * sqrt_alpha + error, settled)


def _scan(eta_cost: float, alpha_cost: float, log_risk: float, log_grid: LogGrid) -> Widths:
    """Return the least of a scan of x, each with its best w, refined around the least."""
    from scipy.optimize import minimize_scalar  # rarely needed, and slow to import

    def at(x: float) -> Widths:
        size, _ = log_grid(x)
        widths = _settle(eta_cost, alpha_cost, log_risk, _constant(size), math.inf)
        return replace(widths, log_error=x, value=widths.value + math.exp(-x))

    step = _MAX_LOG_ERROR / _N_SCAN
    least = min((at(k * step) for k in range(_N_SCAN + 1)), key=lambda widths: widths.value)
    around = (max(least.log_error - step, 0.0), least.log_error + step)
    refined = at(float(minimize_scalar(lambda x: at(x).value, bounds=around, method="bounded").x))
    return min(least, refined, key=lambda widths: widths.value)


def _on_the_constraint(
    eta_cost: float,
    alpha_cost: float,
    log_risk: float,
    log_grid: LogGrid,
    x: float,
    sqrt_alpha: float,
) -> Widths | None:
    """Minimise along √α = its largest value: there 1 − w = Q(√α) |𝔻|(x) / p leaves one variable (paper, eq. (7)).

    The derivative c₁ m(√η) d log|𝔻|/dx (1 − w)/w − e^(−x) rises with x, so a bracket finds its root.
    """
    log_tail = float(log_ndtr(-sqrt_alpha)) - log_risk

    def share_at(point: float) -> float:
        exponent = log_tail + log_grid(point)[0]
        return -math.expm1(exponent) if exponent < 0.0 else 0.0

    def slope(point: float) -> float:
        share = share_at(point)
        if share <= 0.0:
            return math.inf
        sqrt_eta = upper_quantile(log_risk + math.log(share))
        return eta_cost * mills_ratio(sqrt_eta) * log_grid(point)[1] * (1.0 - share) / share - math.exp(-point)

    is_finite = math.isinf(x)
    if not is_finite:
        from scipy.optimize import brentq  # slow to import

        if share_at(0.0) <= 0.0:
            return None
        # The free minimum has √α above the limit, so the constrained one lies on a coarser grid, mostly a little.
        low, high = max(x - 1.0, 0.0), max(x, 1.0)
        if slope(low) >= 0.0:
            low, high = 0.0, low
        x = 0.0 if slope(low) >= 0.0 else float(brentq(lambda v: min(slope(v), 1.0), low, high, xtol=_TOLERANCE))
    share = share_at(x)
    if share <= 0.0:
        return None
    sqrt_eta = upper_quantile(log_risk + math.log(share))
    error = 0.0 if is_finite else math.exp(-x)
    return Widths(sqrt_eta, sqrt_alpha, x, share, eta_cost * sqrt_eta + alpha_cost * sqrt_alpha + error)


def settle_cost(start: float, response: Callable[[float], float]) -> None:
    """Call `response` with costs that close in on where it equals its argument, or jumps across it.

    The width √α of an upper confidence bound costs the deviation at its maximiser, and a costlier width is chosen
    smaller, which moves the maximiser to where less is unknown. Where it jumps, repeating "cost = response" goes back
    and forth between the two sides; a bracket does not.

    Args:
        start: First cost to try, positive.
        response: What is called for every cost that is tried; non-increasing, positive.
    """
    low, high = 0.0, math.inf
    cost = start
    for tried in range(_MATCHING_ROUNDS):
        answer = response(cost)
        if answer >= cost:
            low, high = cost, min(high, answer)
        else:
            low, high = max(low, answer), cost
        if high <= low * MATCHED:
            return
        cost = answer if tried == 0 else math.sqrt(low * high)

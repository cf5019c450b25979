"""The paper's instantaneous regret bound for GP-UCB, and the subproblem behind it.

| paper | here | |
|---|---|---|
| c₁(t) = σ_{t−1}(x_t) | `posterior_std` | at the point that GP-UCB queries |
| c₂(t) = σ √(1/(t+σ²)) | `std_floor` | no posterior deviation can be below it |
| s_t, n_η, n_α | `s`, `n_eta`, `n_alpha` | free parameters, chosen to make the bound smallest |
| w | `share` | 1/n_η = q w and 1/n_α = q (1 − w), q = δ (1 − 1/n_L) |

Everything is in units of the prior deviation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import log_ndtr

from regretstop.confidence import log_pi, mills_ratio, upper_quantile

LogGrid = Callable[[float], tuple[float, float]]
"""x ↦ (log |𝔻|, its derivative) for the grid with error e^(−x)."""

_MAX_ROUNDS = 60
_TOLERANCE = 1e-9
_MET = 1e-3
# e^(−x) beyond this is below the rounding of any bound worth printing.
_MAX_LOG_ERROR = 60.0
# Numbers copied from a table have three digits.
_ROUNDED = 1e-3


@dataclass(frozen=True)
class Widths:
    """A solution of the subproblem.

    Attributes:
        sqrt_eta: √η, the width at the certified point.
        sqrt_alpha: √α, the width over the grid.
        log_error: x, where the grid leaves an error of e^(−x); infinite for a finite space.
        share: w in (0, 1), the part of the test's risk that pays for √η.
        value: √η c₁ + √α c₂ + e^(−x).
    """

    sqrt_eta: float
    sqrt_alpha: float
    log_error: float
    share: float
    value: float


@dataclass(frozen=True)
class RegretBound:
    """The paper's bound at one iteration, in units of the prior deviation.

    Attributes:
        value: c_t, eq. (ucb-inst-regret-new-form-solution); infinite if no parameters satisfy the constraints, or
            if σ_{t−1}(x_t) is below the floor, which no GP with this noise allows.
        sqrt_beta: √β_t.
        sqrt_eta: √η_t.
        sqrt_alpha: √α_t.
        s: s_t; the grid leaves an error of t^(−s).
        n_eta: n_η.
        n_alpha: n_α.
        existing: 2 √β_t σ_{t−1}(x_t) + 1/t², the bound of Srinivas et al. that the paper improves on.
    """

    value: float
    sqrt_beta: float
    sqrt_eta: float
    sqrt_alpha: float
    s: float
    n_eta: float
    n_alpha: float
    existing: float


def instantaneous_regret_bound(
    *,
    t: int,
    posterior_std: float,
    noise_std: float,
    dim: int,
    delta: float,
    n_L: float = 10.0,
    a: float = 1.0,
    b: float = 1.0,
    side: float = 1.0,
) -> RegretBound:
    """Return an upper bound on f* − f(x_t) for the t-th query of GP-UCB (the paper's Theorem 3.5).

        r_t ≤ (√β_t + √η_t) σ_{t−1}(x_t) − (√β_t − √α_t) σ √(1/(t+σ²)) + t^(−s_t)

    It holds for all t at once with probability at least 1 − δ if f is a draw of the GP with unit prior deviation on
    [0, side]^dim, x_t maximises μ + √β_t σ with this very β_t, and P(Lipschitz constant > L) ≤ dim a exp(−L²/b²).

    Args:
        t: Iteration; t − 1 observations have been made. At least 2, as t^(−s) says nothing at t = 1.
        posterior_std: σ_{t−1}(x_t).
        noise_std: σ, a deviation.
        dim: d.
        delta: δ.
        n_L: δ/n_L is kept for the Lipschitz constant.
        a: Assumption on the Lipschitz constant.
        b: Assumption on the Lipschitz constant.
        side: r.

    Returns:
        The bound with the parameters that minimise it.

    Raises:
        ValueError: If an argument is out of its range.
    """
    if t < 2:
        raise ValueError(f"t must be at least 2, got {t!r}")
    if dim < 1:
        raise ValueError(f"dim must be at least 1, got {dim!r}")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1), got {delta!r}")
    if not n_L > 1.0:
        raise ValueError(f"n_L must be above 1, got {n_L!r}")
    if not (posterior_std >= 0.0 and math.isfinite(posterior_std)):
        raise ValueError(f"posterior_std must be finite and at least 0, got {posterior_std!r}")
    if not (noise_std >= 0.0 and math.isfinite(noise_std)):
        raise ValueError(f"noise_std must be finite and at least 0, got {noise_std!r}")
    for name, value in (("a", a), ("b", b), ("side", side)):
        if not (value > 0.0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, got {value!r}")
    if n_L * dim * a <= delta:
        raise ValueError(f"n_L·dim·a must be above delta for a Lipschitz level, got n_L={n_L!r}, a={a!r}")

    def reach(risk: float) -> float:
        """Return d r L for the Lipschitz level L that fails with probability at most `risk`."""
        return dim * side * b * math.sqrt(math.log(dim * a / risk))

    sqrt_beta = theory_sqrt_beta(t, dim, delta, reach(delta / 4.0) if 4.0 * dim * a > delta else 0.0)
    log_risk = math.log(delta * (1.0 - 1.0 / n_L)) - log_pi(t)
    theorem = Theorem(t, log_risk, noise_std, (math.log(reach(delta / n_L)),) * dim)
    return theorem.bound(posterior_std, sqrt_beta)


def theory_sqrt_beta(t: int, dim: int, delta: float, reach: float, log_n_discrete: float = 0.0) -> float:
    """Return √β_t, eq. (ucb-bay-beta), for `reach` = d r L at the Lipschitz risk δ/4.

        β_t = 2 log(4 π_t |discrete| / δ) + max(4 d log(t g), 2 d log(t² g)),   g = d r b √log(4 d a / δ)

    The paper prints the first of the two terms, which is below Srinivas' where g < 1, and then α_t = β_t is not
    feasible. Without continuous axes the second term vanishes.

    Args:
        t: Iteration.
        dim: Number of axes with a slope.
        delta: δ.
        reach: g; 0 stands for no slope.
        log_n_discrete: Log of the number of settings of the discrete axes.
    """
    beta = 2.0 * (math.log(4.0 / delta) + log_pi(t) + log_n_discrete)
    if dim and reach > 0.0:
        log_g = math.log(reach)
        beta += max(4.0 * dim * (math.log(t) + log_g), 2.0 * dim * (2.0 * math.log(t) + log_g), 0.0)
    return math.sqrt(max(beta, 0.0))


@dataclass(frozen=True)
class Theorem:
    """The theorem at one iteration: everything but the query and the width that it maximises.

    The analytic grid has `Π_j max(1, d r L_j t^s) + 1` points for each setting of the discrete axes; for equal slopes
    this is the paper's.

    Attributes:
        t: Iteration.
        log_risk: Log of the risk of this test, q/π.
        noise_std: σ.
        log_reaches: log(d r L_j) of the d axes with a slope; empty for a finite space.
        log_n_discrete: Log of the number of settings of the discrete axes.
    """

    t: int
    log_risk: float
    noise_std: float
    log_reaches: tuple[float, ...]
    log_n_discrete: float = 0.0

    def log_grid(self, x: float) -> tuple[float, float]:
        """Return log |𝔻| for a grid of error e^(−x), and its derivative."""
        exponent, active = 0.0, 0
        for log_reach in self.log_reaches:
            if log_reach + x > 0.0:  # a coarser axis still has one point
                exponent += log_reach + x
                active += 1
        if exponent > 30.0:  # the "+ 1" of the ceiling has vanished
            return self.log_n_discrete + exponent, float(active)
        grown = math.exp(exponent)
        return self.log_n_discrete + math.log1p(grown), active * grown / (1.0 + grown)

    def bound(self, posterior_std: float, sqrt_beta: float) -> RegretBound:
        """Return the bound for a query of this deviation that maximises μ + √β σ."""
        std_floor = self.noise_std / math.sqrt(self.t + self.noise_std**2)
        # A deviation below the floor by more than rounding belongs to a GP with other noise: then nothing is proved.
        is_void = posterior_std < std_floor * (1.0 - _ROUNDED)
        posterior_std = max(posterior_std, std_floor)
        widths = solve_widths(posterior_std, std_floor, self.log_risk, self._grid, sqrt_beta)
        existing = 2.0 * sqrt_beta * posterior_std + 1.0 / self.t**2
        if widths is None or is_void:
            return RegretBound(math.inf, sqrt_beta, math.inf, math.inf, 0.0, math.inf, math.inf, existing)
        log_pi_t = log_pi(self.t)
        return RegretBound(
            value=sqrt_beta * (posterior_std - std_floor) + widths.value,
            sqrt_beta=sqrt_beta,
            sqrt_eta=widths.sqrt_eta,
            sqrt_alpha=widths.sqrt_alpha,
            s=widths.log_error / math.log(self.t),
            n_eta=math.exp(-self.log_risk - log_pi_t) / widths.share,
            n_alpha=math.exp(-self.log_risk - log_pi_t) / (1.0 - widths.share),
            existing=existing,
        )

    def matched_width(self, posterior_std: float) -> float:
        """Return the √α of the least (√α + √η) σ(x_t) + t^(−s): what √β = √α should be for such a query."""
        widths = solve_widths(posterior_std, posterior_std, self.log_risk, self._grid)
        assert widths is not None  # without a constraint there is always a solution
        return widths.sqrt_alpha

    @property
    def _grid(self) -> LogGrid | float:
        return self.log_grid if self.log_reaches else self.log_n_discrete


def solve_widths(
    eta_cost: float,
    alpha_cost: float,
    log_risk: float,
    log_grid: LogGrid | float,
    max_sqrt_alpha: float = math.inf,
) -> Widths | None:
    """Minimise √η c₁ + √α c₂ + e^(−x) over the share w and the grid error e^(−x), √α at most a given width.

    √η = z(log p + log w) and √α = z(log p + log(1 − w) − log|𝔻|(x)), z the upper normal quantile. The optimum in w
    at fixed x is unique (z is convex in p), and so is the optimum in x at fixed √α. Alternating the two exact
    conditions

        w / (1 − w) = c₁ m(√η) / (c₂ m(√α)),    e^(−x) = c₂ m(√α) d log|𝔻|/dx        (m the Mills ratio)

    is a monotone map, so the runs from a coarse and from a fine grid end at its lowest and highest fixed points:
    where they agree there is no other; where they differ, the better one is taken.

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

    A run from above that comes close to where the run from below ended has shown that nothing lies between.
    """
    share, c1, c2 = 0.5, max(eta_cost, 1e-300), max(alpha_cost, 1e-300)
    is_finite = math.isinf(x)
    error = 0.0 if is_finite else math.exp(-x)
    for _ in range(_MAX_ROUNDS):
        size, growth = log_grid(x)
        sqrt_eta = upper_quantile(log_risk + math.log(share))
        sqrt_alpha = upper_quantile(log_risk + math.log1p(-share) - size)
        pull_eta, pull_alpha = c1 * mills_ratio(sqrt_eta), c2 * mills_ratio(sqrt_alpha)
        # Kept off 0 and 1, where one of the widths would be infinite.
        new_share = min(max(pull_eta / (pull_eta + pull_alpha), 1e-12), 1.0 - 1e-12)
        moved = abs(new_share - share) / new_share
        share = new_share
        if not is_finite:
            # A grid of error above the prior deviation says nothing; one finer than rounding costs nothing more.
            new_x = min(max(-math.log(max(pull_alpha * growth, 1e-300)), 0.0), _MAX_LOG_ERROR)
            moved = max(moved, abs(new_x - x))
            x, error = new_x, math.exp(-new_x)
        if other is not None and abs(x - other.log_error) < _MET:
            return other
        if moved < _TOLERANCE:
            break
    size, _ = log_grid(x)
    sqrt_eta = upper_quantile(log_risk + math.log(share))
    sqrt_alpha = upper_quantile(log_risk + math.log1p(-share) - size)
    return Widths(sqrt_eta, sqrt_alpha, x, share, eta_cost * sqrt_eta + alpha_cost * sqrt_alpha + error)


def _on_the_constraint(
    eta_cost: float,
    alpha_cost: float,
    log_risk: float,
    log_grid: LogGrid,
    x: float,
    sqrt_alpha: float,
) -> Widths | None:
    """Minimise along √α = its largest value: there 1 − w = Q(√α) |𝔻|(x) / p leaves one variable.

    The derivative c₁ m(√η) d log|𝔻|/dx (1 − w)/w − e^(−x) rises with x, so bisection finds its root.
    """
    log_tail = float(log_ndtr(-sqrt_alpha)) - log_risk

    def share_at(point: float) -> float:
        exponent = log_tail + log_grid(point)[0]
        return -math.expm1(exponent) if exponent < 0.0 else 0.0

    is_finite = math.isinf(x)
    if not is_finite:
        low, high = 0.0, max(x, 1.0)
        if share_at(low) <= 0.0:
            return None
        for _ in range(100):
            x = 0.5 * (low + high)
            share = share_at(x)
            if share > 0.0:
                sqrt_eta = upper_quantile(log_risk + math.log(share))
                rising = eta_cost * mills_ratio(sqrt_eta) * log_grid(x)[1] * (1.0 - share) / share > math.exp(-x)
            else:
                rising = True
            low, high = (low, x) if rising else (x, high)
            if high - low < 1e-7:  # the value is flat to second order there
                break
        x = low
    share = share_at(x)
    if share <= 0.0:
        return None
    sqrt_eta = upper_quantile(log_risk + math.log(share))
    error = 0.0 if is_finite else math.exp(-x)
    return Widths(sqrt_eta, sqrt_alpha, x, share, eta_cost * sqrt_eta + alpha_cost * sqrt_alpha + error)

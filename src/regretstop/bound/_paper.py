"""The paper's instantaneous regret bound for GP-UCB.

| paper | here | |
|---|---|---|
| c₁(t) = σ_{t−1}(x_t), before eq. (10) | `posterior_std` | at the point that GP-UCB queries |
| c₂(t) = σ √(1/(t+σ²)), Lemma B.4 | `std_floor` | no posterior deviation can be below it |
| s_t, n_η, n_α, eq. (6) | `s`, `n_eta`, `n_alpha` | free parameters, chosen to make the bound smallest |
| – | `share` | w: 1/n_η = q w and 1/n_α = q (1 − w), q = δ (1 − 1/n_L): eq. (10), first constraint |

Everything is in units of the prior deviation.
"""

import math
from dataclasses import dataclass

from regretstop.bound._grid import LogGrid, paper_grid
from regretstop.bound._risk import log_pi
from regretstop.bound._widths import solve_widths
from regretstop.checks import check_at_least, check_between, check_number_or, check_positive

# Numbers copied from a table have three digits.
_ROUNDED = 1e-3


@dataclass(frozen=True)
class RegretBound:
    """The paper's bound at one iteration, in units of the prior deviation.

    Attributes:
        value: c_t (paper, eq. (12)); infinite if no parameters satisfy the constraints, or if σ_{t−1}(x_t) is below
            the floor, which no GP with this noise allows.
        sqrt_beta: √β_t.
        sqrt_eta: √η_t.
        sqrt_alpha: √α_t.
        s: s_t; the grid leaves an error of t^(−s).
        n_eta: n_η.
        n_alpha: n_α.
        existing: 2 √β_t σ_{t−1}(x_t) + 1/t², the bound of Srinivas et al. that the paper improves on (paper, eq. (5)).
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
    """Return an upper bound on f* − f(x_t) for the t-th query of GP-UCB (paper, Theorem 3.6).

        r_t ≤ (√β_t + √η_t) σ_{t−1}(x_t) − (√β_t − √α_t) σ √(1/(t+σ²)) + t^(−s_t)

    It holds for all t at once with probability at least 1 − δ if f is a draw of the GP with unit prior deviation on
    [0, side]^dim, x_t maximises μ + √β_t σ with this very β_t, and P(Lipschitz constant > L) ≤ dim a exp(−L²/b²)
    (paper, Assumption 2.1).

    Args:
        t: Iteration; t − 1 observations have been made. At least 2, as t^(−s) says nothing at t = 1.
        posterior_std: σ_{t−1}(x_t).
        noise_std: σ, a deviation.
        dim: d.
        delta: δ.
        n_L: δ/n_L is kept for the Lipschitz constant; the paper advises 10 or more (Remark 3.5).
        a: Assumption on the Lipschitz constant.
        b: Assumption on the Lipschitz constant.
        side: r.

    Returns:
        The bound with the parameters that minimise it.

    Raises:
        ValueError: If an argument is out of its range.
    """
    check_at_least("t", t, 2)
    check_at_least("dim", dim, 1)
    check_between("delta", delta, 0, 1)
    check_between("n_L", n_L, 1)
    check_number_or("posterior_std", posterior_std)
    check_number_or("noise_std", noise_std)
    for name, value in (("a", a), ("b", b), ("side", side)):
        check_positive(name, value)
    if n_L * dim * a <= delta:
        raise ValueError(f"n_L·dim·a must be above delta for a Lipschitz level, got n_L={n_L!r}, a={a!r}")

    def reach(risk: float) -> float:
        """Return d r L for the level L that fails with at most `risk`: Assumption 2.1 solved for L, as in eq. (8)."""
        return dim * side * b * math.sqrt(math.log(dim * a / risk))

    sqrt_beta = theory_sqrt_beta(t, dim, delta, reach(delta / 4.0) if 4.0 * dim * a > delta else 0.0)
    log_risk = math.log(delta * (1.0 - 1.0 / n_L)) - log_pi(t)
    theorem = Theorem(t, log_risk, noise_std, paper_grid(dim, math.log(reach(delta / n_L))))
    return theorem.bound(posterior_std, sqrt_beta)


def theory_sqrt_beta(t: int, dim: int, delta: float, reach: float, log_n_discrete: float = 0.0) -> float:
    """Return √β_t for `reach` = d r L at the Lipschitz risk δ/4 (paper, eq. (4); Srinivas et al. 2010, Theorem 2).

        β_t = 2 log(4 π_t |discrete| / δ) + max(4 d log(t g), 2 d log(t² g)),   g = d r b √log(4 d a / δ)

    The paper prints the first of the two terms, which is below Srinivas' where g < 1, and then α_t = β_t is not
    feasible (docs/theory.md, Errata of the paper, 3). Without continuous axes the second term vanishes.

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

    Attributes:
        t: Iteration.
        log_risk: Log of the risk of this test, q/π.
        noise_std: σ.
        grid: The analytic grid, or the log of the size of a finite space.
    """

    t: int
    log_risk: float
    noise_std: float
    grid: LogGrid | float

    def bound(self, posterior_std: float, sqrt_beta: float) -> RegretBound:
        """Return the bound for a query of this deviation that maximises μ + √β σ."""
        std_floor = self.noise_std / math.hypot(math.sqrt(self.t), self.noise_std)  # paper, Lemma B.4
        # A deviation below the floor by more than rounding belongs to a GP with other noise: then nothing is proved.
        is_void = posterior_std < std_floor * (1.0 - _ROUNDED)
        posterior_std = max(posterior_std, std_floor)
        widths = solve_widths(posterior_std, std_floor, self.log_risk, self.grid, sqrt_beta)
        existing = 2.0 * sqrt_beta * posterior_std + 1.0 / self.t**2  # paper, eq. (5)
        if widths is None or is_void:
            return RegretBound(math.inf, sqrt_beta, math.inf, math.inf, 0.0, math.inf, math.inf, existing)
        log_pi_t = log_pi(self.t)
        return RegretBound(
            value=sqrt_beta * (posterior_std - std_floor) + widths.value,  # paper, eq. (12)
            sqrt_beta=sqrt_beta,
            sqrt_eta=widths.sqrt_eta,
            sqrt_alpha=widths.sqrt_alpha,
            s=widths.log_error / math.log(self.t),  # e^(−x) = t^(−s)
            # 1/n_η = q w, where `log_risk` is log(q/π_t): paper, eq. (7) and the first constraint of (10).
            n_eta=math.exp(-self.log_risk - log_pi_t) / widths.share,
            n_alpha=math.exp(-self.log_risk - log_pi_t) / (1.0 - widths.share),
            existing=existing,
        )

    def matched_width(self, posterior_std: float) -> float:
        """Return the √α of the least (√α + √η) σ(x_t) + t^(−s): what √β = √α should be for such a query.

        With √β = √α the floor drops out of eq. (12): see docs/theory.md, The paper's bound, "Which β".
        """
        widths = solve_widths(posterior_std, posterior_std, self.log_risk, self.grid)
        assert widths is not None  # without a constraint there is always a solution
        return widths.sqrt_alpha

r"""Confidence widths and where the risk δ goes.

| paper | here | |
|---|---|---|
| √β_t, √η_t, √α_t | `sqrt_beta`, `sqrt_eta`, `sqrt_alpha` | confidence widths in posterior deviations |
| π_t | `log_pi` | weight of the t-th test; Σ 1/π_t = 1 |
| n_L | `n_L` | δ/n_L is the share of the risk kept for the slopes |
| \|𝔻_t\| | `log_n_grid` | points of the analytic grid |
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtri_exp

from regretstop.kernels import Kernel

Array = NDArray[np.float64]


def upper_quantile(log_p: float) -> float:
    """Return z with P(Z > z) = p for a standard normal Z; exact far into the tail because p comes as its log."""
    return -float(ndtri_exp(log_p))


def mills_ratio(z: float) -> float:
    """Return P(Z > z) / φ(z), which is −dz/d(log p) of `upper_quantile`."""
    return math.sqrt(math.pi / 2.0) * float(erfcx(z / math.sqrt(2.0)))


def log_pi(t: float) -> float:
    """Return log π_t with π_t = π² t² / 6."""
    return math.log(math.pi**2 / 6.0) + 2.0 * math.log(t)


@dataclass(frozen=True)
class RiskLedger:
    """How δ is spent: δ/n_L once on the slopes, the rest over the tests.

        δ = δ/n_L + Σ_k q/π_k,   q = δ (1 − 1/n_L)

    π_k = π²k²/6 where the tests may go on for ever, π_k = K where at most K tests will be made. Tests are indexed by
    the number of observations they see, so a resumed or parallel run spends nothing twice.

    Attributes:
        delta: δ.
        n_L: The slopes' share is δ/n_L; infinite where no slopes are needed.
        horizon: K, or None for an open end.
    """

    delta: float
    n_L: float
    horizon: int | None = None

    @property
    def slope_risk(self) -> float:
        """The risk kept for the slopes."""
        return self.delta / self.n_L

    @property
    def test_risk(self) -> float:
        """The risk q that all tests share."""
        return self.delta * (1.0 - 1.0 / self.n_L)

    def log_weight(self, test: int) -> float:
        """Return log π_k of the k-th test, k ≥ 1; infinite beyond the horizon."""
        if self.horizon is None:
            return log_pi(test)
        return math.log(self.horizon) if test <= self.horizon else math.inf

    def log_test_risk(self, test: int) -> float:
        """Return log(q/π_k), the risk of the k-th test; −∞ beyond the horizon."""
        return math.log(self.test_risk) - self.log_weight(test)

    def spent(self, tests: Iterable[int]) -> float:
        """Return the risk spent after the tests with these indices; an index counts once."""
        return self.slope_risk + self.test_risk * math.fsum(math.exp(-self.log_weight(k)) for k in set(tests))


def slope_levels(derivative_stds: Array, expected_suprema: Array, *, risk: float) -> Array:
    """Return L with P(sup_x |∂_j f(x)| > L_j for some j) ≤ risk, for a draw f of the prior.

        L_j = m_j + τ_j √(2 log(d / risk))            (Borell–TIS; m_j bounds E sup |∂_j f|)

    Args:
        derivative_stds: τ, shape (d,): prior deviation of ∂f/∂x_j per unit of x.
        expected_suprema: m, shape (d,), in the units of τ.
        risk: Probability that the levels fail, in (0, 1).

    Returns:
        L, shape (d,), in the units of τ.

    Raises:
        ValueError: If risk is not in (0, 1).
    """
    if not 0.0 < risk < 1.0:
        raise ValueError(f"risk must be in (0, 1), got {risk!r}")
    return expected_suprema + derivative_stds * math.sqrt(2.0 * math.log(len(derivative_stds) / risk))


def kernel_slopes(kernel: Kernel, lengthscales: Array, log_n_copies: float, *, risk: float) -> Array:
    """Return the slope levels of a draw with unit prior deviation on the unit cube.

    Args:
        kernel: The kernel family.
        lengthscales: ℓ of the d axes that have a slope, shape (d,).
        log_n_copies: Log of the number of settings of the remaining axes; the levels hold for all of them at once.
        risk: Probability that the levels fail, in (0, 1).

    Returns:
        L, shape (d,), per unit of x and in units of the prior deviation.
    """
    stds = math.sqrt(kernel.curvature) / lengthscales
    suprema = _expected_suprema(type(kernel), tuple(lengthscales.tolist()), log_n_copies)
    return slope_levels(stds, np.array(suprema), risk=risk)


@lru_cache(maxsize=256)
def _expected_suprema(kernel: type[Kernel], lengthscales: tuple[float, ...], log_n_copies: float) -> tuple[float, ...]:
    """Return m_j ≥ E sup |∂_j f| over the unit cube and all copies, for unit prior deviation, by chaining.

    Let g = ∂_j f, with deviation τ, and ω_k the deviation of ∂_k g. Stationary mixed fourth derivatives at zero
    vanish, so the deviation of g(x) − g(x') is at most √(Σ_k ω_k² Δ_k²). Cells with N_k = ⌈√d ω_k / (2 e)⌉ per
    axis have centres within e of every point in that metric. Follow a point through the centres for
    e_0 > e_1 = e_0/q > …, each cell hanging on one cell of the level before, so that level i has at most |N_i|
    increments of deviation at most min(e_{i−1}, 2τ). The maximum of N absolute values of Gaussians of deviation at
    most v has mean at most v √(2 log 2N), hence

        m = τ √(2 log 2|N_0|) + Σ_{i≥1} min(e_{i−1}, 2τ) √(2 log 2|N_i|).

    Every e_0 and q gives a valid bound; the least over a few of them is returned.
    """
    scales = np.array(lengthscales)
    d = len(scales)
    tau = math.sqrt(kernel.curvature) / scales
    omega = math.sqrt(4.0 * kernel.fourth) / np.outer(scales, scales)
    omega[np.diag_indices(d)] *= math.sqrt(3.0)
    # Shapes (axis j, choice of e_0 and q, level i), and a last dimension for the axes k of a cell.
    radii = tau[:, None, None] * _FIRSTS[None, :, None] * _RATIOS[None, :, None] ** -np.arange(_LEVELS)
    cells = np.maximum(np.ceil(math.sqrt(d) * omega[:, None, None, :] / (2.0 * radii[..., None])), 1.0)
    widths = np.sqrt(2.0 * (math.log(2.0) + log_n_copies + np.sum(np.log(cells), axis=-1)))
    increments = np.minimum(radii[..., :-1], 2.0 * tau[:, None, None]) * widths[..., 1:]
    # All levels beyond the last sum to at most √(1 + 2d) times its term, see the proof.
    tails = math.sqrt(1.0 + 2.0 * d) * increments[..., -1]
    totals = tau[:, None] * widths[..., 0] + np.sum(increments, axis=-1) + tails
    return tuple(np.min(totals, axis=1).tolist())


# Pairs of e_0/τ and q to choose from, and levels: beyond 40 halvings the sum changes by less than 1e-9 of it.
_FIRSTS, _RATIOS = (choice.ravel() for choice in np.meshgrid([2.0, 1.0, 0.5, 0.25, 0.125], [2.0, 4.0, 8.0, 16.0]))
_LEVELS = 40


@dataclass(frozen=True)
class Grid:
    """The analytic grid of a space: what the union bound has to cover, and how finely.

    Cells of width 2h/(d L_j) on each of d axes with a slope put every point within h of a cell centre, in units
    of f, while the slopes hold. A discrete axis needs no slope if each of its values is a grid point.

    Attributes:
        slopes: L_j of the numeric axes, shape (d,), in units of the prior deviation per unit of x.
        counts: Number of values of these axes, infinite where continuous, shape (d,).
        log_n_exact: Log of the number of settings of all other axes.
    """

    slopes: Array
    counts: Array
    log_n_exact: float

    @property
    def is_finite(self) -> bool:
        """Whether every point of the space is a grid point, so that h = 0."""
        return len(self.slopes) == 0

    def log_size(self, error: float) -> float:
        """Return the log of the number of points that leaves an error of at most `error` > 0."""
        sloped = np.ones(len(self.slopes), dtype=bool)
        while True:
            cells = np.ceil(np.sum(sloped) * self.slopes / (2.0 * error))
            exact = sloped & (self.counts <= cells)  # taking every value is cheaper, and leaves more error to the rest
            if not np.any(exact):
                break
            sloped &= ~exact
        sizes = np.where(sloped, np.maximum(cells, 1.0), self.counts)
        return self.log_n_exact + float(np.sum(np.log(sizes)))

    def smooth(self, x: float) -> tuple[float, float]:
        """Return a smooth stand-in for `log_size(e^(−x))` and its derivative, for choosing x.

        With y_j = d L_j e^x / 2, ⌈y_j⌉ becomes 1 + y_j, and the smaller of that and the count their harmonic sum.
        """
        y = len(self.slopes) * self.slopes * math.exp(x) / 2.0
        inverse = 1.0 / self.counts + 1.0 / (1.0 + y)
        return self.log_n_exact - float(np.sum(np.log(inverse))), float(np.sum(y / ((1.0 + y) ** 2 * inverse)))

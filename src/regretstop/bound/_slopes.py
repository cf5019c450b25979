"""How steep draws of a kernel are: levels that their slopes exceed with a stated risk only."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model import Kernel, Posterior
from regretstop.spaces import Branch, Space

# A discrete numeric axis with at most this many values needs no slope: all its values are grid points. That is
# as many as a continuous axis has cells where d L_j = 20 and h = 0.01; only their logarithm enters a bound.
_EXACT_UP_TO = 1000
UNKNOWN_SLOPES = (
    "the slope of draws of this kernel is not known, so nothing is known between the points of a continuous axis; "
    "a finite space needs no slope, and UCBbr takes a and b"
)
# Pairs of e_0/τ and q to choose from, and levels: beyond 40 halvings the sum changes by less than 1e-9 of it.
_FIRSTS, _RATIOS = (choice.ravel() for choice in np.meshgrid([2.0, 1.0, 0.5, 0.25, 0.125], [2.0, 4.0, 8.0, 16.0]))
_LEVELS = 40


def sloped_axes(space: Space | Branch) -> NDArray[np.bool_]:
    """Return which axes need a slope: the continuous ones, and integers too many to be grid points; shape (d,)."""
    return (space.categories == 0) & (space.counts > _EXACT_UP_TO)


def log_n_exact(space: Space) -> float:
    """Return the log of the number of settings of the axes without a slope, of all branches."""
    return float(np.logaddexp.reduce([log_n_exact_in(branch) for branch in space.branches]))


def log_n_exact_in(branch: Branch) -> float:
    """Return the log of the number of settings of a branch's axes without a slope."""
    return float(np.sum(np.log(branch.counts[~sloped_axes(branch)])))


def slopes_are_known(space: Space, posterior: Posterior) -> bool:
    """Return whether slope levels can be derived from the kernel, or none are needed."""
    return posterior.kernel is not None or not np.any(sloped_axes(space))


def slopes_of(space: Space, posterior: Posterior, risk: float) -> Array:
    """Return the slope levels L of the sloped axes that fail with at most this risk; they must be known.

    Branches in which the same axes have a slope are copies of one cube, and others share the risk equally. A level is
    the largest of those that an axis has.

    Returns:
        Shape (number of sloped axes,), in units of the prior deviation.
    """
    sloped = sloped_axes(space)
    if not np.any(sloped):
        return np.zeros(0)
    assert posterior.kernel is not None  # asked before
    copies: dict[bytes, list[Branch]] = {}
    for branch in space.branches:
        copies.setdefault(sloped_axes(branch).tobytes(), []).append(branch)
    alike = [branches for branches in copies.values() if np.any(sloped_axes(branches[0]))]
    levels = np.zeros(space.dim)
    for branches in alike:
        own = sloped_axes(branches[0])
        log_n = float(np.logaddexp.reduce([log_n_exact_in(branch) for branch in branches]))
        found = kernel_slopes(posterior.kernel, posterior.lengthscales[own], log_n, risk=risk / len(alike))
        levels[own] = np.maximum(levels[own], found)
    return levels[sloped]


def slope_levels(derivative_stds: Array, expected_suprema: Array, *, risk: float) -> Array:
    """Return L with P(sup_x |∂_j f(x)| > L_j for some j) ≤ risk, for a draw f of the prior.

        L_j = m_j + τ_j √(2 log(d / risk))            (Borell–TIS; m_j bounds E sup |∂_j f|)

    See docs/theory.md, Slope levels from the kernel. The paper assumes levels instead (Assumption 2.1).

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
    stds = math.sqrt(kernel.curvature) / lengthscales  # τ_j = √(−2ρ'(0)) / ℓ_j
    suprema = _expected_suprema(type(kernel), tuple(lengthscales.tolist()), log_n_copies)
    return slope_levels(stds, np.array(suprema), risk=risk)


@lru_cache(maxsize=256)
def _expected_suprema(kernel: type[Kernel], lengthscales: tuple[float, ...], log_n_copies: float) -> tuple[float, ...]:
    """Return m_j ≥ E sup |∂_j f| over the unit cube and all copies, for unit prior deviation, by chaining.

    The proof is in docs/theory.md, Slope levels from the kernel.

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
    omega = math.sqrt(4.0 * kernel.fourth) / np.outer(scales, scales)  # ω_jk, times √3 where k = j
    omega[np.diag_indices(d)] *= math.sqrt(3.0)
    # Shapes (axis j, choice of e_0 and q, level i), and a last dimension for the axes k of a cell.
    radii = tau[:, None, None] * _FIRSTS[None, :, None] * _RATIOS[None, :, None] ** -np.arange(_LEVELS)
    # N_k = ⌈√d ω_jk / 2e⌉ cells per axis; √(2 log 2|N_i|), the copies counted among the N_i; the summands for i ≥ 1.
    cells = np.maximum(np.ceil(math.sqrt(d) * omega[:, None, None, :] / (2.0 * radii[..., None])), 1.0)
    widths = np.sqrt(2.0 * (math.log(2.0) + log_n_copies + np.sum(np.log(cells), axis=-1)))
    increments = np.minimum(radii[..., :-1], 2.0 * tau[:, None, None]) * widths[..., 1:]
    # All levels beyond the last sum to at most √(1 + 2d) times its term, see the proof.
    tails = math.sqrt(1.0 + 2.0 * d) * increments[..., -1]
    totals = tau[:, None] * widths[..., 0] + np.sum(increments, axis=-1) + tails
    return tuple(np.min(totals, axis=1).tolist())

"""Hamiltonian Monte Carlo with several chains in step, so that one call of the density serves all of them.

Positions are whitened by a matrix `root` with `root rootᵀ` about the target's covariance: θ = root q. In q every
direction has about unit deviation, so that one step size fits all and a trajectory of length about π/2 ends about
independently of where it began (Neal 2011, "MCMC using Hamiltonian dynamics").
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array

Target = Callable[[Array], tuple[Array, Array]]
"""Negative log densities, shape (k,), and their gradients, shape (k, d), at positions of shape (k, d)."""

# A trajectory is between half and one and a half of π/2 long: a fixed length would resonate with some direction.
_LENGTH = math.pi / 2.0
# Where a trajectory would take more, it is cut short, which is valid and only mixes less.
_MOST_STEPS = 32
# An error of the energy beyond this is no rounding of the integrator: the trajectory diverged (as in Stan).
_DIVERGED = 1000.0
# Stan's target, too.
_ACCEPTANCE = 0.8
# In deviations of the normal at the mode, which the density is like: where the adaptation begins.
_FIRST_STEP = 0.5
# Dual averaging of the step size: Hoffman & Gelman 2014, section 3.2, with their constants.
_GAMMA, _T0, _KAPPA = 0.05, 10.0, 0.75


@dataclass(frozen=True)
class Chains:
    """Where the chains are, and how they got there.

    Attributes:
        positions: θ, shape (k, d).
        values: Negative log density, shape (k,).
        gradients: Its gradient, shape (k, d).
        root: `root rootᵀ` is about the target's covariance, shape (d, d).
        step: Step size in whitened units.
        n_transitions: Trajectories so far, all chains together.
        n_divergent: How many of them diverged.
        acceptance: Mean acceptance probability of the last transitions.
    """

    positions: Array
    values: Array
    gradients: Array
    root: Array
    step: float = _FIRST_STEP
    n_transitions: int = 0
    n_divergent: int = 0
    acceptance: float = math.nan


def start(target: Target, positions: Array, root: Array, step: float = _FIRST_STEP) -> Chains:
    """Return chains that have not moved yet."""
    values, gradients = target(positions)
    return Chains(positions, values, gradients, root, step)


def leapfrog(
    target: Target, chains: Chains, momenta: Array, step: float, n_steps: int
) -> tuple[Array, Array, Array, Array]:
    """Follow the Hamiltonian flow by leapfrog steps (Neal 2011): reversed momenta lead back, and volume is preserved.

    Args:
        target: The density.
        chains: Where to start.
        momenta: In whitened units, shape (k, d).
        step: Step size in whitened units.
        n_steps: Number of steps.

    Returns:
        Positions, momenta, values and gradients at the end.
    """
    positions, values, gradients = chains.positions, chains.values, chains.gradients
    momenta = momenta - 0.5 * step * _dot(gradients, chains.root)
    for i in range(n_steps):
        positions = positions + step * _dot(momenta, chains.root.T)
        values, gradients = target(positions)
        weight = 0.5 if i == n_steps - 1 else 1.0
        momenta = momenta - weight * step * _dot(gradients, chains.root)
    return positions, momenta, values, gradients


def transition(target: Target, chains: Chains, rng: np.random.Generator) -> tuple[Chains, float]:
    """Move every chain by one trajectory, accepted or refused; return the chains and the mean acceptance.

    It is accepted with probability min(1, exp(−error)), the error being that of the energy (Neal 2011).
    """
    k = len(chains.positions)
    length = _LENGTH * rng.uniform(0.5, 1.5)
    n_steps = min(max(round(length / chains.step), 1), _MOST_STEPS)
    momenta = rng.standard_normal(chains.positions.shape)
    with np.errstate(over="ignore", invalid="ignore"):  # a trajectory that leaves the numbers has diverged
        ends = leapfrog(target, chains, momenta, min(length / n_steps, chains.step), n_steps)
        positions, final, values, gradients = ends
        errors = values - chains.values + 0.5 * np.sum(final**2 - momenta**2, axis=1)
    finite = np.isfinite(errors) & np.all(np.isfinite(positions) & np.isfinite(gradients), axis=1)
    errors: Array = np.where(finite, errors, np.inf)
    accepted: NDArray[np.bool_] = rng.standard_exponential(k) > errors  # which has probability exp(−error)
    acceptance = float(np.mean(np.exp(-np.maximum(errors, 0.0))))
    moved = replace(
        chains,
        positions=np.where(accepted[:, None], positions, chains.positions),
        values=np.where(accepted, values, chains.values),
        gradients=np.where(accepted[:, None], gradients, chains.gradients),
        n_transitions=chains.n_transitions + k,
        n_divergent=chains.n_divergent + int(np.sum(errors > _DIVERGED)),
    )
    return moved, acceptance


def advance(target: Target, chains: Chains, n: int, rng: np.random.Generator) -> Chains:
    """Move the chains by n transitions each."""
    total = 0.0
    for _ in range(n):
        chains, acceptance = transition(target, chains, rng)
        total += acceptance
    return replace(chains, acceptance=total / n)


def warm_up(target: Target, chains: Chains, n: int, rng: np.random.Generator) -> Chains:
    """Move the chains by n transitions each while step size and covariance adapt to where they are.

    The first half adapts the step; the covariance of all chains over its last part replaces the one that was given,
    and the second half adapts the step to that.
    """
    half = max(n // 2, 1)
    chains, passed = _adapt_step(target, chains, half, rng)
    chains = replace(chains, root=_root_of(np.concatenate(passed[half // 3 :]), chains.root))
    return _adapt_step(target, chains, max(n - half, 1), rng)[0]


def _adapt_step(target: Target, chains: Chains, n: int, rng: np.random.Generator) -> tuple[Chains, list[Array]]:
    # Hoffman & Gelman 2014, algorithm 5, but for the center, which is ten times the first step there.
    center = math.log(2.0 * chains.step)
    shortfall, average, total = 0.0, 0.0, 0.0
    passed: list[Array] = []
    for i in range(1, n + 1):
        chains, acceptance = transition(target, chains, rng)
        total += acceptance
        shortfall += (_ACCEPTANCE - acceptance - shortfall) / (i + _T0)
        log_step = min(center - math.sqrt(i) / _GAMMA * shortfall, math.log(2.0 * _LENGTH))
        weight = i**-_KAPPA
        average = weight * log_step + (1.0 - weight) * average
        chains = replace(chains, step=math.exp(log_step))
        passed.append(chains.positions)
    return replace(chains, step=math.exp(average), acceptance=total / n), passed


def _root_of(draws: Array, before: Array) -> Array:
    """Return the factor of the draws' covariance, pulled a little towards the covariance that was assumed before."""
    n, d = draws.shape
    deviations = draws - np.mean(draws, axis=0)
    trust = n / (n + 5.0 * d)  # Stan's is n / (n + 5) for any d; but more numbers take more draws
    covariance: Array = trust / n * _dot(deviations.T, deviations) + (1.0 - trust) * _dot(before, before.T)
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _dot(a: Array, b: Array) -> Array:
    product: Array = np.einsum("ij,jk->ik", a, b)  # small matrices; see `model/_linalg.py` about threads
    return product

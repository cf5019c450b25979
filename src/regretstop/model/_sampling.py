"""Samples of the hyperparameters' posterior: run anew at some numbers of observations, and carried on in between.

See docs/theory.md, Estimated hyperparameters.
"""

from dataclasses import dataclass, replace

import numpy as np

from regretstop.array import Array
from regretstop.model._hmc import Chains, advance, start, warm_up
from regretstop.model._likelihood import HyperparameterDensity

# Transitions from draws of a normal at the mode until the chains are taken for samples, and of the refreshment of
# samples that fewer observations gave, at least half as many. Against long chains of the same kind, means were off by
# 0.15 deviations in the mean after two transitions, by 0.26 after none and by 0.13 after four.
_N_WARM_UP = 30
_N_REFRESH = 2
# Central differences of the gradient are wrong by a sixth of its square, 2e-7, times the gradient's third derivative.
_DIFFERENCE = 1e-3
# Curvature at the mode below this, in units of the prior's, is noise of the data: the prior keeps θ from going further,
# and the normal is at most √2 times as wide.
_LEAST_CURVATURE = 0.5
# Where steps have to be this short, or so many trajectories diverge, the chains have not moved and are no samples: 32
# such steps, the most, are 0.64 deviations, where π/2 would forget the start.
_SHORTEST_STEP = 0.02
_MOST_DIVERGENT = 0.25
# Samples that move less often than this when they are refreshed were carried to where they do not belong.
LEAST_ACCEPTANCE = 0.2


@dataclass(frozen=True)
class SamplingReport:
    """How samples of the hyperparameters came about.

    Attributes:
        n_transitions: Trajectories of Hamiltonian Monte Carlo behind the samples.
        n_divergent: How many of them diverged.
        acceptance: Mean acceptance probability of the last of them.
        fallback: Why the samples are not used, in words, but the mode alone; None where they are.
    """

    n_transitions: int
    n_divergent: int
    acceptance: float
    fallback: str | None


@dataclass(frozen=True)
class SampledChains:
    """Chains of one density, and the normal at its mode by which they are carried to the next.

    Attributes:
        chains: The chains.
        mode: θ of highest density, shape (size,).
        normal: Cholesky factor of the covariance of the normal there, shape (size, size).
    """

    chains: Chains
    mode: Array
    normal: Array

    def without_last(self) -> "SampledChains":
        """Return the samples of all numbers but the last, which is from now on known."""
        chains = self.chains
        fewer = replace(
            chains,
            positions=chains.positions[:, :-1],
            gradients=chains.gradients[:, :-1],
            root=chains.root[:-1, :-1],
        )
        # Leading blocks of Cholesky factors are those of the leading blocks of the covariances.
        return SampledChains(fewer, self.mode[:-1], self.normal[:-1, :-1])


def run_chains(density: HyperparameterDensity, mode: Array, k: int, seed: int) -> SampledChains:
    """Return k chains after a warm-up from draws of the normal at the mode."""
    rng = np.random.default_rng(seed)
    normal = _normal_at(density, mode)
    positions = mode + np.einsum("ki,ji->kj", rng.standard_normal((k, density.size)), normal)
    positions[~np.isfinite(density.many(positions)[0])] = mode
    chains = warm_up(density.many, start(density.many, positions, normal), _N_WARM_UP, rng)
    return SampledChains(chains, mode, normal)


def refresh_chains(density: HyperparameterDensity, mode: Array, samples: SampledChains, seed: int) -> Chains:
    """Return the chains of a density of fewer observations, moved to the present one.

    The map that takes the normal at the one mode to the normal at the other, θ ↦ θ̂_n + C_n C_m⁻¹(θ − θ̂_m), takes the
    samples nearly there, also where many observations have arrived or one of them changed the fit; a few transitions do
    the rest.
    """
    before = samples.chains
    change = np.linalg.solve(samples.normal.T, _normal_at(density, mode).T).T
    positions = mode + np.einsum("ki,ji->kj", before.positions - samples.mode, change)
    positions[~np.isfinite(density.many(positions)[0])] = mode
    moved = start(density.many, positions, np.einsum("ij,jk->ik", change, before.root), before.step)
    return advance(density.many, moved, _N_REFRESH, np.random.default_rng(seed))


def summary_of(before: Chains | None, chains: Chains) -> SamplingReport:
    """Return how chains came about that continue others, if there are any before them."""
    n = chains.n_transitions + (before.n_transitions if before else 0)
    n_divergent = chains.n_divergent + (before.n_divergent if before else 0)
    return SamplingReport(n, n_divergent, chains.acceptance, _trouble(chains))


def _trouble(chains: Chains) -> str | None:
    if not np.all(np.isfinite(chains.positions)) or not np.all(np.isfinite(chains.values)):
        return "the density is not finite"
    if chains.step < _SHORTEST_STEP:
        return f"the steps had to be as short as {chains.step:.2g} deviations"
    if chains.n_divergent > _MOST_DIVERGENT * chains.n_transitions:
        return f"{chains.n_divergent} of {chains.n_transitions} trajectories diverged"
    return None


def _normal_at(density: HyperparameterDensity, mode: Array) -> Array:
    """Return the Cholesky factor of the inverse curvature at the mode, no wider than the prior by much.

    A Cholesky factor rather than another root: it leaves the order of the axes alone, so that a map from one normal to
    another moves what is skewed along an axis along that axis.
    """
    d = len(mode)
    steps = _DIFFERENCE * np.eye(d)
    _, gradients = density.many(np.concatenate([mode + steps, mode - steps]))
    hessian = (gradients[:d] - gradients[d:]) / (2.0 * _DIFFERENCE)
    if not np.all(np.isfinite(hessian)):
        raise np.linalg.LinAlgError("the density is not finite near its mode")
    scale = density.prior_widths
    curvature, directions = np.linalg.eigh(0.5 * (hessian + hessian.T) * np.outer(scale, scale))
    root = scale[:, None] * directions / np.sqrt(np.maximum(curvature, _LEAST_CURVATURE))
    covariance: Array = np.einsum("ik,jk->ij", root, root)
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)

"""What is believed of the hyperparameters given some observations: their mode, and samples of them.

See docs/theory.md, Estimated hyperparameters.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np

from regretstop.array import Array
from regretstop.model._descent import Minima, descend
from regretstop.model._hmc import Chains
from regretstop.model._kernels import Embedding, Kernel
from regretstop.model._likelihood import NOISE_STD_FLOOR, HyperparameterDensity, Hyperparameters
from regretstop.model._model_check import blocks
from regretstop.model._sampling import (
    LEAST_ACCEPTANCE,
    SampledChains,
    SamplingReport,
    refresh_chains,
    run_chains,
    summary_of,
)
from regretstop.model._standardize import Standardized, standardize

T = TypeVar("T")

# Bounds of the search: wide enough that only the priors matter, tight enough that nothing overflows.
_LOG_LENGTHSCALE = (math.log(5e-3), math.log(1e3))
_LOG_PRIOR_STD = (math.log(1e-3), math.log(1e3))
_LOG_NOISE_STD = (math.log(NOISE_STD_FLOOR), math.log(10.0))
# Above this many observations the hyperparameters come from every second, fourth, … one; the posterior uses all. A fit
# takes many factorisations, n³ each, where the posterior takes one.
_MAX_FIT = 256
# A declared σ is taken for at most this many standardised units: σ² stays finite where the values hardly differ, and
# the cap is far above what leaves any trace of f.
MOST_NOISE = 1e8
# Fixed starts: nearly all of the values' deviation is noise, or a thousandth of it. With the former tried at
# checkpoints alone, two recorded histories were 0.9 and 0.7 short of the best log density (SVM at 60 observations,
# Ackley-3 at 35).
_ALL_NOISE, _NO_NOISE = math.log(0.7), math.log(1e-3)
# With so many, no recorded history is over 0.1 short of the log density that 30 random starts reach
# (tests/model/test_modes.py).
_N_DRAWS = 6
# The posterior's covariance at the start of a descent, as a share of the prior's.
_CURVED = 0.1
# Up to here modes come up between one checkpoint and the next, and a search is cheap: every number is a checkpoint.
# Otherwise a recorded history (boosting) was 1.8 short of the best log density at 25 observations.
_FEW = 32
# So many modes are carried from a checkpoint, and none whose −log density is so much above the best: on Ackley-3 a mode
# made up for 25 within 14 observations.
_MOST_MODES, _WITHIN = 4, 50.0
# Samples are carried on from those at the last of 8, 16, 32, … observations.
_FIRST_SAMPLED = 8


@dataclass(frozen=True)
class HyperparameterEstimate:
    """Hyperparameters for values standardised so: their mode, and samples of them where there are any."""

    data: Standardized
    mode: Hyperparameters
    samples: tuple[Hyperparameters, ...] = ()
    sampling: SamplingReport | None = None


@dataclass(frozen=True)
class TrainingData:
    """The observations that the hyperparameters are estimated from.

    Attributes:
        points: Encoded, shape (n, d).
        values: Shape (n,).
        embedding: How encoded points become columns.
        fences: Whether values that are disasters are raised to a fence.
    """

    points: Array
    values: Array
    embedding: Embedding
    fences: bool = True

    @cached_property
    def standardized(self) -> Standardized:
        """The values as the density takes them; found once, since a fit asks for them many times."""
        return standardize(self.values, fences=self.fences)

    def thinned(self) -> "TrainingData":
        """Return those that the hyperparameters are estimated from."""
        part = thinned(len(self.values))
        return self if part.step == 1 else replace(self, points=self.points[part], values=self.values[part])

    def first(self, size: int) -> "TrainingData":
        """Return the first of them."""
        return replace(self, points=self.points[:size], values=self.values[:size])

    def sampled(self) -> "TrainingData | None":
        """Return the first 8, 16, 32, … observations, as many as are fewer than all; None if these are too few."""
        n = len(self.values)
        if n <= _FIRST_SAMPLED:
            return None
        return self.first(_FIRST_SAMPLED << int(math.log2((n - 1) / _FIRST_SAMPLED)))

    def digest(self) -> bytes:
        """Return what only the same observations in the same order have."""
        seen = self.points.tobytes() + self.values.tobytes() + repr(self.embedding.categories).encode()
        return hashlib.blake2b(seen, digest_size=16).digest()


class HyperparameterEstimator:
    """Estimates hyperparameters, the same from the same observations whatever was estimated before.

    The density has several modes as soon as noise and a short lengthscale explain the same values, and which is best
    changes. At checkpoints (8·2^(j/4) observations, at which the model check estimates anyway) and up to 32 they are
    searched for from fixed starts and from the modes at the checkpoint before. In between the best few of the last
    checkpoint are moved to the present density, and all as noise is tried. Samples are carried on from those at 8, 16,
    32, … observations.

    Args:
        kernel: The kernel family.
        noise_std: "learned", or σ in the objective's units; 0 for a noise-free objective.
        n_samples: How many samples there are, where they are asked for.
    """

    def __init__(self, kernel: Kernel, noise_std: float | Literal["learned"], n_samples: int) -> None:
        self._kernel = kernel
        self._noise_std = noise_std
        self._n_samples = n_samples
        self._searched: dict[int, tuple[bytes, Minima]] = {}
        self._samples: dict[int, tuple[bytes, SampledChains]] = {}
        self._estimates: dict[int, tuple[bytes, HyperparameterEstimate]] = {}
        self._sampled: dict[int, tuple[bytes, HyperparameterEstimate]] = {}

    def estimate(self, part: TrainingData) -> HyperparameterEstimate:
        """Return the mode of the hyperparameters given these observations and no others."""
        return _remembered(self._estimates, part, self._estimate)

    def sample(self, part: TrainingData) -> HyperparameterEstimate:
        """Return the mode and samples, or why there are none."""
        return _remembered(self._sampled, part, self._estimate_and_sample)

    def _estimate(self, part: TrainingData) -> HyperparameterEstimate:
        return HyperparameterEstimate(part.standardized, self._density(part).unpack(self._modes(part).points[0]))

    def _estimate_and_sample(self, part: TrainingData) -> HyperparameterEstimate:
        density = self._density(part)
        theta = self._modes(part).points[0]
        mode, data = density.unpack(theta), part.standardized
        try:
            thetas, sampling = self._sample(part, theta)
        except np.linalg.LinAlgError as error:
            return HyperparameterEstimate(data, mode, sampling=SamplingReport(0, 0, 0.0, str(error)))
        samples = () if sampling.fallback else tuple(density.unpack(sample) for sample in thetas)
        return HyperparameterEstimate(data, mode, samples, sampling)

    def _modes(self, part: TrainingData) -> Minima:
        """Return the best few modes: those of the last checkpoint, moved to where they are now, and all as noise."""
        n = len(part.values)
        checkpoint = last_checkpoint(n)
        if checkpoint is None or checkpoint == n or n <= _FEW:
            return _remembered(self._searched, part, self._search)
        modes = _remembered(self._searched, part.first(checkpoint), self._search)
        density = self._density(part)
        if not density.learns_noise:
            return find_modes(density, modes.points, modes.metrics)
        all_noise = fixed_starts(density)[0][:1]
        # The curvature at the best mode is a better guess than the prior's: a twentieth of the work less.
        return find_modes(
            density, np.concatenate([modes.points, all_noise]), np.concatenate([modes.metrics, modes.metrics[:1]])
        )

    def _search(self, part: TrainingData) -> Minima:
        """Return the best modes that fixed starts lead to, and those of the checkpoint before."""
        density = self._density(part)
        points, metrics = fixed_starts(density)
        earlier = last_checkpoint(len(part.values) - 1)
        if earlier is not None:
            before = _remembered(self._searched, part.first(earlier), self._search)
            points, metrics = np.concatenate([before.points, points]), np.concatenate([before.metrics, metrics])
        return find_modes(density, points, metrics)

    def _sample(self, part: TrainingData, mode: Array) -> tuple[Array, SamplingReport]:
        """Return samples of θ, shape (K, size): those at the last checkpoint below n, moved to the present density."""
        chains, sampling = self._moved(part, mode)
        positions = chains.positions
        if positions.shape[1] < len(mode):
            positions = np.column_stack([positions, np.full(len(positions), _LOG_NOISE_STD[0])])
        return positions, sampling

    def _moved(self, part: TrainingData, mode: Array) -> tuple[Chains, SamplingReport]:
        earlier = part.sampled()
        if earlier is not None:
            before = _remembered(self._samples, earlier, self._run_chains)
            sampling = summary_of(None, before.chains)
            if sampling.fallback is not None:
                return before.chains, sampling
            density, free = self._sampled_density(part, mode)
            if len(before.mode) > len(free):
                before = before.without_last()
            if len(before.mode) == len(free):
                chains = refresh_chains(density, free, before, seed=len(part.values))
                sampling = summary_of(before.chains, chains)
                if sampling.fallback is None and chains.acceptance >= LEAST_ACCEPTANCE:
                    return chains, sampling
        chains = self._run_chains(part, mode).chains
        return chains, summary_of(None, chains)

    def _run_chains(self, part: TrainingData, mode: Array | None = None) -> SampledChains:
        theta: Array = self._modes(part).points[0] if mode is None else mode
        return run_chains(*self._sampled_density(part, theta), self._n_samples, seed=len(part.values))

    def _density(
        self, part: TrainingData, *, noise_std: float | None = None, least_noise: float = 0.0
    ) -> HyperparameterDensity:
        data = part.standardized
        if self._noise_std != "learned":
            noise_std = max(min(float(self._noise_std) / data.scale, MOST_NOISE), least_noise)
        return HyperparameterDensity(
            part.points, data.values, kernel=self._kernel, embedding=part.embedding, noise_std=noise_std
        )

    def _sampled_density(self, part: TrainingData, mode: Array) -> tuple[HyperparameterDensity, Array]:
        """Return the density that is sampled, and its mode.

        Noise-free matrices are singular here and there, and cannot be sampled: σ is at least at its floor. Where the
        mode has a learned σ there, the density has a wall on one side and nothing but the prior on the other, where
        σ makes no difference: σ is taken for known.
        """
        if self._noise_std == "learned" and mode[-1] <= _LOG_NOISE_STD[0] + 1e-6:
            return self._density(part, noise_std=NOISE_STD_FLOOR), mode[:-1]
        return self._density(part, least_noise=NOISE_STD_FLOOR), mode


def _remembered(memory: dict[int, tuple[bytes, T]], part: TrainingData, compute: Callable[[TrainingData], T]) -> T:
    """Return what was computed from the same observations before, if it was the last from so many."""
    size, key = len(part.values), part.digest()
    found = memory.get(size)
    if found is None or found[0] != key:  # another thread may write there, too
        found = memory[size] = (key, compute(part))
    return found[1]


def thinned(n: int) -> slice:
    """Return which of n observations the hyperparameters are estimated from: every one, or every 2nd, 4th and so on.

    A stride that doubles keeps the subset a prefix of the next one, so that earlier modes still serve.
    """
    return slice(None, None, 1 << max(math.ceil(math.log2(n / _MAX_FIT)), 0))


def last_checkpoint(n: int) -> int | None:
    """Return the largest of 8, 10, 11, 13, 16, 19, … that is at most n; None if n is smaller."""
    before = blocks(n + 1)
    return before[-1][0] if before else None


def fixed_starts(density: HyperparameterDensity) -> tuple[Array, Array]:
    """Return θ that depend on no data, shape (k, size), and guesses of the inverse curvature there, (k, size, size).

    They are the prior medians, the two explanations that a learned σ allows (all is noise, which comes first, or none
    is) and draws of the prior, always the same.
    """
    centers, widths = density.prior_medians, density.prior_widths
    points = [centers]
    if density.learns_noise:
        points = [np.append(centers[:-1], _ALL_NOISE), centers, np.append(centers[:-1], _NO_NOISE)]
    draws = centers + widths * np.random.default_rng(0).standard_normal((_N_DRAWS, density.size))
    starts = np.concatenate([points, draws])
    return starts, np.tile(_CURVED * np.diag(widths**2), (len(starts), 1, 1))


def find_modes(density: HyperparameterDensity, starts: Array, metrics: Array) -> Minima:
    """Return the best few modes that the starts lead to, the best first.

    Args:
        density: The negative logarithm is minimised, so that the values are those of −log p.
        starts: θ, shape (k, size).
        metrics: Guesses of the inverse curvature there, shape (k, size, size).
    """
    bounds = [_LOG_LENGTHSCALE] * density.dim + [_LOG_PRIOR_STD]
    if density.learns_noise:
        bounds.append(_LOG_NOISE_STD)
    found = descend(density.many, starts, metrics, np.array(bounds).T, density.prior_widths)
    return found.near_lowest(_WITHIN, _MOST_MODES)

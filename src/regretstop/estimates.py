"""What is believed of the hyperparameters given some observations: their mode, and samples of them."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from regretstop.hmc import Chains
from regretstop.kernels import Embedding, Kernel
from regretstop.likelihood import NOISE_STD_FLOOR, HyperparameterDensity, Hyperparameters
from regretstop.sampling import LEAST_ACCEPTANCE, Samples, Sampling, refresh_chains, run_chains, summary_of
from regretstop.standardize import standardize

Array = NDArray[np.float64]
T = TypeVar("T")

# L-BFGS-B bounds: wide enough that only the priors matter, tight enough that nothing overflows.
_LOG_LENGTHSCALE = (math.log(5e-3), math.log(1e3))
_LOG_PRIOR_STD = (math.log(1e-3), math.log(1e3))
_LOG_NOISE_STD = (math.log(NOISE_STD_FLOOR), math.log(10.0))
_START_LENGTHSCALE, _START_PRIOR_STD, _START_NOISE_STD = math.log(0.5), 0.0, math.log(1e-2)
# Above this many observations the hyperparameters come from every second, fourth, … one; the posterior uses all.
_MAX_FIT = 256
# A declared σ is taken for at most this many standardised units: σ² stays finite where the values hardly differ, and
# the cap is far above what leaves any trace of f.
MOST_NOISE = 1e8
# The mode at the last of 8, 16, 32, … observations starts the search at the present number; with few observations,
# where several modes compete, it starts from the prior medians as well.
_FIRST_CHECKPOINT = 8
_FEW = 32


@dataclass(frozen=True)
class Estimate:
    """Hyperparameters for values standardised by `scale`: their mode, and samples of them where there are any."""

    scale: float
    mode: Hyperparameters
    samples: tuple[Hyperparameters, ...] = ()
    sampling: Sampling | None = None


@dataclass(frozen=True)
class Part:
    """The observations that the hyperparameters are estimated from."""

    points: Array
    values: Array
    embedding: Embedding

    def first(self, size: int) -> "Part":
        """Return the first of them."""
        return Part(self.points[:size], self.values[:size], self.embedding)

    def checkpoint(self) -> "Part | None":
        """Return the first 8, 16, 32, … observations, as many as are fewer than all; None if these are too few."""
        n = len(self.values)
        if n <= _FIRST_CHECKPOINT:
            return None
        return self.first(_FIRST_CHECKPOINT << int(math.log2((n - 1) / _FIRST_CHECKPOINT)))

    def digest(self) -> bytes:
        """Return what only the same observations in the same order have."""
        seen = self.points.tobytes() + self.values.tobytes() + repr(self.embedding.categories).encode()
        return hashlib.blake2b(seen, digest_size=16).digest()


class Estimator:
    """Estimates hyperparameters, the same from the same observations whatever was estimated before.

    A search for the mode starts from the prior medians or from the mode at an earlier, fixed number of observations
    (8, 16, 32, …), and samples are carried on from those at such a number.

    Args:
        kernel: The kernel family.
        noise_std: "learned", or σ in the objective's units; 0 for a noise-free objective.
        n_samples: How many samples there are; 0 for the mode alone.
    """

    def __init__(self, kernel: Kernel, noise_std: float | Literal["learned"], n_samples: int) -> None:
        self._kernel = kernel
        self._noise_std = noise_std
        self._n_samples = n_samples
        self._modes: dict[int, tuple[bytes, Array]] = {}
        self._samples: dict[int, tuple[bytes, Samples]] = {}
        self._estimates: dict[int, tuple[bytes, Estimate]] = {}

    def estimate(self, part: Part) -> Estimate:
        """Return what is believed of the hyperparameters given these observations and no others."""
        return _remembered(self._estimates, part, self._estimate)

    def _estimate(self, part: Part) -> Estimate:
        density = self._density(part)
        theta = self._mode(part, density)
        mode, scale = density.unpack(theta), standardize(part.values).scale
        if self._n_samples == 0:
            return Estimate(scale, mode)
        try:
            thetas, sampling = self._sample(part, theta)
        except np.linalg.LinAlgError as error:
            return Estimate(scale, mode, sampling=Sampling(0, 0, 0.0, str(error)))
        samples = () if sampling.fallback else tuple(density.unpack(sample) for sample in thetas)
        return Estimate(scale, mode, samples, sampling)

    def _mode(self, part: Part, density: HyperparameterDensity) -> Array:
        """Return θ of the mode, started from the mode at the last checkpoint below n."""
        earlier = part.checkpoint()
        starts: list[Array] = []
        if earlier is not None:
            starts.append(_remembered(self._modes, earlier, self._checkpoint))
        if len(part.values) <= _FEW:
            starts.append(medians(density))
        return find_mode(density, starts)

    def _checkpoint(self, part: Part) -> Array:
        """Return the mode found from the prior medians alone, so that it depends on nothing but these data."""
        density = self._density(part)
        return find_mode(density, [medians(density)])

    def _sample(self, part: Part, mode: Array) -> tuple[Array, Sampling]:
        """Return samples of θ, shape (K, size): those at the last checkpoint below n, moved to the present density."""
        chains, sampling = self._moved(part, mode)
        positions = chains.positions
        if positions.shape[1] < len(mode):
            positions = np.column_stack([positions, np.full(len(positions), _LOG_NOISE_STD[0])])
        return positions, sampling

    def _moved(self, part: Part, mode: Array) -> tuple[Chains, Sampling]:
        earlier = part.checkpoint()
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

    def _run_chains(self, part: Part, mode: Array | None = None) -> Samples:
        if mode is None:
            mode = _remembered(self._modes, part, self._checkpoint)
        return run_chains(*self._sampled_density(part, mode), self._n_samples, seed=len(part.values))

    def _density(
        self, part: Part, *, noise_std: float | None = None, least_noise: float = 0.0
    ) -> HyperparameterDensity:
        data = standardize(part.values)
        if self._noise_std != "learned":
            noise_std = max(min(float(self._noise_std) / data.scale, MOST_NOISE), least_noise)
        return HyperparameterDensity(
            part.points, data.values, kernel=self._kernel, embedding=part.embedding, noise_std=noise_std
        )

    def _sampled_density(self, part: Part, mode: Array) -> tuple[HyperparameterDensity, Array]:
        """Return the density that is sampled, and its mode.

        Noise-free matrices are singular here and there, and cannot be sampled: σ is at least at its floor. Where the
        mode has a learned σ there, the density has a wall on one side and nothing but the prior on the other, where
        σ makes no difference: σ is taken for known.
        """
        if self._noise_std == "learned" and mode[-1] <= _LOG_NOISE_STD[0] + 1e-6:
            return self._density(part, noise_std=NOISE_STD_FLOOR), mode[:-1]
        return self._density(part, least_noise=NOISE_STD_FLOOR), mode


def _remembered(memory: dict[int, tuple[bytes, T]], part: Part, compute: Callable[[Part], T]) -> T:
    """Return what was computed from the same observations before, if it was the last from so many."""
    size, key = len(part.values), part.digest()
    if size not in memory or memory[size][0] != key:
        memory[size] = (key, compute(part))
    return memory[size][1]


def thinned(n: int) -> slice:
    """Return which of n observations the hyperparameters are estimated from: every one, or every 2nd, 4th and so on.

    A stride that doubles keeps the subset a prefix of the next one, so that earlier modes still serve.
    """
    return slice(None, None, 1 << max(math.ceil(math.log2(n / _MAX_FIT)), 0))


def medians(density: HyperparameterDensity) -> Array:
    """Return θ at the prior medians, the one start that does not depend on earlier data."""
    theta = np.full(density.size, _START_LENGTHSCALE)
    theta[density.dim] = _START_PRIOR_STD
    if density.size > density.dim + 1:
        theta[density.dim + 1] = _START_NOISE_STD
    return theta


def find_mode(density: HyperparameterDensity, starts: Sequence[Array]) -> Array:
    """Return the θ of highest density that L-BFGS-B finds from the starts, at least one."""
    from scipy.optimize import minimize  # slow to import, and needed only to fit

    bounds = [_LOG_LENGTHSCALE] * density.dim + [_LOG_PRIOR_STD]
    if density.size > density.dim + 1:
        bounds.append(_LOG_NOISE_STD)
    best, best_value = starts[0], math.inf
    for theta in starts:
        result = minimize(
            density, theta, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100, "ftol": 1e-6}
        )
        if result.fun < best_value:
            best, best_value = np.asarray(result.x), float(result.fun)
    return best

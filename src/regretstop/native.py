"""The native surrogate: an exact Gaussian process whose hyperparameters are declared, sampled, or at their mode."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from regretstop.checks import check_at_least, check_number_or
from regretstop.hmc import Chains
from regretstop.kernels import Embedding, Kernel
from regretstop.likelihood import NOISE_STD_FLOOR, HyperparameterDensity, Hyperparameters
from regretstop.model_check import ModelCheck, blocks, judge, residuals
from regretstop.posterior import GaussianProcess, merge_duplicates
from regretstop.sampling import LEAST_ACCEPTANCE, Samples, Sampling, refresh_chains, run_chains, summary_of
from regretstop.standardize import Standardized, standardize
from regretstop.surrogate import Fit, Treatment

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


class NativeSurrogate:
    """An exact Gaussian process on the unit cube.

    The same observations in the same order always give the same fit: a MAP search starts from the prior medians
    or from the mode at an earlier, fixed number of observations (8, 16, 32, …), and samples are carried on from those
    at such a number, never from whatever was fitted last.

    Args:
        kernel: The kernel; with hyperparameters="fixed" it carries lengthscales and outputscale.
        noise_std: "learned", or σ in the objective's units; 0 for a noise-free objective.
        hyperparameters: "posterior", "map" or "fixed".
        mean: The constant mean of the objective; used with "fixed" only.
        n_samples: Samples of the hyperparameters; used with "posterior" only.
        model_check: Whether estimated models that were overconfident so far have their deviations inflated.

    Raises:
        ValueError: If the kernel's numbers, the noise and the treatment do not go together.
    """

    def __init__(
        self,
        *,
        kernel: Kernel,
        noise_std: float | Literal["learned"],
        hyperparameters: Treatment,
        mean: float,
        n_samples: int = 8,
        model_check: bool = True,
    ) -> None:
        check_treatment(kernel, noise_std, hyperparameters)
        check_at_least("n_samples", n_samples, 1)
        self._kernel = kernel
        self._noise_std = noise_std
        self._treatment = hyperparameters
        self._mean = mean
        self._n_samples = n_samples
        self._model_check = model_check
        self._modes: dict[int, tuple[bytes, Array]] = {}
        self._samples: dict[int, tuple[bytes, Samples]] = {}
        self._estimates: dict[int, tuple[bytes, _Estimate]] = {}

    @property
    def guarantee(self) -> Literal["theorem", "model"]:
        """What its certificates are: "theorem" for declared hyperparameters, "model" for estimated ones."""
        return "theorem" if self._treatment == "fixed" else "model"

    def n_estimated(self, categories: NDArray[np.intp]) -> int:
        """Return how many numbers a fit estimates: ℓ, s, σ and the mean.

        Raises:
            ValueError: If the declared lengthscales are not one per axis.
        """
        if self._treatment != "fixed":
            return len(categories) + 3
        given = self._kernel.lengthscales
        if len(given or ()) != len(categories):
            raise ValueError(f"lengthscales must have one number per free axis ({len(categories)}), got {given!r}")
        return 0

    def fit(self, points: Array, values: Array, *, categories: NDArray[np.intp], sign: float) -> Fit:
        """Return the posterior given encoded points, shape (n, d), and values of the maximised objective, shape (n,).

        Args:
            points: Encoded points, shape (n, d), n ≥ 1; repeats allowed.
            values: Values of the maximised objective, finite, in its own units, shape (n,).
            categories: Number of categories per axis of the space, 0 for a numeric axis; shape (d,).
            sign: 1, or −1 where the values are those of the objective times −1.
        """
        embedding = Embedding(categories)
        if self._treatment == "fixed":
            return self._declared(points, values, embedding, sign * self._mean)
        data = standardize(values)
        subset = thinned(len(values))
        part = _Part(points[subset], values[subset], embedding)
        estimate = _remembered(self._estimates, part, self._estimate)
        # The subset was standardised by its own spread; what it found is carried to the spread of all the values.
        ratio = estimate.scale / data.scale if subset.step > 1 else 1.0
        build = partial(self._posterior, merge_duplicates(points, data.values, np.ones(len(values))), embedding)
        # Modes are checked by modes, whatever is sampled: so the next point is that of "map".
        check = self._check(part, estimate.scale, sampled=False)
        mode = build(_scaled(estimate.mode, ratio * _inflation(check)))
        if not estimate.samples:
            return Fit((mode,), data, sampling=estimate.sampling, check=check)
        sample_check = self._check(part, estimate.scale, sampled=True)
        factor = ratio * _inflation(sample_check)
        try:
            samples = tuple(build(_scaled(sample, factor)) for sample in estimate.samples)
        except np.linalg.LinAlgError as error:
            return Fit((mode,), data, sampling=Sampling(0, 0, 0.0, str(error)), check=check)
        return Fit(samples, data, mode, estimate.sampling, sample_check)

    def _estimate(self, part: "_Part") -> "_Estimate":
        """Return what is believed of the hyperparameters given these observations and no others."""
        density = self._density(part)
        theta = self._mode(part, density)
        mode, scale = density.unpack(theta), standardize(part.values).scale
        if self._treatment == "map":
            return _Estimate(scale, mode)
        try:
            thetas, sampling = self._sample(part, theta)
        except np.linalg.LinAlgError as error:
            return _Estimate(scale, mode, sampling=Sampling(0, 0, 0.0, str(error)))
        samples = () if sampling.fallback else tuple(density.unpack(sample) for sample in thetas)
        return _Estimate(scale, mode, samples, sampling)

    def _check(self, part: "_Part", scale: float, *, sampled: bool) -> ModelCheck | None:
        """Return what earlier estimates, their samples or their modes, say about the values that came after them."""
        if not self._model_check:
            return None
        values = standardize(part.values).values
        z: list[Array] = []
        for start, end in blocks(len(values)):
            before = part.first(start)
            # Equal values have no scale, and a model of them says nothing about how far others may be.
            if not standardize(before.values).has_spread:
                continue
            earlier = _remembered(self._estimates, before, self._estimate)
            believed = earlier.samples if sampled and earlier.samples else (earlier.mode,)
            ahead = residuals(
                [_scaled(each, earlier.scale / scale) for each in believed],
                part.points[:end],
                values[:end],
                kernel=self._kernel,
                embedding=part.embedding,
                start=max(start, len(values) // 2),
            )
            z.append(ahead)
        return judge(np.concatenate([*z, np.zeros(0)]))

    def _declared(self, points: Array, values: Array, embedding: Embedding, mean: float) -> Fit:
        assert self._kernel.lengthscales is not None  # checked in __init__
        assert self._kernel.outputscale is not None
        scale = math.sqrt(self._kernel.outputscale)
        data = Standardized((values - mean) / scale, mean, scale, 0, has_spread=True)
        noise_std = float(self._noise_std) / scale
        parameters = Hyperparameters(np.array(self._kernel.lengthscales), 1.0, noise_std)
        merged = merge_duplicates(points, data.values, np.ones(len(values)))
        return Fit((self._posterior(merged, embedding, parameters, mean=0.0),), data)

    def _posterior(
        self,
        merged: tuple[Array, Array, Array, float],
        embedding: Embedding,
        parameters: Hyperparameters,
        mean: float | None = None,
    ) -> GaussianProcess:
        points, means, repeats, _ = merged
        return GaussianProcess(
            points,
            means,
            repeats,
            kernel=self._kernel,
            embedding=embedding,
            lengthscales=parameters.lengthscales,
            prior_std=parameters.prior_std,
            noise_std=parameters.noise_std,
            mean=mean,
        )

    def _mode(self, part: "_Part", density: HyperparameterDensity) -> Array:
        """Return θ of the mode, started from the mode at the last checkpoint below n."""
        earlier = part.checkpoint()
        starts: list[Array] = []
        if earlier is not None:
            starts.append(_remembered(self._modes, earlier, self._checkpoint))
        if len(part.values) <= _FEW:
            starts.append(medians(density))
        return find_mode(density, starts)

    def _checkpoint(self, part: "_Part") -> Array:
        """Return the mode found from the prior medians alone, so that it depends on nothing but these data."""
        density = self._density(part)
        return find_mode(density, [medians(density)])

    def _sample(self, part: "_Part", mode: Array) -> tuple[Array, Sampling]:
        """Return samples of θ, shape (K, size): those at the last checkpoint below n, moved to the present density."""
        chains, sampling = self._moved(part, mode)
        positions = chains.positions
        if positions.shape[1] < len(mode):
            positions = np.column_stack([positions, np.full(len(positions), _LOG_NOISE_STD[0])])
        return positions, sampling

    def _moved(self, part: "_Part", mode: Array) -> tuple[Chains, Sampling]:
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

    def _run_chains(self, part: "_Part", mode: Array | None = None) -> Samples:
        if mode is None:
            mode = _remembered(self._modes, part, self._checkpoint)
        return run_chains(*self._sampled_density(part, mode), self._n_samples, seed=len(part.values))

    def _density(
        self, part: "_Part", *, noise_std: float | None = None, least_noise: float = 0.0
    ) -> HyperparameterDensity:
        data = standardize(part.values)
        if self._noise_std != "learned":
            noise_std = max(min(float(self._noise_std) / data.scale, MOST_NOISE), least_noise)
        return HyperparameterDensity(
            part.points, data.values, kernel=self._kernel, embedding=part.embedding, noise_std=noise_std
        )

    def _sampled_density(self, part: "_Part", mode: Array) -> tuple[HyperparameterDensity, Array]:
        """Return the density that is sampled, and its mode.

        Noise-free matrices are singular here and there, and cannot be sampled: σ is at least at its floor. Where the
        mode has a learned σ there, the density has a wall on one side and nothing but the prior on the other, where
        σ makes no difference: σ is taken for known.
        """
        if self._noise_std == "learned" and mode[-1] <= _LOG_NOISE_STD[0] + 1e-6:
            return self._density(part, noise_std=NOISE_STD_FLOOR), mode[:-1]
        return self._density(part, least_noise=NOISE_STD_FLOOR), mode


@dataclass(frozen=True)
class _Estimate:
    """Hyperparameters for values standardised by `scale`: their mode, and samples of them where there are any."""

    scale: float
    mode: Hyperparameters
    samples: tuple[Hyperparameters, ...] = ()
    sampling: Sampling | None = None


@dataclass(frozen=True)
class _Part:
    """The observations that the hyperparameters are estimated from."""

    points: Array
    values: Array
    embedding: Embedding

    def first(self, size: int) -> "_Part":
        """Return the first of them."""
        return _Part(self.points[:size], self.values[:size], self.embedding)

    def checkpoint(self) -> "_Part | None":
        """Return the first 8, 16, 32, … observations, as many as are fewer than all; None if these are too few."""
        n = len(self.values)
        if n <= _FIRST_CHECKPOINT:
            return None
        return self.first(_FIRST_CHECKPOINT << int(math.log2((n - 1) / _FIRST_CHECKPOINT)))

    def digest(self) -> bytes:
        seen = self.points.tobytes() + self.values.tobytes() + repr(self.embedding.categories).encode()
        return hashlib.blake2b(seen, digest_size=16).digest()


def _remembered(memory: dict[int, tuple[bytes, T]], part: _Part, compute: Callable[[_Part], T]) -> T:
    """Return what was computed from the same observations before, if it was the last from so many."""
    size, key = len(part.values), part.digest()
    if size not in memory or memory[size][0] != key:
        memory[size] = (key, compute(part))
    return memory[size][1]


def _inflation(check: ModelCheck | None) -> float:
    return 1.0 if check is None else check.inflation


def _scaled(parameters: Hyperparameters, ratio: float) -> Hyperparameters:
    return Hyperparameters(parameters.lengthscales, parameters.prior_std * ratio, parameters.noise_std * ratio)


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


def check_treatment(kernel: Kernel, noise_std: object, hyperparameters: str) -> None:
    """Raise ValueError, naming argument and value, unless the surrogate's arguments go together."""
    if hyperparameters not in get_args(Treatment):
        raise ValueError(f"hyperparameters must be 'posterior', 'map' or 'fixed', got {hyperparameters!r}")
    check_number_or("noise_std", noise_std, "learned")
    given = [name for name in ("lengthscales", "outputscale") if getattr(kernel, name) is not None]
    if hyperparameters == "fixed":
        if len(given) < 2 or noise_std == "learned":
            raise ValueError(
                "hyperparameters='fixed' needs a kernel with lengthscales and outputscale, and noise_std as a number; "
                f"got kernel={kernel!r}, noise_std={noise_std!r}"
            )
    elif given:
        raise ValueError(
            f"hyperparameters={hyperparameters!r} estimates the kernel's {' and '.join(given)}: "
            f"give a bare {type(kernel).__name__}(), or hyperparameters='fixed'"
        )

"""The public model: an exact Gaussian process whose hyperparameters are declared, sampled, or at their mode."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.checks import check_at_least, check_between, check_flag, check_number_or
from regretstop.model._choose_warp import choose_warp, warp_checkpoint
from regretstop.model._hyperparameters import MOST_NOISE, HyperparameterEstimator, TrainingData
from regretstop.model._kernels import Embedding, Kernel, Matern52
from regretstop.model._likelihood import Hyperparameters
from regretstop.model._model_check import ModelCheck, blocks, judge, residuals
from regretstop.model._posterior import GaussianProcessPosterior
from regretstop.model._protocols import Fit, Posterior, Treatment
from regretstop.model._repeats import merge_duplicates
from regretstop.model._sampling import SamplingReport
from regretstop.model._standardize import Standardized
from regretstop.model._warp import LogWarp

# Samples where a rule doubts the mode: one of eight under which something is left for certain adds 0.125, more than δ,
# and stays among them for many observations. From fewer observations samples are too sure of themselves, too.
_N_IN_DOUBT, FEWEST_SAMPLED = 32, 30


class GaussianProcess:
    """The model of the objective: an exact Gaussian process on the unit cube.

    Give it to `GPUCB`, `minimize` or an adapter as `surrogate`. The same observations in the same order always give the
    same fit, whatever was fitted before, so one may serve several searches.

    Args:
        kernel: The kernel; Matérn-5/2 by default. With hyperparameters="fixed" it carries lengthscales, on the unit
            cube and in the order of the space, and outputscale.
        noise_std: Deviation of the observation noise in the objective's units, or "learned"; 0 for an objective
            without noise.
        hyperparameters: "map" estimates those of the kernel, the noise and the mean, "posterior" certifies under
            samples of them, and "fixed" takes the declared ones: kernel and noise are then known, as the paper assumes.
        mean: The objective's constant mean, for hyperparameters="fixed".
        n_samples: Samples of the hyperparameters, for "posterior".
        model_check: Whether estimated models that were overconfident so far have their deviations inflated.

    Raises:
        ValueError: If an argument is out of its range, or the kernel's numbers, the noise and the treatment do not go
            together.
    """

    _fences: ClassVar[bool] = True  # of its values, disasters

    def __init__(
        self,
        *,
        kernel: Kernel | None = None,
        noise_std: float | Literal["learned"] = "learned",
        hyperparameters: Treatment = "map",
        mean: float = 0.0,
        n_samples: int = 8,
        model_check: bool = True,
    ) -> None:
        kernel = Matern52() if kernel is None else kernel
        if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"kernel must be a kernel such as Matern52(), got {kernel!r}")
        check_treatment(kernel, noise_std, hyperparameters)
        check_flag("model_check", model_check)
        check_between("mean", mean, -math.inf)
        check_at_least("n_samples", n_samples, 1)
        self._kernel = kernel
        self._noise_std: float | Literal["learned"] = noise_std
        self._treatment = hyperparameters
        self._mean = mean
        self._n_samples = n_samples
        self._model_check = model_check
        # The last warp that was chosen, by what it was chosen for.
        self._warped: tuple[tuple[float, bytes], LogWarp | None] | None = None
        self._estimator = HyperparameterEstimator(
            kernel, noise_std, n_samples if hyperparameters == "posterior" else _N_IN_DOUBT
        )

    def __repr__(self) -> str:
        return (
            f"GaussianProcess(kernel={self._kernel!r}, noise_std={self._noise_std!r}, "
            f"hyperparameters={self._treatment!r}, mean={self._mean!r}, n_samples={self._n_samples!r}, "
            f"model_check={self._model_check!r})"
        )

    @property
    def guarantee(self) -> Literal["theorem", "model"]:
        """What its certificates are: "theorem" for declared hyperparameters, "model" for estimated ones."""
        return "theorem" if self._treatment == "fixed" else "model"

    def n_estimated(self, categories: NDArray[np.intp]) -> int:
        """Return how many numbers a fit estimates: ℓ, s, σ and the mean, so d + 3.

        Raises:
            ValueError: If the declared lengthscales are not one per axis.
        """
        if self._treatment != "fixed":
            return len(categories) + 3
        given = self._kernel.lengthscales
        if len(given or ()) != len(categories):
            raise ValueError(f"lengthscales must have one number per free axis ({len(categories)}), got {given!r}")
        return 0

    def warp(self, points: Array, values: Array, *, categories: NDArray[np.intp], best: float) -> LogWarp | None:
        """Return the warp for values of a maximised objective that is never above `best`.

        None where the values are taken as they are: where the kernel is declared, which is then that of these values,
        or a noise that is not 0, which is another one at each value of a warp.

        Args:
            points: As of `fit`.
            values: As of `fit`, none above `best`.
            categories: As of `fit`.
            best: The best possible value, in the units of the values.
        """
        if self._treatment == "fixed" or self._noise_std not in ("learned", 0.0):
            return None
        data = TrainingData(points, values, Embedding(categories)).first(warp_checkpoint(len(values)))
        key, found = (best, data.digest()), self._warped
        if found is None or found[0] != key:  # another thread may write there, too
            found = self._warped = key, choose_warp(self._kernel, self._noise_std, data, best)
        return found[1]

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
        whole = TrainingData(points, values, embedding, self._fences)
        data, part = whole.standardized, whole.thinned()
        estimate = self._estimator.estimate(part)
        # A part is standardised by its own spread; what it found is carried to the spread of all the values.
        ratio = estimate.data.scale / data.scale
        build = partial(self._posterior, merge_duplicates(points, data.values, np.ones(len(values))), embedding)
        # Modes are checked by modes, whatever is sampled: so the next point is that of "map"; see docs/theory.md.
        check = self._check(part, sampled=False)
        at_mode = Fit((build(_scaled(estimate.mode, ratio * _inflation(check))),), data, check=check)
        over_samples = partial(self._over_samples, at_mode, part, ratio, build)
        return over_samples() if self._treatment == "posterior" else replace(at_mode, over_samples=over_samples)

    def _over_samples(
        self, at_mode: Fit, part: TrainingData, ratio: float, build: Callable[[Hyperparameters], Posterior]
    ) -> Fit:
        """Return the fit over samples; at the mode, with the reason, where they cannot be drawn."""
        estimate = self._estimator.sample(part)
        if not estimate.samples:
            return replace(at_mode, sampling=estimate.sampling)
        check = self._check(part, sampled=True)
        factor = ratio * _inflation(check)
        try:
            samples = tuple(build(_scaled(sample, factor)) for sample in estimate.samples)
        except np.linalg.LinAlgError as error:
            return replace(at_mode, sampling=SamplingReport(0, 0, 0.0, str(error)))
        return Fit(samples, at_mode.data, at_mode.posteriors[0], estimate.sampling, check)

    def _check(self, part: TrainingData, *, sampled: bool) -> ModelCheck | None:
        """Return what earlier estimates, their samples or their modes, say about the values that came after them."""
        if not self._model_check:
            return None
        data = part.standardized
        z: list[Array] = []
        for start, end in blocks(len(data.values)):
            first = part.first(start)
            earlier = self._estimator.sample(first) if sampled else self._estimator.estimate(first)
            # Equal values have no scale, and a model of them says nothing about how far others may be.
            if not earlier.data.has_spread:
                continue
            believed = earlier.samples if sampled and earlier.samples else (earlier.mode,)
            ahead = residuals(
                [_scaled(each, earlier.data.scale / data.scale) for each in believed],
                part.points[:end],
                data.values[:end],
                kernel=self._kernel,
                embedding=part.embedding,
                start=max(start, len(data.values) // 2),
            )
            z.append(ahead)
        return judge(np.concatenate([*z, np.zeros(0)]))

    def _declared(self, points: Array, values: Array, embedding: Embedding, mean: float) -> Fit:
        assert self._kernel.lengthscales is not None  # checked in __init__
        assert self._kernel.outputscale is not None
        scale = math.sqrt(self._kernel.outputscale)
        data = Standardized((values - mean) / scale, mean, scale, 0, has_spread=True)
        noise_std = float(self._noise_std) / scale
        known = Hyperparameters(np.array(self._kernel.lengthscales), 1.0, noise_std)
        merged = merge_duplicates(points, data.values, np.ones(len(values)))
        return Fit((self._posterior(merged, embedding, known, mean=0.0),), data)

    def _posterior(
        self,
        merged: tuple[Array, Array, Array, float],
        embedding: Embedding,
        hyperparameters: Hyperparameters,
        mean: float | None = None,
    ) -> GaussianProcessPosterior:
        points, means, repeats, _ = merged
        return GaussianProcessPosterior(
            points,
            means,
            repeats,
            kernel=self._kernel,
            embedding=embedding,
            lengthscales=hyperparameters.lengthscales,
            prior_std=hyperparameters.prior_std,
            noise_std=hyperparameters.noise_std,
            mean=mean,
        )


def _inflation(check: ModelCheck | None) -> float:
    return 1.0 if check is None else check.inflation


def _scaled(hyperparameters: Hyperparameters, ratio: float) -> Hyperparameters:
    """Return the hyperparameters in another unit."""
    ratio = min(ratio, MOST_NOISE)  # as much is far too large either way, and its square is finite
    return Hyperparameters(
        hyperparameters.lengthscales, hyperparameters.prior_std * ratio, hyperparameters.noise_std * ratio
    )


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

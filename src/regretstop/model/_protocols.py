"""What the rest of the house asks of a posterior and of a surrogate, and what it gets.

A posterior may be able to do more than is asked of all: `Revisable` and `HasPaths` are what some rules look for.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model._kernels import Kernel
from regretstop.model._model_check import ModelCheck
from regretstop.model._sampling import SamplingReport
from regretstop.model._standardize import Standardized

Treatment = Literal["posterior", "map", "fixed"]


class Posterior(Protocol):
    """What rules and acquisitions need of a surrogate fitted to n observations in d dimensions.

    All values are standardised and maximised; points are encoded by the Space.
    """

    @property
    def prior_std(self) -> float:
        """s, the prior deviation of the objective."""
        ...

    @property
    def noise_std(self) -> float:
        """σ, the deviation of the noise that the model assumes."""
        ...

    @property
    def jitter(self) -> float:
        """Variance added to every observation for numerical reasons."""
        ...

    @property
    def lengthscales(self) -> Array:
        """ℓ, shape (d,); where the kernel is None only the search for a maximum uses it, and a guess will do."""
        ...

    @property
    def kernel(self) -> Kernel | None:
        """The kernel family, which knows how steep its draws are; None where nobody knows."""
        ...

    def mean_std(self, points: Array) -> tuple[Array, Array]:
        """Return μ and σ_n, each of shape (m,), at points of shape (m, d)."""
        ...

    def mean_std_gradient(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return μ, σ_n of shape (m,) and their gradients of shape (m, d), zero along categorical axes."""
        ...

    def condition_on(self, points: Array, values: Array | None = None) -> "Posterior":
        """Return the posterior as if the points, shape (m, d), had been observed, by default at their mean."""
        ...


@runtime_checkable
class Revisable(Protocol):
    """What a rule that compares two successive models asks besides: joint moments, and the model of one step before."""

    def covariance(self, points: Array) -> Array:
        """Return the posterior covariance of the objective, shape (m, m), at points of shape (m, d)."""
        ...

    def without(self, point: Array, value: float) -> Posterior:
        """Return the posterior, hyperparameters unchanged, as if one observation had not been made.

        Args:
            point: Where, encoded, shape (d,).
            value: What was observed, standardised.
        """
        ...


class Draws(Protocol):
    """Functions drawn from a posterior."""

    def __len__(self) -> int: ...

    def values(self, points: Array) -> Array:
        """Return every one at encoded points of shape (m, d), shape (m, number of functions)."""
        ...

    def value_gradient(self, points: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return function `which[i]` at point i, shape (m,), and its gradient, shape (m, d)."""
        ...


@runtime_checkable
class HasPaths(Protocol):
    """A posterior that can be drawn from as functions; not every surrogate's can."""

    def paths(self, n: int, rng: np.random.Generator) -> Draws:
        """Return n draws."""
        ...


@runtime_checkable
class HasJets(Protocol):
    """A posterior whose draws are twice differentiable, and that knows how their derivatives vary."""

    @property
    def prior_std(self) -> float:
        """s, the prior deviation of the objective."""
        ...

    @property
    def lengthscales(self) -> Array:
        """ℓ, shape (d,)."""
        ...

    @property
    def kernel(self) -> Kernel:
        """The kernel family."""
        ...

    def jet(
        self, points: Array, axes: NDArray[np.intp], n_free: int, reference: Array, weight: float = 1.0
    ) -> tuple[Array, Array]:
        """Return mean and covariance of f − κ f(x̂), the slopes of f and some of its second derivatives.

        Args:
            points: Encoded, shape (m, d).
            axes: Of each point, the numeric axes whose slopes are wanted, in units of ℓ, shape (m, a).
            n_free: Second derivatives are those along the first so many of them.
            reference: x̂, encoded, shape (d,).
            weight: κ.

        Returns:
            Mean, shape (m, q), and covariance, shape (m, q, q), of (f(x) − κ f(x̂), slopes, second derivatives), the
            last in the order of `numpy.triu_indices(n_free)`.
        """
        ...


@dataclass(frozen=True)
class Fit:
    """Posteriors of standardised values, and how to leave the standardised units.

    Attributes:
        posteriors: One posterior per hyperparameter sample, which certificates take the worst of; one for "map" and
            "fixed".
        data: The standardised values.
        mode: The posterior at the mode of the hyperparameters, by which a search chooses its next point; None if it
            is the only one.
        sampling: How the samples came about, None where nothing was sampled.
        check: How well earlier values were predicted before they were seen, by models such as `posteriors`; None where
            that was not checked.
        over_samples: Returns the fit over samples of the hyperparameters, for a rule that doubts their mode, or the
            same fit, with the reason, where they cannot be drawn; None where this is it, or the surrogate samples none.
    """

    posteriors: tuple[Posterior, ...]
    data: Standardized
    mode: Posterior | None = None
    sampling: SamplingReport | None = None
    check: ModelCheck | None = None
    over_samples: "Callable[[], Fit] | None" = None

    def map(self, change: Callable[[Posterior], Posterior]) -> "Fit":
        """Return the fit with every posterior changed."""
        mode = None if self.mode is None else change(self.mode)
        return replace(self, posteriors=tuple(map(change, self.posteriors)), mode=mode, over_samples=None)


@runtime_checkable
class Surrogate(Protocol):
    """A recipe that turns observations into posteriors.

    The same observations in the same order must give the same fit, whatever was fitted before: a process that is
    started again has to come to the same certificate. One recipe may serve several spaces and directions.
    """

    @property
    def guarantee(self) -> Literal["theorem", "model"]:
        """What its certificates are: "theorem" if every hyperparameter is declared, "model" if any is estimated."""
        ...

    def n_estimated(self, categories: NDArray[np.intp]) -> int:
        """Return how many numbers a fit estimates; nothing is certified from as many observations or fewer.

        Args:
            categories: Number of categories per axis of the space, 0 for a numeric axis; shape (d,).

        Raises:
            ValueError: If the surrogate does not go with such a space.
        """
        ...

    def fit(self, points: Array, values: Array, *, categories: NDArray[np.intp], sign: float) -> Fit:
        """Return the posteriors given observations.

        Args:
            points: Encoded points, shape (n, d), n ≥ 1; repeats allowed.
            values: Values of the maximised objective, finite, in its own units, shape (n,).
            categories: Number of categories per axis of the space, 0 for a numeric axis; shape (d,).
            sign: 1, or −1 where the values are those of the objective times −1: a declared mean has to follow.
        """
        ...

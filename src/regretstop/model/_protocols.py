"""What the optimizer asks of a surrogate, and what it gets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model._model_check import ModelCheck
from regretstop.model._posterior import Posterior
from regretstop.model._sampling import SamplingReport
from regretstop.model._standardize import Standardized

Treatment = Literal["posterior", "map", "fixed"]


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
    """

    posteriors: tuple[Posterior, ...]
    data: Standardized
    mode: Posterior | None = None
    sampling: SamplingReport | None = None
    check: ModelCheck | None = None

    def map(self, change: Callable[[Posterior], Posterior]) -> "Fit":
        """Return the fit with every posterior changed."""
        mode = None if self.mode is None else change(self.mode)
        return replace(self, posteriors=tuple(map(change, self.posteriors)), mode=mode)


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

"""What a stopping rule sees: the fitted model and the data at one moment."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from regretstop.array import Array
from regretstop.model import Posterior
from regretstop.schedule import EVERY_OBSERVATION, Schedule
from regretstop.snapshot._fitted_model import FittedModel
from regretstop.snapshot._observed_data import ObservedData
from regretstop.spaces import Space
from regretstop.statement import Noise

Beta = float | Literal["theory", "matched", "calibrated"]


@dataclass(frozen=True)
class Snapshot:
    """The data and the model at one moment.

    Attributes:
        space: The search space.
        beta: β of the acquisition.
        model: The fitted model.
        data: The observations.
        obstacle: Why nothing can be certified, in words; None if something can.
        test: Index k ≥ 1 of this test.
        schedule: When tests are made, which gives this one its index.
        next_test: Number of observations at which the next one is due; None if there is none.
    """

    space: Space
    beta: Beta
    model: FittedModel
    data: ObservedData
    obstacle: str | None
    test: int
    schedule: Schedule = EVERY_OBSERVATION
    next_test: int | None = None

    def over_samples(self) -> "Snapshot | None":
        """Return the same with samples of the hyperparameters; None where it has them, or there are none."""
        model = self.model.over_samples and self.model.over_samples()
        return None if model is None else replace(self, model=model)

    def at_data(self) -> list[tuple[Array, Array]]:
        """Return means and deviations of the candidates under each posterior, of shape (n,) each."""
        return [posterior.mean_std(self.data.points) for posterior in self.model.posteriors]

    def mean_of(self, trial: int) -> float:
        """Return the posterior mean of a trial, standardised, in the mean over the posteriors."""
        point = self.data.points[[trial]]
        return float(np.mean([posterior.mean_std(point)[0][0] for posterior in self.model.posteriors]))

    def noise_at(self, trial: int, *posteriors: Posterior) -> Noise:
        """Return the largest noise and jitter of the given posteriors, of all unless some are given, at a trial."""
        chosen = posteriors or self.model.posteriors
        at = self.mean_of(trial)
        return Noise(
            noise_std=max(self.model.noise_std_of(posterior, at) for posterior in chosen),
            jitter_std=math.sqrt(max(p.jitter for p in chosen)) * self.model.units.slope(at),
        )

    @property
    def later_test(self) -> int | None:
        """Number of observations at which the next test is due, where that is not after the next observation."""
        return None if self.next_test == self.data.n_observations + 1 else self.next_test

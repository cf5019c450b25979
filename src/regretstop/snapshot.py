"""What a stopping rule sees: the fitted model and the data at one moment."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model import ModelCheck, Plateau, Posterior, SamplingReport
from regretstop.schedule import EVERY_OBSERVATION, Schedule
from regretstop.search import Maximizer
from regretstop.spaces import Space
from regretstop.statement import ModelReport, Noise

Beta = float | Literal["theory", "matched", "calibrated"]


@dataclass(frozen=True)
class Snapshot:
    """The data and the model at one moment; everything inside is standardised and maximised.

    Attributes:
        space: The search space.
        posteriors: One per hyperparameter sample.
        maximizers: Of an acquisition, for each posterior, in the same order.
        points: Encoded points of the candidates for a certificate, shape (n, d): the fitted observations that lie in
            the space and whose values were fitted as they are. Others are fitted too, but cannot be recommended.
        numbers: Their trial numbers, shape (n,).
        values: Their observed values, in the objective's units and sign, shape (n,).
        scale: One standardised unit, in the objective's units.
        beta: β of the acquisition.
        guarantee: "theorem" where kernel and noise were declared, "model" where they were estimated.
        n_observations: Observations that entered the fit.
        n_excluded: Observations that did not.
        test: Index k ≥ 1 of this test in the risk ledger.
        obstacle: Why nothing can be certified, in words; None if something can.
        optimum: Index among the points of one that is known to be optimal, whatever the model: every point of the
            space was evaluated, and the noise is declared to be 0. None if none is known.
        sampling: How the hyperparameter samples came about; None where there are none.
        check: How well earlier values were predicted before they were seen; None where that was not checked.
        schedule: When tests are made, which gives this one its index.
        next_test: Number of observations at which the next one is due; None if there is none.
        last: The last observation as the posteriors saw it, its encoded point, shape (d,), and its standardised value;
            None where nothing is fitted.
        n_before: How many of `points` were observed before the last observation.
        plateau: The worst values where they look like a penalty; None where they do not.
    """

    space: Space
    posteriors: tuple[Posterior, ...]
    maximizers: tuple[Maximizer, ...]
    points: Array
    numbers: NDArray[np.intp]
    values: Array
    scale: float
    beta: Beta
    guarantee: Literal["theorem", "model"]
    n_observations: int
    n_excluded: int
    test: int
    obstacle: str | None
    sampling: SamplingReport | None = None
    check: ModelCheck | None = None
    schedule: Schedule = EVERY_OBSERVATION
    next_test: int | None = None
    last: tuple[Array, float] | None = None
    optimum: int | None = None
    n_before: int = 0
    plateau: Plateau | None = None

    def noise_std_of(self, posterior: Posterior) -> float:
        """Return σ in the objective's units: that of the fit, or of the user, before the model check inflates it."""
        inflation = 1.0 if self.check is None else self.check.inflation
        return posterior.noise_std * self.scale / inflation

    def noise(self, *posteriors: Posterior) -> Noise:
        """Return the largest noise and jitter of the given posteriors, of all unless some are given."""
        chosen = posteriors or self.posteriors
        return Noise(
            noise_std=max(map(self.noise_std_of, chosen)),
            jitter_std=math.sqrt(max(p.jitter for p in chosen)) * self.scale,
        )

    @property
    def later_test(self) -> int | None:
        """Number of observations at which the next test is due, where that is not after the next observation."""
        return None if self.next_test == self.n_observations + 1 else self.next_test

    def model_report(self) -> ModelReport:
        """Return what a certificate says about the model: the samples that it is the worst of, and their check."""
        report = ModelReport(n_samples=len(self.posteriors))
        if self.sampling is not None:
            report = replace(
                report,
                sampling="HMC" if self.sampling.fallback is None else "mode",
                n_transitions=self.sampling.n_transitions,
                n_divergent=self.sampling.n_divergent,
                acceptance=self.sampling.acceptance,
            )
        if self.check is not None and self.check.n_residuals > 0:
            report = replace(
                report,
                n_residuals=self.check.n_residuals,
                residual_rms=self.check.rms,
                inflation=self.check.inflation,
            )
        return report

    def plateau_remark(self) -> str:
        """Return a remark if the worst values look like a penalty; else nothing."""
        return "" if self.plateau is None else self.plateau.remark()

    def model_remark(self) -> str:
        """Return a remark if the hyperparameters could not be sampled, or the model was overconfident; else nothing."""
        remark = "" if self.check is None else self.check.remark()
        if self.sampling is not None and self.sampling.fallback is not None:
            remark += f"; at the mode of the hyperparameters, which could not be sampled: {self.sampling.fallback}"
        return remark

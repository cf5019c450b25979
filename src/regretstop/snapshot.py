"""What a stopping rule sees: the fitted model and the data at one moment."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.history import Observation
from regretstop.model import LogWarp, ModelCheck, Plateau, Posterior, SamplingReport, Units
from regretstop.schedule import EVERY_OBSERVATION, Schedule
from regretstop.search import Maximizer, SearchModel
from regretstop.spaces import Space
from regretstop.statement import ModelReport, Noise

Beta = float | Literal["theory", "matched", "calibrated"]


@dataclass(frozen=True)
class LastObservation:
    """The last observation as the posteriors saw it.

    Attributes:
        point: Encoded, shape (d,).
        value: Standardised.
        n_before: How many candidates for a certificate were observed before it.
    """

    point: Array
    value: float
    n_before: int


@dataclass(frozen=True)
class FittedModel:
    """The model at one moment, standardised and maximised.

    Attributes:
        guarantee: "theorem" where kernel and noise were declared, "model" where they were estimated.
        posteriors: One per hyperparameter sample; none where nothing is fitted.
        maximizers: Of an acquisition, for each posterior, in the same order.
        relaxed: The same of Lagrangians, which are no less than the objective wherever the constraints are met; none
            where no constraint was modelled.
        scale: One standardised unit, in the objective's units, or in those of warped values.
        offset: What is 0 in standardised units, in the same units and maximised.
        warp: What was applied to the values first; None for none.
        sampling: How the hyperparameter samples came about; None where there are none.
        check: How well earlier values were predicted before they were seen; None where that was not checked.
        n_constraints: How many constraints were modelled.
        over_samples: Returns the same over samples of the hyperparameters, or None where they cannot be drawn; None
            where this is not at their mode, or the surrogate samples none.
    """

    guarantee: Literal["theorem", "model"]
    posteriors: tuple[Posterior, ...] = ()
    maximizers: tuple[Maximizer, ...] = ()
    relaxed: tuple[Maximizer, ...] = ()
    scale: float = 1.0
    offset: float = 0.0
    warp: LogWarp | None = None
    sampling: SamplingReport | None = None
    check: ModelCheck | None = None
    n_constraints: int = 0
    over_samples: "Callable[[], FittedModel | None] | None" = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, model: SearchModel, guarantee: Literal["theorem", "model"]) -> "FittedModel":
        """Return what a rule sees of a fit with its searches."""
        fit = model.fit
        return cls(
            guarantee="model" if model.constraints else guarantee,
            posteriors=fit.posteriors,
            maximizers=model.maximizers,
            relaxed=model.relaxed.maximizers if model.constraints else (),
            scale=fit.data.scale,
            offset=fit.data.offset,
            warp=fit.data.warp,
            sampling=fit.sampling,
            check=fit.check,
            n_constraints=len(model.constraints),
            over_samples=None if fit.over_samples is None else partial(_over_samples, model, guarantee),
        )

    @property
    def units(self) -> Units:
        """How to go back to the objective's units."""
        return Units(self.offset, self.scale, self.warp)

    @property
    def upper(self) -> tuple[Posterior, ...]:
        """What is no less than the objective wherever the constraints are met, for each posterior."""
        return tuple(each.posterior for each in self.relaxed) or self.posteriors

    @property
    def is_at_mode(self) -> bool:
        """Whether hyperparameters were estimated, and not sampled."""
        return self.guarantee == "model" and len(self.posteriors) == 1

    def among(self, maximizers: tuple[Maximizer, ...]) -> "FittedModel":
        """Return the model with other maximizers, and the posteriors that are theirs."""
        posteriors = tuple(each.posterior for each in maximizers)
        return replace(self, posteriors=posteriors, maximizers=maximizers, relaxed=(), over_samples=None)

    def noise_std_of(self, posterior: Posterior, at: float = 0.0) -> float:
        """Return σ in the objective's units: that of the fit, or of the user, before the model check inflates it.

        Args:
            posterior: Of which the noise is.
            at: The standardised value where it is: a warp makes it larger at lower ones.
        """
        inflation = 1.0 if self.check is None else self.check.inflation
        return posterior.noise_std * self.units.slope(at) / inflation

    def report(self) -> ModelReport:
        """Return what a certificate says about the model: the samples that it is the worst of, and their check."""
        report = ModelReport(n_samples=len(self.posteriors), n_constraints=self.n_constraints)
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

    def remark(self) -> str:
        """Return a remark if the hyperparameters could not be sampled, or the model was overconfident; else nothing."""
        remark = "" if self.check is None else self.check.remark()
        if self.sampling is not None and self.sampling.fallback is not None:
            remark += f"; at the mode of the hyperparameters, which could not be sampled: {self.sampling.fallback}"
        return remark


def _over_samples(model: SearchModel, guarantee: Literal["theorem", "model"]) -> FittedModel | None:
    doubted = model.over_samples()
    return None if doubted is None else FittedModel.of(doubted, guarantee)


def std_floor(posterior: Posterior, n: int) -> float:
    """Return σ √(1/(n + 1 + σ²)), below which no deviation is after n observations (paper, Lemma B.4); standardised."""
    noise_std = posterior.noise_std / posterior.prior_std
    return posterior.prior_std * noise_std / math.sqrt(n + 1 + noise_std * noise_std)


@dataclass(frozen=True)
class ObservedData:
    """The candidates for a certificate, and how many observations there were in all.

    Candidates are the fitted observations that lie in the space and are feasible, and whose values were fitted as they
    are. Others are fitted too, but cannot be recommended.

    Attributes:
        points: Encoded points of the candidates, shape (n, d).
        numbers: Their trial numbers, shape (n,).
        values: Their observed values, in the objective's units and sign, shape (n,).
        n_observations: Observations that entered the fit.
        n_excluded: Observations that did not.
        optimum: Index among the points of one that is known to be optimal, whatever the model: every point of the
            space was evaluated, and the noise is declared to be 0. None if none is known.
        ceiling: The best value that the objective could ever have, in its units and maximised; ∞ if none is declared.
        is_exact: Whether the noise is declared to be 0.
        last: The last observation; None where nothing is fitted.
        plateau: The worst values where they look like a penalty; None where they do not.
        observations: All evaluations that ended, also those that are not fitted.
        sign: Their values times the sign are maximised.
        seconds: How long the evaluations of the candidates took, shape (n,); NaN where that is not known.
        infeasible: Encoded points of those that would be candidates if they were feasible, shape (k, d).
        n_infeasible: How many of all that entered the fit are not feasible.
    """

    points: Array
    numbers: NDArray[np.intp]
    values: Array
    n_observations: int
    n_excluded: int
    optimum: int | None = None
    ceiling: float = math.inf
    is_exact: bool = False
    last: LastObservation | None = None
    plateau: Plateau | None = None
    observations: tuple[Observation, ...] = ()
    sign: float = 1.0
    seconds: Array = field(default_factory=lambda: np.zeros(0))
    infeasible: Array = field(default_factory=lambda: np.zeros((0, 0)))
    n_infeasible: int = 0

    @property
    def all_points(self) -> Array:
        """Encoded points of the candidates, and then of those that are merely not feasible, shape (n + k, d)."""
        return np.vstack([self.points, self.infeasible]) if len(self.infeasible) else self.points

    def plateau_remark(self) -> str:
        """Return a remark if the worst values look like a penalty; else nothing."""
        return "" if self.plateau is None else self.plateau.remark()


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

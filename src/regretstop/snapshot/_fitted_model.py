"""The model as a rule sees it: standardised and maximised, with the way back to the objective's units."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from regretstop.model import LogWarp, ModelCheck, Posterior, SamplingReport, Units
from regretstop.search import Maximizer, SearchModel
from regretstop.statement import ModelReport


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

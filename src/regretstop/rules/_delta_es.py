"""Rule DeltaES: stop when an observation hardly changes the expected regret (Ishibashi et al. 2023).

The rule compares two models, after n − 1 and after n observations. The divergence in it has the simple form of
`KL` below only if both have one prior: so the old model has the hyperparameters (and the standardisation) of the new
one, and the last observation is taken back from it. That also makes a certificate a function of the snapshot alone,
and pairs every sample of the hyperparameters with itself. The authors' program evaluates m and ς under the old model
as well, with the noise of the new one; a widely used library takes m and ς from the new posterior, which has already
seen y, and σ² = 1e-6 whatever the model's noise is. Neither is the divergence between the two models.

The incumbents x* are the evaluated points with the highest posterior mean, as Wilson 2024 runs the rule; the authors'
program takes the best observed values, which noise makes too high. See docs/theory.md, The rules of others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from regretstop.array import Array
from regretstop.gap import calibrated_gaps
from regretstop.model import Posterior, Revisable
from regretstop.rules._delta_cb import sqrt_beta_of
from regretstop.rules._estimate import Estimate
from regretstop.rules._heuristic import Heuristic
from regretstop.search import Maximizer, expected_improvement
from regretstop.snapshot import LastObservation, Snapshot
from regretstop.statement import Measure

NOT_REVISABLE = "the surrogate's posterior cannot take an observation back, which is how this rule compares models"
_NONE_BEFORE = "only the last observation lies in the space, so there is no earlier model to compare with"
_NOISE_FREE = (
    "the model has no noise: an observation that it could not foretell makes it infinitely different from the one "
    "before, and this rule needs noise_std above 0"
)
# Relative to s² and s: below these a variance, and a residual, is rounding. The one is the square of the other, and
# far above what 2⁻⁵² leaves of a variance of 0, which is a difference of numbers near s².
_SURE, _EQUAL = 1e-12, 1e-6


@dataclass(frozen=True)
class DeltaES(Heuristic):
    """ΔES: a bound on how much the last observation changed the expected regret of the best trial.

        |μ_{n−1}(x*_{n−1}) − μ_n(x*_n)| + v φ(g/v) + g Φ(g/v) + κ_{n−1} √(KL/2)

        g = μ_n(x*_{n−1}) − μ_n(x*_n),   v² = Var_n[f(x*_{n−1}) − f(x*_n)]       (no second term if x* is unchanged)
        KL = ½ [log(1 + ς/σ²) − ς/(ς + σ²) + ς (y − m)²/(ς + σ²)²]

    The rule of Ishibashi et al. 2023 (*A stopping criterion for Bayesian optimization by the gap of expected minimum
    simple regrets*), for maximisation. x* are the incumbents, κ_{n−1} is the bound of `DeltaCB` before the last
    observation y, and m, ς are mean and variance of f at its point then. σ² is the noise variance of the model, jitter
    included. Without any noise KL is infinite, and so is the bound, unless y was already known.

    It bounds a change, not the regret: a search that does not learn anything has a small one too.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1), of κ.

    Raises:
        ValueError: If an argument is out of its range.
    """

    measure: ClassVar[Measure] = "regret change"

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why nothing can be said, in words; None if something can."""
        if snapshot.obstacle is not None:
            return snapshot.obstacle
        if _revisable(snapshot.model.posteriors) is None:
            return NOT_REVISABLE
        last = snapshot.data.last
        return None if last is not None and last.n_before else _NONE_BEFORE

    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Return the worst over the posteriors at their common incumbents."""
        posteriors = _revisable(snapshot.model.posteriors)
        assert posteriors is not None  # asked before
        last = snapshot.data.last
        assert last is not None
        before = _before(snapshot, last, posteriors)
        means = np.array([posterior.mean_std(snapshot.data.points)[0] for posterior in snapshot.model.posteriors])
        old_means = np.array([posterior.mean_std(before.data.points)[0] for posterior in before.model.posteriors])
        incumbent, old_incumbent = (int(np.argmax(np.mean(each, axis=0))) for each in (means, old_means))
        gaps = calibrated_gaps(before, sqrt_beta_of(before, self.delta))
        changes: list[_Change] = []
        for k, gap in enumerate(gaps):
            improvement = 0.0
            if incumbent != old_incumbent:
                # v² = Var_n[f(x*_{n−1}) − f(x*_n)], and v φ(g/v) + g Φ(g/v)
                joint = posteriors[k].covariance(snapshot.data.points[[old_incumbent, incumbent]])
                variance = max(float(joint[0, 0] - 2.0 * joint[0, 1] + joint[1, 1]), 0.0)
                gain = float(means[k, old_incumbent] - means[k, incumbent])
                improvement = expected_improvement(gain, math.sqrt(variance))
            shift = abs(float(old_means[k, old_incumbent] - means[k, incumbent]))
            divergence = _divergence(before.model.posteriors[k], snapshot.model.posteriors[k], last.point, last.value)
            changes.append(_Change(shift, improvement, gap.bound, divergence))
        worst = max(changes, key=lambda change: change.bound)
        scale = snapshot.model.units.slope(float(np.mean(means[:, incumbent])))
        terms = {
            "mean_change": worst.shift * scale,
            "improvement": worst.improvement * scale,
            "kappa": worst.kappa * scale,
            "kl": worst.divergence,
        }
        reason = None if math.isfinite(worst.bound) else _NOISE_FREE
        return Estimate(worst.bound * scale, incumbent, gaps[0].how, terms, reason)


@dataclass(frozen=True)
class _Change:
    """The terms of the bound under one posterior, standardised."""

    shift: float
    improvement: float
    kappa: float
    divergence: float

    @property
    def bound(self) -> float:
        # Where κ is 0 everything was known, and nothing can have changed.
        learnt = self.kappa * math.sqrt(0.5 * self.divergence) if self.kappa > 0.0 else 0.0  # Pinsker's inequality
        return self.shift + self.improvement + learnt


def _revisable(posteriors: Sequence[Posterior]) -> list[Revisable] | None:
    found: list[Revisable] = [posterior for posterior in posteriors if isinstance(posterior, Revisable)]
    return found if len(found) == len(posteriors) else None


def _before(snapshot: Snapshot, last: LastObservation, posteriors: Sequence[Revisable]) -> Snapshot:
    """Return the snapshot without the last observation, under the same hyperparameters."""
    data, n = snapshot.data, last.n_before
    old = tuple(posterior.without(last.point, last.value) for posterior in posteriors)
    points, seed = data.points[:n], snapshot.model.maximizers[0].seed
    first = Maximizer(old[0], snapshot.space, points, seed)
    others = (Maximizer(posterior, snapshot.space, points, seed, like=first) for posterior in old[1:])
    return replace(
        snapshot,
        model=snapshot.model.among((first, *others)),
        data=replace(
            data,
            points=points,
            numbers=data.numbers[:n],
            values=data.values[:n],
            n_observations=data.n_observations - 1,
            last=None,
        ),
    )


def _divergence(old: Posterior, new: Posterior, point: Array, value: float) -> float:
    """Return KL between the posteriors after and before an observation of the value at the point.

        KL = ½ [log(1 + ς/σ²) − ς/(ς + σ²) + ς (y − m)²/(ς + σ²)²]

    Both have one prior, so it is the divergence of the two normals of f at the point: the newer one has variance
    ς σ²/(ς + σ²), and its mean is ς (y − m)/(ς + σ²) away.
    """
    mean, std = (float(each[0]) for each in old.mean_std(point[None]))
    noise, variance = new.noise_std**2 + new.jitter, std**2
    if noise == 0.0:
        # Another noise-free look at the same place tells nothing, if it does not contradict the first.
        is_known = variance <= _SURE * new.prior_std**2 and abs(value - mean) <= _EQUAL * new.prior_std
        return 0.0 if is_known else math.inf
    total = variance + noise
    surprise = variance * ((value - mean) / total) ** 2
    return 0.5 * max(math.log1p(variance / noise) - variance / total + surprise, 0.0)

"""What the best possible value says of a trial: nothing is better than it by more than what is left up to there.

With b the best possible value f* ≤ b, whatever the kernel, so f* − f(x̂) ≤ b − f(x̂): only the noise in x̂ is unknown
(docs/theory.md, A declared range). That is what the likeliest hyperparameters are too sure of: by the noise that they
have taken for structure a lucky score is a true one. So what they say is little is asked of samples.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from regretstop.array import Array
from regretstop.gap import CountedGap, Gap
from regretstop.normal import upper_quantile
from regretstop.rules._estimate import verdict
from regretstop.snapshot import Snapshot
from regretstop.statement import GapClaim, MeanRegret, ProbabilityLeft


@dataclass(frozen=True)
class Ceiling:
    """Limits of what is said of a trial; where no best possible value is declared there are none.

    Attributes:
        trial: Index of x̂ among the snapshot's points.
        bound: b less the value below which the trial is with a probability of at most the risk, in the mean over the
            posteriors; in the objective's units.
        left: P(f(x̂) < b − ε), in the mean over the posteriors.
        mean: E[b − f(x̂)], likewise; in the objective's units.
    """

    trial: int
    bound: float = math.inf
    left: float = 1.0
    mean: float = math.inf

    def gap(self, snapshot: Snapshot, gap: Gap | CountedGap | None) -> GapClaim:
        """Return the certified gap, no larger than the limit; infinite where there is neither."""
        bound, trial = (math.inf, None) if gap is None else (gap.bound, gap.incumbent)
        if self.bound < bound:
            bound, trial = self.bound, self.trial
        number = None if trial is None else int(snapshot.data.numbers[trial])
        return GapClaim(bound=bound, guarantee=snapshot.model.guarantee, incumbent=number)

    def lowered_left(self, left: ProbabilityLeft) -> ProbabilityLeft:
        """Return the probability left, no larger than the limit."""
        is_lower = self.left < left.probability
        return replace(left, probability=self.left, n_paths=None, by_ceiling=True) if is_lower else left

    def lowered_regret(self, regret: MeanRegret) -> MeanRegret:
        """Return the expected regret, no larger than the limit."""
        is_lower = self.mean < regret.value
        return replace(regret, value=self.mean, error=0.0, n_paths=None, by_ceiling=True) if is_lower else regret


def ceiling_of(snapshot: Snapshot, trial: int, risk: float, epsilon: float, *, decides: bool = True) -> Ceiling:
    """Return what the best possible value says.

    Args:
        snapshot: Without an obstacle.
        trial: Index of x̂ among the snapshot's points.
        risk: With which the bound may fail.
        epsilon: ε in the objective's units.
        decides: Whether the search may end now: then samples are asked where the mode says less than ε, for a second.
    """
    if math.isinf(snapshot.data.ceiling):
        return Ceiling(trial)
    found = _ceiling(snapshot, trial, risk, epsilon)
    if not decides or min(found.bound, found.mean) >= epsilon:
        return found
    doubted = snapshot.over_samples()
    return found if doubted is None else _ceiling(doubted, trial, risk, epsilon)


def _ceiling(snapshot: Snapshot, trial: int, risk: float, epsilon: float) -> Ceiling:
    best, units = snapshot.data.ceiling, snapshot.model.units
    mean, std = _at(snapshot, trial)
    # E[exp(−scale f)] of a normal f is exp(−scale μ + (scale σ)²/2).
    bent = 0.0 if units.warp is None else 0.5 * (units.scale * std) ** 2
    shift = 0.0 if units.warp is None else units.warp.shift
    expected = (shift + best - units.values(mean)) * np.exp(bent) - shift
    with np.errstate(divide="ignore", over="ignore"):  # by a deviation that is next to none
        below = ndtr((units.standardized(best - epsilon) - mean) / std)
    return Ceiling(
        trial,
        bound=max(best - float(units.values(np.array(_quantile(mean, std, risk)))), 0.0),
        left=float(np.mean(below)),
        mean=max(float(np.mean(expected)), 0.0),
    )


def _quantile(mean: Array, std: Array, risk: float) -> float:
    """Return the value below which a mixture of normals, in equal shares, is with a probability of at most the risk."""
    ends = mean - upper_quantile(math.log(risk)) * std
    low, high = float(np.min(ends)), float(np.max(ends))
    while (middle := 0.5 * (low + high)) not in (low, high):
        if np.mean(ndtr((middle - mean) / std)) > risk:
            high = middle
        else:
            low = middle
    return low


def under_ceiling(bound: float, epsilon: float) -> str:
    """Return the reason of a certificate whose bound is what is left up to the best possible value."""
    return f"{verdict(bound, epsilon)}: nothing can be better than the best possible value"


def _at(snapshot: Snapshot, trial: int) -> tuple[Array, Array]:
    """Return means and deviations of a trial under the posteriors, shape (p,) each; no deviation is 0."""
    found = np.array([np.ravel(p.mean_std(snapshot.data.points[[trial]])) for p in snapshot.model.posteriors])
    return found[:, 0], np.maximum(found[:, 1], np.finfo(np.float64).tiny)

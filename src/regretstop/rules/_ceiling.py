"""What the best possible value says of a trial: nothing is better than it by more than what is left up to there.

With b the best possible value f* ≤ b, whatever the kernel, so f* − f(x̂) ≤ b − f(x̂): only the noise in x̂ is unknown.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from regretstop.array import Array
from regretstop.normal import upper_quantile
from regretstop.snapshot import Snapshot


@dataclass(frozen=True)
class Ceiling:
    """Limits of what is said of a trial.

    Attributes:
        bound: b less the trial's lower confidence bound, the worst over the posteriors; in the objective's units.
        left: P(f(x̂) < b − ε), in the mean over the posteriors.
        mean: E[b − f(x̂)], likewise; in the objective's units.
    """

    bound: float
    left: float
    mean: float


def ceiling_of(snapshot: Snapshot, trial: int, risk: float, epsilon: float) -> Ceiling | None:
    """Return what the best possible value says; None where none is declared.

    Args:
        snapshot: Without an obstacle.
        trial: Index of x̂ among the snapshot's points.
        risk: With which the bound may fail.
        epsilon: ε in the objective's units.
    """
    best, units = snapshot.data.ceiling, snapshot.model.units
    if math.isinf(best):
        return None
    mean, std = _at(snapshot, trial)
    lower = units.values(mean - upper_quantile(math.log(risk)) * std)
    # E[exp(−scale f)] of a normal f: docs/theory.md, A declared range
    bent = 0.0 if units.warp is None else 0.5 * (units.scale * std) ** 2
    shift = 0.0 if units.warp is None else units.warp.shift
    expected = (shift + best - units.values(mean)) * np.exp(bent) - shift
    with np.errstate(divide="ignore"):
        below = ndtr((units.standardized(best - epsilon) - mean) / std)
    return Ceiling(
        bound=max(best - float(np.min(lower)), 0.0),
        left=float(np.mean(below)),
        mean=max(float(np.mean(expected)), 0.0),
    )


def _at(snapshot: Snapshot, trial: int) -> tuple[Array, Array]:
    """Return means and deviations of a trial under the posteriors, shape (p,) each; no deviation is 0."""
    found = np.array([np.ravel(p.mean_std(snapshot.data.points[[trial]])) for p in snapshot.model.posteriors])
    return found[:, 0], np.maximum(found[:, 1], np.finfo(np.float64).tiny)

"""What values say by themselves, before any model is asked: nothing can be better than what was seen, or hardly."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regretstop.certificate import Certificate
from regretstop.prose import rounded, rounded_up
from regretstop.rules._ceiling import under_ceiling
from regretstop.snapshot import Snapshot
from regretstop.statement import GapClaim, Guarantee, MaximumBy, Noise

# So many equal values hint that another evaluation would give it again; a proof that nothing is noisy they are not.
_HINT = 10
# Evaluations for each axis that are enough, even where they hardly differ.
_ENOUGH = 10
# Values that differ by less than this share of their size may be one that was computed with rounding.
_ROUNDED = 1e-10


def known_from_values(snapshot: Snapshot, epsilon: float, nothing: Callable[[str], Certificate]) -> Certificate | None:
    """Return the certificate where values alone say enough; None where they do not.

    Without noise that is a theorem: every point was evaluated, or the best value is within ε of the best possible one.
    Where the noise is not declared, equal values within ε of the best possible one say it too, without a proof: a model
    learns nothing from values that do not differ.

    Args:
        snapshot: The data; no model is asked.
        epsilon: ε in the objective's units.
        nothing: Returns a certificate without a bound, for a reason.
    """
    data = snapshot.data
    if data.optimum is not None:
        return _exact(nothing, snapshot, data.optimum, 0.0, "every point of the space was evaluated, without noise")
    if not len(data.values):
        return None
    best = int(np.argmax(data.sign * data.values))
    bound = max(data.ceiling - data.sign * float(data.values[best]), 0.0)
    reason = under_ceiling(bound, epsilon)
    if data.is_exact and bound < epsilon:
        return _exact(nothing, snapshot, best, bound, reason, "declared")
    if bound >= epsilon or not data.is_equal or data.n_observations < _HINT:
        return None
    reason = f"all {data.n_observations} values are equal, and at most {rounded_up(bound)} below the best possible one"
    return _certified(nothing(reason), snapshot, best, bound, "declared", "heuristic")


def up_to_the_ceiling(
    snapshot: Snapshot, epsilon: float, obstacle: str, nothing: Callable[[str], Certificate]
) -> Certificate:
    """Return the certificate where no model says anything: without noise the best possible value still does.

    Args:
        snapshot: The data; no model is asked.
        epsilon: ε in the objective's units.
        obstacle: Why there is nothing else to say.
        nothing: Returns a certificate without a bound, for a reason.
    """
    data = snapshot.data
    if not (data.is_exact and len(data.values) and math.isfinite(data.ceiling)):
        return nothing(obstacle)
    best = int(np.argmax(data.sign * data.values))
    bound = max(data.ceiling - data.sign * float(data.values[best]), 0.0)
    return _exact(nothing, snapshot, best, bound, f"{under_ceiling(bound, epsilon)}; {obstacle}", "declared")


def too_alike(snapshot: Snapshot, epsilon: float | None = None) -> str:
    """Return why an estimated model cannot tell yet how far others may be, in words; nothing if it can.

    It measures values by how much they differ, so few that differ little look as if nothing could differ by more.

    Args:
        snapshot: Without an obstacle.
        epsilon: ε in the objective's units, by which values differ little; by what rounding may make of them if None.
    """
    values, enough = snapshot.data.values, _ENOUGH * snapshot.space.dim
    if snapshot.model.guarantee == "theorem" or snapshot.data.n_observations >= enough:
        return ""
    if epsilon is None:
        spread, limit = snapshot.model.units.slope(), _ROUNDED * float(np.max(np.abs(values)))
        how, less = f"differ by about {rounded_up(spread)}", "what rounding may make of equal ones"
    else:
        spread, limit = float(np.max(values)) - float(np.min(values)), epsilon
        how, less = f"are within {rounded_up(spread)} of each other", f"ε = {rounded(epsilon)}"
    if spread >= limit:
        return ""
    return (
        f"so far all values {how}, which is less than {less}: "
        f"fewer than {enough} observations do not tell whether others are as near"
    )


def _exact(
    nothing: Callable[[str], Certificate],
    snapshot: Snapshot,
    trial: int,
    bound: float,
    reason: str,
    how: MaximumBy = "evaluated",
) -> Certificate:
    certificate = _certified(nothing(reason), snapshot, trial, bound, how, "theorem")
    gap = GapClaim(bound=bound, guarantee="theorem", incumbent=certificate.incumbent)
    return replace(certificate, gap=gap, noise=Noise(noise_std=0.0))


def _certified(
    nothing: Certificate, snapshot: Snapshot, trial: int, bound: float, how: MaximumBy, guarantee: Guarantee
) -> Certificate:
    claim = replace(
        nothing.claim,
        bound=bound,
        guarantee=guarantee,
        incumbent=int(snapshot.data.numbers[trial]),
        incumbent_value=float(snapshot.data.values[trial]),
        maximum=how,
    )
    return replace(nothing, claim=claim)

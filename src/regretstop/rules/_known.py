"""What values say by themselves, before any model is asked: nothing can be better than what was seen, or hardly."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regretstop.certificate import Certificate
from regretstop.prose import rounded_up
from regretstop.rules._ceiling import under_ceiling
from regretstop.snapshot import Snapshot
from regretstop.statement import GapClaim, Guarantee, MaximumBy, Noise

# So many equal values hint that another evaluation would give it again; a proof that nothing is noisy they are not.
_HINT = 10


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
    if bound >= epsilon:
        return None
    if data.is_exact:
        return _exact(nothing, snapshot, best, bound, under_ceiling(bound, epsilon), "declared")
    if not data.is_equal or data.n_observations < _HINT:
        return None
    reason = f"all {data.n_observations} values are equal, and at most {rounded_up(bound)} below the best possible one"
    return _certified(nothing(reason), snapshot, best, bound, "declared", "heuristic")


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

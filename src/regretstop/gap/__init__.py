"""The optimality gap of one evaluated trial: counted, or by a grid."""

from regretstop.bound import ledger_for
from regretstop.gap._counted import (
    CountedGap,
    best_trial,
    counted_gap,
    counting_obstacle,
    left_above,
    likely_optimum,
)
from regretstop.gap._grid import Gap, calibrated_gap, calibrated_gaps, certified_gap, slopes_known
from regretstop.gap._levels import RegretLevels
from regretstop.snapshot import Snapshot

__all__ = [
    "CountedGap",
    "Gap",
    "RegretLevels",
    "best_trial",
    "calibrated_gap",
    "calibrated_gaps",
    "certified_gap",
    "counted_gap",
    "counting_obstacle",
    "gap_beside",
    "left_above",
    "likely_optimum",
    "slopes_known",
]

# Keeps δ/n_L for slopes in the gap by a grid that stands beside the bound of a rule without slopes: the default of the
# rules that have them, by the paper's Remark 3.5.
_N_L_BESIDE = 10.0


def gap_beside(snapshot: Snapshot, delta: float, epsilon: float, incumbent: int) -> Gap | CountedGap | None:
    """Return the certified gap that stands beside the bound of a rule that has no gap itself: counted, if it can be.

    The snapshot must have no obstacle.

    Args:
        snapshot: The data and the model.
        delta: δ.
        epsilon: ε in the objective's units.
        incumbent: Index among the snapshot's points of the trial that the rule names; a gap by a grid may be about
            another one.
    """
    if counting_obstacle(snapshot) is None:
        return counted_gap(snapshot, delta, epsilon, incumbent)
    return certified_gap(snapshot, ledger_for(snapshot.space, delta, _N_L_BESIDE))

"""Stopping rules, one a file.

In comes a `Snapshot` of the data and the model; out goes a `Certificate`.
"""

from regretstop.rules._acquisition import AcquisitionThreshold
from regretstop.rules._base import Estimate, Rule
from regretstop.rules._combined import AllOf, AnyOf
from regretstop.rules._default import resolve_rule
from regretstop.rules._delta_cb import DeltaCB
from regretstop.rules._delta_es import DeltaES
from regretstop.rules._facts import Deadline, Patience, Target, with_what_is_known
from regretstop.rules._heuristic import Heuristic
from regretstop.rules._optimality_gap import OptimalityGap
from regretstop.rules._prb import PRB
from regretstop.rules._remaining import probability_left
from regretstop.rules._ucb_br import UCBbr

__all__ = [
    "PRB",
    "AcquisitionThreshold",
    "AllOf",
    "AnyOf",
    "Deadline",
    "DeltaCB",
    "DeltaES",
    "Estimate",
    "Heuristic",
    "OptimalityGap",
    "Patience",
    "Rule",
    "Target",
    "UCBbr",
    "probability_left",
    "resolve_rule",
    "with_what_is_known",
]

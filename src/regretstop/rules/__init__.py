"""Stopping rules, one a file.

In comes a `Snapshot` of the data and the model; out goes a `Certificate`.
"""

from regretstop.rules._acquisition import AcquisitionThreshold
from regretstop.rules._base import Rule
from regretstop.rules._certify import certify
from regretstop.rules._combined import AllOf, AnyOf
from regretstop.rules._cost_aware import CostAware
from regretstop.rules._default import check_rule, resolve_rule
from regretstop.rules._delta_cb import DeltaCB
from regretstop.rules._delta_es import DeltaES
from regretstop.rules._estimate import Estimate
from regretstop.rules._expected_regret import ExpectedRegret
from regretstop.rules._facts import Deadline, Patience, Target
from regretstop.rules._heuristic import Heuristic
from regretstop.rules._optimality_gap import OptimalityGap
from regretstop.rules._prb import PRB
from regretstop.rules._query import two_deviations
from regretstop.rules._remaining import probability_left
from regretstop.rules._standard_error import Epsilon, standard_error
from regretstop.rules._ucb_br import UCBbr

__all__ = [
    "PRB",
    "AcquisitionThreshold",
    "AllOf",
    "AnyOf",
    "CostAware",
    "Deadline",
    "DeltaCB",
    "DeltaES",
    "Epsilon",
    "Estimate",
    "ExpectedRegret",
    "Heuristic",
    "OptimalityGap",
    "Patience",
    "Rule",
    "Target",
    "UCBbr",
    "certify",
    "check_rule",
    "probability_left",
    "resolve_rule",
    "standard_error",
    "two_deviations",
]

"""What a certificate states, as numbers: its typed parts, and the whole. `prose` has the words for it."""

from regretstop.statement._parts import (
    Asked,
    Claim,
    DataSeen,
    GapClaim,
    Guarantee,
    MaximumBy,
    MeanRegret,
    Measure,
    ModelReport,
    Noise,
    ProbabilityLeft,
    RiskSpent,
)
from regretstop.statement._statement import Statement

__all__ = [
    "Asked",
    "Claim",
    "DataSeen",
    "GapClaim",
    "Guarantee",
    "MaximumBy",
    "MeanRegret",
    "Measure",
    "ModelReport",
    "Noise",
    "ProbabilityLeft",
    "RiskSpent",
    "Statement",
]

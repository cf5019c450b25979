"""What a certificate states, as numbers, and what several forecast. `prose` has the words for it."""

from regretstop.statement._forecast import Forecast, Said, forecast, forecast_after, said_by
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
    "Forecast",
    "GapClaim",
    "Guarantee",
    "MaximumBy",
    "MeanRegret",
    "Measure",
    "ModelReport",
    "Noise",
    "ProbabilityLeft",
    "RiskSpent",
    "Said",
    "Statement",
    "forecast",
    "forecast_after",
    "said_by",
]

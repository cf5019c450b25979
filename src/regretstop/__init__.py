"""Stop a hyperparameter search when it is good enough, and say what is proved about it.

The rule `UCBbr` and its bound are those of Haowei Wang, Jingyi Wang and Qiyu Wei, "Regret-Based (ε, δ)-optimal Stopping
Criteria for Bayesian Optimization"; what goes beyond the paper is derived in docs/theory.md.

The public names are loaded when they are first used: scipy is most of what importing them costs, and a program that
only imports the package, such as a command line that prints its help, should not wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regretstop.bound import RegretBound, instantaneous_regret_bound
    from regretstop.certificate import Certificate
    from regretstop.history import Observation
    from regretstop.loop import Replay, Result, minimize, replay
    from regretstop.model import (
        Fit,
        GaussianProcess,
        HasJets,
        HasPaths,
        Kernel,
        Matern52,
        ModelCheck,
        Paths,
        Posterior,
        Revisable,
        SamplingReport,
        SquaredExponential,
        Standardized,
        Surrogate,
    )
    from regretstop.optimizer import GPUCB
    from regretstop.rules import (
        PRB,
        AcquisitionThreshold,
        AllOf,
        AnyOf,
        CostAware,
        Deadline,
        DeltaCB,
        DeltaES,
        Estimate,
        ExpectedRegret,
        Heuristic,
        OptimalityGap,
        Patience,
        Rule,
        Target,
        UCBbr,
    )
    from regretstop.schedule import Every, Geometric, Schedule, Thinning
    from regretstop.search import UpperConfidenceBound
    from regretstop.snapshot import FittedModel, LastObservation, ObservedData, Snapshot
    from regretstop.spaces import Categorical, Float, Int, Space
    from regretstop.statement import (
        Asked,
        Claim,
        DataSeen,
        Forecast,
        GapClaim,
        MeanRegret,
        ModelReport,
        Noise,
        ProbabilityLeft,
        RiskSpent,
        Statement,
        forecast,
    )

__all__ = [
    "GPUCB",
    "PRB",
    "AcquisitionThreshold",
    "AllOf",
    "AnyOf",
    "Asked",
    "Categorical",
    "Certificate",
    "Claim",
    "CostAware",
    "DataSeen",
    "Deadline",
    "DeltaCB",
    "DeltaES",
    "Estimate",
    "Every",
    "ExpectedRegret",
    "Fit",
    "FittedModel",
    "Float",
    "Forecast",
    "GapClaim",
    "GaussianProcess",
    "Geometric",
    "HasJets",
    "HasPaths",
    "Heuristic",
    "Int",
    "Kernel",
    "LastObservation",
    "Matern52",
    "MeanRegret",
    "ModelCheck",
    "ModelReport",
    "Noise",
    "Observation",
    "ObservedData",
    "OptimalityGap",
    "Paths",
    "Patience",
    "Posterior",
    "ProbabilityLeft",
    "RegretBound",
    "Replay",
    "Result",
    "Revisable",
    "RiskSpent",
    "Rule",
    "SamplingReport",
    "Schedule",
    "Snapshot",
    "Space",
    "SquaredExponential",
    "Standardized",
    "Statement",
    "Surrogate",
    "Target",
    "Thinning",
    "UCBbr",
    "UpperConfidenceBound",
    "forecast",
    "instantaneous_regret_bound",
    "minimize",
    "replay",
]

_HOME = {
    "RegretBound": "bound",
    "instantaneous_regret_bound": "bound",
    "Certificate": "certificate",
    "Observation": "history",
    "Replay": "loop",
    "Result": "loop",
    "minimize": "loop",
    "replay": "loop",
    "Fit": "model",
    "GaussianProcess": "model",
    "HasJets": "model",
    "HasPaths": "model",
    "Kernel": "model",
    "Matern52": "model",
    "ModelCheck": "model",
    "Paths": "model",
    "Posterior": "model",
    "Revisable": "model",
    "SamplingReport": "model",
    "SquaredExponential": "model",
    "Standardized": "model",
    "Surrogate": "model",
    "GPUCB": "optimizer",
    "AcquisitionThreshold": "rules",
    "AllOf": "rules",
    "AnyOf": "rules",
    "CostAware": "rules",
    "Deadline": "rules",
    "DeltaCB": "rules",
    "DeltaES": "rules",
    "Estimate": "rules",
    "ExpectedRegret": "rules",
    "Heuristic": "rules",
    "OptimalityGap": "rules",
    "PRB": "rules",
    "Patience": "rules",
    "Target": "rules",
    "Rule": "rules",
    "UCBbr": "rules",
    "Every": "schedule",
    "Geometric": "schedule",
    "Schedule": "schedule",
    "Thinning": "schedule",
    "UpperConfidenceBound": "search",
    "FittedModel": "snapshot",
    "LastObservation": "snapshot",
    "ObservedData": "snapshot",
    "Snapshot": "snapshot",
    "Categorical": "spaces",
    "Float": "spaces",
    "Int": "spaces",
    "Space": "spaces",
    "Asked": "statement",
    "Claim": "statement",
    "DataSeen": "statement",
    "Forecast": "statement",
    "GapClaim": "statement",
    "MeanRegret": "statement",
    "ModelReport": "statement",
    "Noise": "statement",
    "ProbabilityLeft": "statement",
    "RiskSpent": "statement",
    "Statement": "statement",
    "forecast": "statement",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

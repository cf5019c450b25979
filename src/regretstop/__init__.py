"""Stop a hyperparameter search when it is good enough, and say what is proved about it.

The public names are loaded when they are first used: scipy is most of what importing them costs, and a program that
only imports the package, such as a command line that prints its help, should not wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regretstop.acquisition import UpperConfidenceBound
    from regretstop.bound import RegretBound, instantaneous_regret_bound
    from regretstop.certificate import Certificate
    from regretstop.kernels import Kernel, Matern52, SquaredExponential
    from regretstop.loop import Result, minimize
    from regretstop.observation import Observation
    from regretstop.optimizer import GPUCB
    from regretstop.rules.acquisition import AcquisitionThreshold
    from regretstop.rules.base import Rule
    from regretstop.rules.delta_cb import DeltaCB
    from regretstop.rules.delta_es import DeltaES
    from regretstop.rules.heuristic import Estimate, Heuristic
    from regretstop.rules.optimality_gap import OptimalityGap
    from regretstop.rules.prb import PRB
    from regretstop.rules.ucb_br import UCBbr
    from regretstop.schedule import Every, Geometric, PostHoc, Schedule, Thinning
    from regretstop.snapshot import Snapshot
    from regretstop.space import Categorical, Float, Int, Space
    from regretstop.surrogate import Surrogate

__all__ = [
    "GPUCB",
    "PRB",
    "AcquisitionThreshold",
    "Categorical",
    "Certificate",
    "DeltaCB",
    "DeltaES",
    "Estimate",
    "Every",
    "Float",
    "Geometric",
    "Heuristic",
    "Int",
    "Kernel",
    "Matern52",
    "Observation",
    "OptimalityGap",
    "PostHoc",
    "RegretBound",
    "Result",
    "Rule",
    "Schedule",
    "Snapshot",
    "Space",
    "SquaredExponential",
    "Surrogate",
    "Thinning",
    "UCBbr",
    "UpperConfidenceBound",
    "instantaneous_regret_bound",
    "minimize",
]

_HOME = {
    "UpperConfidenceBound": "acquisition",
    "RegretBound": "bound",
    "instantaneous_regret_bound": "bound",
    "Certificate": "certificate",
    "Kernel": "kernels",
    "Matern52": "kernels",
    "SquaredExponential": "kernels",
    "GPUCB": "optimizer",
    "Observation": "observation",
    "Result": "loop",
    "minimize": "loop",
    "AcquisitionThreshold": "rules.acquisition",
    "Rule": "rules.base",
    "DeltaCB": "rules.delta_cb",
    "DeltaES": "rules.delta_es",
    "Estimate": "rules.heuristic",
    "Heuristic": "rules.heuristic",
    "OptimalityGap": "rules.optimality_gap",
    "PRB": "rules.prb",
    "UCBbr": "rules.ucb_br",
    "Every": "schedule",
    "Geometric": "schedule",
    "PostHoc": "schedule",
    "Schedule": "schedule",
    "Thinning": "schedule",
    "Snapshot": "snapshot",
    "Categorical": "space",
    "Float": "space",
    "Int": "space",
    "Space": "space",
    "Surrogate": "surrogate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

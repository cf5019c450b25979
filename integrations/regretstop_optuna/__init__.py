"""Optuna: a GP-UCB sampler, and a callback that stops a study when it is good enough."""

from regretstop_optuna.callback import RegretBoundCallback
from regretstop_optuna.decision import certificate_of, should_stop
from regretstop_optuna.plot import plot_regret_bound
from regretstop_optuna.sampler import GPUCBSampler

__all__ = [
    "GPUCBSampler",
    "RegretBoundCallback",
    "certificate_of",
    "plot_regret_bound",
    "should_stop",
]

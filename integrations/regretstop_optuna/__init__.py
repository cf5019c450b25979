"""Optuna: a GP-UCB sampler, and a callback that stops a study when it is good enough."""

from importlib import import_module

try:
    import_module("optuna")
except ModuleNotFoundError as error:
    if error.name != "optuna":  # something that Optuna itself lacks
        raise
    message = "regretstop_optuna needs Optuna: pip install 'regretstop[optuna]'"
    raise ModuleNotFoundError(message, name="optuna") from error

from regretstop_optuna.callback import RegretBoundCallback
from regretstop_optuna.check import check_study
from regretstop_optuna.decision import certificate_of, should_stop
from regretstop_optuna.hindsight import replay
from regretstop_optuna.plot import plot_bound_parts, plot_optimum, plot_probability_left, plot_regret_bound
from regretstop_optuna.progress import forecast_of
from regretstop_optuna.sampler import GPUCBSampler
from regretstop_optuna.scores import report_cross_validation_scores

__all__ = [
    "GPUCBSampler",
    "RegretBoundCallback",
    "certificate_of",
    "check_study",
    "forecast_of",
    "plot_bound_parts",
    "plot_optimum",
    "plot_probability_left",
    "plot_regret_bound",
    "replay",
    "report_cross_validation_scores",
    "should_stop",
]

"""Stops a study when it is good enough, and says what is known then."""

from regretstop_optuna import certificate_of
from regretstop_optuna import forecast_of
from regretstop_optuna import plot_regret_bound
from regretstop_optuna import RegretBoundCallback
from regretstop_optuna import replay
from regretstop_optuna import report_cross_validation_scores
from regretstop_optuna import should_stop


__all__ = [
    "RegretBoundCallback",
    "certificate_of",
    "forecast_of",
    "plot_regret_bound",
    "replay",
    "report_cross_validation_scores",
    "should_stop",
]

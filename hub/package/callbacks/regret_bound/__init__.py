"""Stops a study when it is good enough, and says what is known then."""

from regretstop_optuna import RegretBoundCallback, certificate_of, plot_regret_bound, replay, should_stop

__all__ = ["RegretBoundCallback", "certificate_of", "plot_regret_bound", "replay", "should_stop"]

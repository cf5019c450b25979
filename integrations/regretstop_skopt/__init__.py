"""scikit-optimize: a callback that ends a search when it is good enough."""

from regretstop_skopt.plot import plot_regret_bound
from regretstop_skopt.stopper import RegretBoundStopper

__all__ = ["RegretBoundStopper", "plot_regret_bound"]

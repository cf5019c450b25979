"""Ray Tune: a GP-UCB searcher, and a stopper that ends an experiment when it is good enough."""

from importlib import import_module

try:
    import_module("ray.tune")
except ImportError as error:
    raise ImportError("regretstop_ray needs Ray Tune: pip install 'regretstop[ray]'") from error

from regretstop_ray.hindsight import replay
from regretstop_ray.plot import plot_bound_parts, plot_optimum, plot_probability_left, plot_regret_bound
from regretstop_ray.report import certificate_of
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper

__all__ = [
    "GPUCBSearch",
    "RegretBoundStopper",
    "certificate_of",
    "plot_bound_parts",
    "plot_optimum",
    "plot_probability_left",
    "plot_regret_bound",
    "replay",
]

"""Ray Tune: a GP-UCB searcher, and a stopper that ends an experiment when it is good enough."""

from regretstop_ray.report import certificate_of, plot_regret_bound
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper

__all__ = [
    "GPUCBSearch",
    "RegretBoundStopper",
    "certificate_of",
    "plot_regret_bound",
]

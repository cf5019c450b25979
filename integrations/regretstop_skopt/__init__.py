"""scikit-optimize: a callback that ends a search when it is good enough."""

from importlib.util import find_spec

try:
    # Only found here: it is imported with the first result.
    if find_spec("skopt") is None:
        raise ModuleNotFoundError("No module named 'skopt'", name="skopt")
except ImportError as error:
    raise ImportError("regretstop_skopt needs scikit-optimize: pip install 'regretstop[skopt]'") from error

from regretstop_skopt.plot import plot_bound_parts, plot_optimum, plot_probability_left, plot_regret_bound
from regretstop_skopt.stopper import RegretBoundStopper

__all__ = ["RegretBoundStopper", "plot_bound_parts", "plot_optimum", "plot_probability_left", "plot_regret_bound"]

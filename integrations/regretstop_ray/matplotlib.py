"""The same pictures as in `regretstop_ray`, with matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regretstop.plotting import Theme, draw_matplotlib
from regretstop_ray.plot import bound_history, bound_parts, optimum
from regretstop_ray.report import Source
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_regret_bound(source: Source, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the regret bound against ε over the trials.

    Args:
        source: As for `regretstop_ray.certificate_of`.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are no bounds.
    """
    return draw_matplotlib.regret_bound(bound_history(source), ax, theme)


def plot_probability_left(source: Source, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the estimated probability that something better by more than ε remains.

    Args:
        source: As for `regretstop_ray.certificate_of`.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated.
    """
    return draw_matplotlib.probability_left(bound_history(source), ax, theme)


def plot_bound_parts(source: Source, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw what the bound is made of: exploration, confidence, noise and grid.

    Args:
        source: As for `regretstop_ray.certificate_of`.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it.
    """
    return draw_matplotlib.bound_parts(bound_parts(source), ax, theme)


def plot_optimum(
    source: RegretBoundStopper | GPUCBSearch, *, params: Sequence[str] | None = None, theme: Theme = "light"
) -> "Figure":
    """Draw where the optimum can still be, in a new figure; see `regretstop.plotting.plot_optimum`.

    Args:
        source: As for `regretstop_ray.plot_optimum`.
        params: One or two parameters; the other ones are those of the certified trial.
        theme: "light" or "dark".

    Raises:
        ValueError: If there is no model, or no such parameters.
    """
    return draw_matplotlib.optimum(optimum(source, params), theme)

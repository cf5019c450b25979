"""The same pictures as in `regretstop_skopt`, with matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regretstop.plotting import Theme, draw_matplotlib
from regretstop_skopt.plot import bound_history, bound_parts, optimum
from regretstop_skopt.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_regret_bound(stopper: RegretBoundStopper, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the regret bound against ε over the trials.

    Args:
        stopper: A stopper that was called at least once.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are no bounds.
    """
    return draw_matplotlib.regret_bound(bound_history(stopper), ax, theme)


def plot_probability_left(stopper: RegretBoundStopper, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the estimated probability that something better by more than ε remains.

    Args:
        stopper: A stopper that was called at least once.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated.
    """
    return draw_matplotlib.probability_left(bound_history(stopper), ax, theme)


def plot_bound_parts(stopper: RegretBoundStopper, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw what the bound is made of: exploration, confidence, noise and grid.

    Args:
        stopper: A stopper that was called at least once.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it.
    """
    return draw_matplotlib.bound_parts(bound_parts(stopper), ax, theme)


def plot_optimum(
    stopper: RegretBoundStopper, *, params: Sequence[str] | None = None, theme: Theme = "light"
) -> "Figure":
    """Draw where the optimum can still be, in a new figure; see `regretstop.plotting.plot_optimum`.

    Args:
        stopper: As for `regretstop_skopt.plot_optimum`.
        params: One or two parameters; the other ones are those of the certified trial.
        theme: "light" or "dark".

    Raises:
        ValueError: If there is no model, or no such parameters.
    """
    return draw_matplotlib.optimum(optimum(stopper, params), theme)

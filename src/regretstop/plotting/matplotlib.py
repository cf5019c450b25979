"""The same plots as in `regretstop.plotting`, with matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regretstop.loop import Replay, Result
from regretstop.optimizer import GPUCB
from regretstop.plotting import Theme, bound_history, bound_parts, draw_matplotlib, optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_regret_bound(source: Result | Replay, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the bound, the certified gap, ε and the stop over the trials.

    Args:
        source: What `minimize` or `replay` returned.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".
    """
    return draw_matplotlib.regret_bound(bound_history(source), ax, theme)


def plot_probability_left(source: Result | Replay, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the estimated probability that something better by more than ε remains.

    Args:
        source: What `minimize` or `replay` returned.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated.
    """
    return draw_matplotlib.probability_left(bound_history(source), ax, theme)


def plot_bound_parts(source: Result | Replay, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw what the bound is made of over the trials: exploration, confidence, noise and grid.

    Args:
        source: What `minimize` or `replay` returned.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it: those of `UCBbr` and `OptimalityGap` do, once they are finite, but with
            beta="calibrated", which counts what is left as a whole.
    """
    return draw_matplotlib.bound_parts(bound_parts(source), ax, theme)


def plot_optimum(
    source: Result | Replay | GPUCB,
    *,
    params: Sequence[str] | None = None,
    epsilon: float | None = None,
    theme: Theme = "light",
) -> "Figure":
    """Draw where the optimum can still be, in a new figure; see `regretstop.plotting.plot_optimum`.

    Args:
        source: What `minimize` or `replay` returned, or a search.
        params: One or two parameters; the other ones are those of the certified trial.
        epsilon: ε in the objective's units; that of the last certificate by default, and none of a search.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are too few observations for a model, or no such parameters.
    """
    return draw_matplotlib.optimum(optimum(source, params, epsilon), theme)

"""The same pictures as in `regretstop_optuna`, with matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optuna.study import Study

from regretstop.plotting import Theme, draw_matplotlib
from regretstop_optuna.plot import bound_history, bound_parts, optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_regret_bound(study: Study, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the regret bound against ε over the trials.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are no bounds, or the study has several objectives.
    """
    return draw_matplotlib.regret_bound(bound_history(study), ax, theme)


def plot_probability_left(study: Study, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw the estimated probability that something better by more than ε remains.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated, or the study has several objectives.
    """
    return draw_matplotlib.probability_left(bound_history(study), ax, theme)


def plot_bound_parts(study: Study, ax: "Axes | None" = None, *, theme: Theme = "light") -> "Axes":
    """Draw what the bound is made of: exploration, confidence, noise and grid.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        ax: Where to draw; a new figure if None.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it, or the study has several objectives.
    """
    return draw_matplotlib.bound_parts(bound_parts(study), ax, theme)


def plot_optimum(study: Study, *, params: Sequence[str] | None = None, theme: Theme = "light") -> "Figure":
    """Draw where the optimum can still be, in a new figure; see `regretstop.plotting.plot_optimum`.

    Args:
        study: As for `regretstop_optuna.plot_optimum`.
        params: One or two parameters; the other ones are those of the certified trial.
        theme: "light" or "dark".

    Raises:
        ValueError: If there is no model, or no such parameters.
    """
    return draw_matplotlib.optimum(optimum(study, params), theme)

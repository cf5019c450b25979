# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# matplotlib is not typed.
"""The plots with matplotlib."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from regretstop.plotting._history import BoundHistory
from regretstop.plotting._matplotlib import add_legend, new_axes, text
from regretstop.plotting._optimum_matplotlib import optimum
from regretstop.plotting._parts import BoundParts
from regretstop.plotting._shared import PATTERNS, check_left, finite, part_colours
from regretstop.plotting._theme import Colours, Theme, colours_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bound_parts", "optimum", "probability_left", "regret_bound"]


def regret_bound(history: BoundHistory, ax: "Axes | None" = None, theme: Theme = "light") -> "Axes":
    """Draw the bound and ε on a log axis, the best value on a second axis.

    Args:
        history: What was decided.
        ax: Where to draw; a new figure if None.
        theme: Whether the ground is light or dark.

    Returns:
        The axes of the bound.
    """
    colours = colours_of(theme)
    ax = new_axes(colours) if ax is None else ax
    unit, trials = text(history.objective), list(history.trials)
    label = f"bound ({text(history.rule)})"
    ax.plot(trials, finite(history.bounds), color=colours.bound, marker=".", label=label)
    ax.plot(trials, finite(history.gaps), color=colours.gap, linestyle="--", label="certified optimality gap")
    _add_epsilon(ax, history.epsilon, colours)
    _add_stop(ax, history, colours)
    ax.set_yscale("log")
    ax.set_xlabel("trial")
    ax.set_ylabel(f"bound (units of the {unit})")
    right = _right(ax, colours)
    best: dict[str, Any] = {"color": colours.best, "linestyle": "-.", "drawstyle": "steps-post"}
    right.plot(trials, history.best_values, label="best value (right axis)", **best)
    right.set_ylabel(f"best value ({unit})")
    add_legend(ax, [*ax.get_lines(), *right.get_lines()], colours)
    return ax


def probability_left(history: BoundHistory, ax: "Axes | None" = None, theme: Theme = "light") -> "Axes":
    """Draw the probability that something better by more than ε remains, and the expected regret where it is known.

    Raises:
        ValueError: If neither is.
    """
    check_left(history)
    colours = colours_of(theme)
    ax = new_axes(colours) if ax is None else ax
    trials = list(history.trials)
    label = f"probability that something better by more than ε = {history.epsilon:.4g} remains"
    ax.plot(trials, list(history.left), color=colours.bound, marker=".", label=label)
    _add_stop(ax, history, colours)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("trial")
    ax.set_ylabel("probability")
    lines = list(ax.get_lines())
    if any(map(math.isfinite, history.expected_regrets)):
        right = _right(ax, colours)
        regrets = finite(history.expected_regrets)
        right.plot(trials, regrets, color=colours.noise, linestyle="--", label="expected regret (right axis)")
        right.set_ylabel(f"expected regret (units of the {text(history.objective)})")
        lines += right.get_lines()
    add_legend(ax, lines, colours, ncols=2)
    return ax


def bound_parts(parts: BoundParts, ax: "Axes | None" = None, theme: Theme = "light") -> "Axes":
    """Draw what the bound is made of, as shares of it."""
    colours = colours_of(theme)
    ax = new_axes(colours) if ax is None else ax
    trials, below = np.array(parts.trials, dtype=np.float64), np.zeros(len(parts.trials))
    shares = parts.shares
    for name in parts.parts:
        colour, hatch = part_colours(colours)[name], 2 * PATTERNS[name]
        heights = np.nan_to_num(np.array(shares[name], dtype=np.float64))
        look: dict[str, Any] = {"color": colour, "edgecolor": colours.ground, "linewidth": 0.0, "hatch": hatch}
        ax.bar(trials, heights, bottom=below, width=1.0, label=parts.words(name), **look)
        below += heights
    ax.set_ylim(0.0, 1.0)
    ax.set_xlabel("trial")
    ax.set_ylabel(f"share of the bound ({text(parts.rule)})")
    add_legend(ax, list(ax.containers), colours, ncols=1)
    return ax


def _right(ax: "Axes", colours: Colours) -> "Axes":
    right = ax.twinx()
    right.tick_params(which="both", colors=ax.yaxis.label.get_color())
    right.yaxis.label.set_color(ax.yaxis.label.get_color())
    right.spines["right"].set_color(ax.yaxis.label.get_color())
    for side in ("left", "top", "bottom"):
        right.spines[side].set_visible(False)
    return right


def _add_epsilon(ax: "Axes", epsilon: float, colours: Colours) -> None:
    if epsilon > 0.0:
        ax.axhline(epsilon, color=colours.epsilon, linewidth=1.2, label=f"ε = {epsilon:.4g}")


def _add_stop(ax: "Axes", history: BoundHistory, colours: Colours) -> None:
    if history.stopped_at is not None:
        label = f"stopped at trial {history.stopped_at}"
        ax.axvline(history.stopped_at, color=colours.epsilon, linestyle=":", label=label)

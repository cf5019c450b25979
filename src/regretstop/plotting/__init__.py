"""Plots of a search: of a `Result`, of a `Replay`, and of what an adapter hands over.

Each has one function for its numbers (`BoundHistory`, `BoundParts`, `Optimum`) and two that draw them: the functions
here return plotly figures, those of `regretstop.plotting.matplotlib` draw with matplotlib. Neither is imported before
something is drawn.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regretstop.loop import Replay, Result
from regretstop.optimizer import GPUCB
from regretstop.plotting import draw_matplotlib, draw_plotly
from regretstop.plotting._history import BoundHistory, history_of
from regretstop.plotting._optimum import Optimum, optimum_of
from regretstop.plotting._parts import PARTS, BoundParts, bound_parts_of, parts_of
from regretstop.plotting._theme import Theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingTypeStubs]

__all__ = [
    "PARTS",
    "BoundHistory",
    "BoundParts",
    "Optimum",
    "Theme",
    "bound_parts_of",
    "draw_matplotlib",
    "draw_plotly",
    "history_of",
    "optimum_of",
    "parts_of",
    "plot_bound_parts",
    "plot_optimum",
    "plot_probability_left",
    "plot_regret_bound",
]


def plot_regret_bound(source: Result | Replay, *, theme: Theme = "light") -> "Figure":
    """Draw the bound, the certified gap, ε and the stop over the trials, with plotly.

    Args:
        source: What `minimize` or `replay` returned.
        theme: "light" or "dark".
    """
    return draw_plotly.regret_bound(bound_history(source), theme)


def plot_probability_left(source: Result | Replay, *, theme: Theme = "light") -> "Figure":
    """Draw the estimated probability that something better by more than ε remains, with plotly.

    Args:
        source: What `minimize` or `replay` returned.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated.
    """
    return draw_plotly.probability_left(bound_history(source), theme)


def plot_bound_parts(source: Result | Replay, *, theme: Theme = "light") -> "Figure":
    """Draw what the bound is made of over the trials, with plotly: exploration, confidence, noise and grid.

    Args:
        source: What `minimize` or `replay` returned.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it: those of `UCBbr` and `OptimalityGap` do, once they are finite, but with
            beta="calibrated", which counts what is left as a whole.
    """
    return draw_plotly.bound_parts(bound_parts(source), theme)


def plot_optimum(
    source: Result | Replay | GPUCB,
    *,
    params: Sequence[str] | None = None,
    epsilon: float | None = None,
    theme: Theme = "light",
) -> "Figure":
    """Draw where the optimum can still be, with plotly.

    With one or two parameters, or `params`, it is the model along them: its mean, and how sure it is. With more it is
    how the maximisers of 256 draws of the model are spread along each. Either shows which of these are better than the
    certified trial by more than ε: what is still open.

    Args:
        source: What `minimize` or `replay` returned, or a search.
        params: One or two parameters; the other ones are those of the certified trial.
        epsilon: ε in the objective's units; that of the last certificate by default, and none of a search.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are too few observations for a model, or no such parameters.
    """
    return draw_plotly.optimum(optimum(source, params, epsilon), theme)


def bound_history(source: Result | Replay) -> BoundHistory:
    """Return what both backends draw."""
    observations = source.history if isinstance(source, Result) else source.observations
    stop = next((o.number for o, c in zip(observations, source.certificates, strict=True) if c.stop), None)
    return history_of(
        [o.number for o in observations],
        source.certificates,
        [o.value for o in observations],
        direction=source.optimizer.direction,
        stopped_at=stop,
    )


def bound_parts(source: Result | Replay) -> BoundParts:
    """Return what both backends draw.

    Raises:
        ValueError: If no certificate says what its bound is made of.
    """
    observations = source.history if isinstance(source, Result) else source.observations
    return bound_parts_of([o.number for o in observations], source.certificates)


def optimum(
    source: Result | Replay | GPUCB, params: Sequence[str] | None = None, epsilon: float | None = None
) -> Optimum:
    """Return what both backends draw.

    Raises:
        ValueError: If there are too few observations for a model, or no such parameters.
    """
    if isinstance(source, GPUCB):
        return optimum_of(source, epsilon=epsilon, params=params)
    last = source.certificates[-1]
    if epsilon is None and last.measure == "regret":
        epsilon = last.epsilon
    return optimum_of(source.optimizer, epsilon=epsilon, incumbent=last.incumbent, params=params)

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# plotly is not typed.
"""The plots with plotly."""

import math
from typing import TYPE_CHECKING, Any

from regretstop.plotting._history import BoundHistory
from regretstop.plotting._optimum_plotly import optimum
from regretstop.plotting._parts import BoundParts
from regretstop.plotting._plotly import lay_out, named_line, text
from regretstop.plotting._shared import PATTERNS, check_left, finite, part_colours
from regretstop.plotting._theme import Colours, Theme, colours_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["bound_parts", "optimum", "probability_left", "regret_bound"]

# A second axis, whose ticks are its own.
_RIGHT = {"overlaying": "y", "side": "right", "showgrid": False, "tickmode": "auto"}


def regret_bound(history: BoundHistory, theme: Theme = "light") -> "Figure":
    """Return the bound, the certified gap and ε on a log axis, and the best value on a second one."""
    from plotly.graph_objects import Figure, Scatter

    colours, unit = colours_of(theme), text(history.objective)
    trials = list(history.trials)
    figure = Figure()
    figure.add_trace(
        Scatter(
            x=trials,
            y=finite(history.bounds),
            name=f"bound ({text(history.rule)})",
            mode="lines+markers",
            line={"color": colours.bound},
        )
    )
    figure.add_trace(
        Scatter(
            x=trials,
            y=finite(history.gaps),
            name="certified optimality gap",
            mode="lines",
            line={"color": colours.gap, "dash": "dash"},
        )
    )
    figure.add_trace(
        Scatter(
            x=trials,
            y=history.best_values,
            name="best value",
            yaxis="y2",
            mode="lines",
            line={"color": colours.best, "shape": "hv", "dash": "dashdot"},
        )
    )
    if history.epsilon > 0.0:
        # A trace, unlike a line across the plot, has a place in the legend, and on a log axis.
        ends: dict[str, Any] = {
            "x": [trials[0], trials[-1]] if trials else [],
            "y": [history.epsilon] * 2 if trials else [],
        }
        line = {"color": colours.epsilon, "width": 1.5}
        figure.add_trace(Scatter(name=f"ε = {history.epsilon:.4g}", mode="lines", line=line, **ends))
    _add_stop(figure, history, colours)
    lay_out(figure, colours)
    figure.update_layout(
        xaxis_title="trial",
        yaxis={"title": f"bound (units of the {unit})", "type": "log", "exponentformat": "power"},
        yaxis2={"title": f"best value ({unit})", **_RIGHT},
    )
    return figure


def probability_left(history: BoundHistory, theme: Theme = "light") -> "Figure":
    """Return the probability that something better by more than ε remains, and the expected regret where it is known.

    Raises:
        ValueError: If neither is.
    """
    from plotly.graph_objects import Figure, Scatter

    check_left(history)
    colours, unit = colours_of(theme), text(history.objective)
    trials = list(history.trials)
    figure = Figure()
    figure.add_trace(
        Scatter(
            x=trials,
            y=list(history.left),
            name=f"probability that something better by more than ε = {history.epsilon:.4g} remains",
            mode="lines+markers",
            line={"color": colours.bound},
        )
    )
    _add_stop(figure, history, colours)
    lay_out(figure, colours)
    figure.update_layout(xaxis_title="trial", yaxis={"title": "probability", "range": [-0.02, 1.02]})
    if any(map(math.isfinite, history.expected_regrets)):
        figure.add_trace(
            Scatter(
                x=trials,
                y=finite(history.expected_regrets),
                name="expected regret",
                yaxis="y2",
                mode="lines",
                line={"color": colours.noise, "dash": "dash"},
            )
        )
        figure.update_layout(yaxis2={"title": f"expected regret (units of the {unit})", **_RIGHT})
    return figure


def bound_parts(parts: BoundParts, theme: Theme = "light") -> "Figure":
    """Return what the bound is made of, as shares of it; the sizes are shown where the mouse is."""
    from plotly.graph_objects import Bar, Figure

    colours = colours_of(theme)
    figure = Figure()
    shares = parts.shares
    for name, sizes in parts.parts.items():
        figure.add_trace(
            Bar(
                x=list(parts.trials),
                y=shares[name],
                customdata=list(sizes),
                hovertemplate=f"{name}: %{{y:.0%}}, %{{customdata:.4g}}<extra></extra>",
                name=parts.words(name),
                marker={
                    "color": part_colours(colours)[name],
                    "line": {"width": 0},
                    "pattern": {"shape": PATTERNS[name], "solidity": 0.2},
                },
            )
        )
    lay_out(figure, colours)
    yaxis = {"title": f"share of the bound ({text(parts.rule)})", "range": [0.0, 1.0], "tickformat": ".0%"}
    figure.update_layout(xaxis_title="trial", yaxis=yaxis, barmode="stack", bargap=0.0)
    return figure


def _add_stop(figure: Any, history: BoundHistory, colours: Colours) -> None:
    if history.stopped_at is not None:
        figure.add_vline(x=history.stopped_at, line_color=colours.epsilon, line_dash="dot")
        figure.add_trace(named_line(f"stopped at trial {history.stopped_at}", colours))

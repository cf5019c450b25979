# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# plotly is not typed.
"""What all plots with plotly share."""

import html
from typing import Any

from regretstop.plotting._theme import Colours


def named_line(name: str, colours: Colours) -> Any:
    """Return what the legend says of a vertical line, which has no place in it."""
    from plotly.graph_objects import Scatter

    return Scatter(x=[None], y=[None], mode="lines", name=name, line={"color": colours.epsilon, "dash": "dot"})


def lay_out(figure: Any, colours: Colours) -> None:
    """Give a figure the colours of the theme, and its legend a place above."""
    lines: dict[str, Any] = {
        "gridcolor": colours.faint,
        "linecolor": colours.ink,
        "zerolinecolor": colours.faint,
        "automargin": True,
    }
    figure.update_xaxes(**lines)
    figure.update_yaxes(**lines)
    figure.update_layout(
        paper_bgcolor=colours.ground,
        plot_bgcolor=colours.ground,
        font={"color": colours.ink},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0.0, "traceorder": "normal"},
    )


def text(text: str) -> str:
    """Return a name as the text that it is: plotly takes some HTML for markup."""
    return html.escape(text, quote=False)

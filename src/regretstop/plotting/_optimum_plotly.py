# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# plotly is not typed.
"""Where the optimum can still be, with plotly."""

from typing import TYPE_CHECKING, Any

import numpy as np

from regretstop.plotting._optimum import Axis, Optimum, bars, labels
from regretstop.plotting._plotly import lay_out, named_line, text
from regretstop.plotting._shared import faded, shorter
from regretstop.plotting._theme import Colours, Theme, colours_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def optimum(found: Optimum, theme: Theme = "light") -> "Figure":
    """Return where the optimum can still be: a line, a map, or the marginals of many parameters."""
    colours = colours_of(theme)
    if found.mean is None:
        return _marginals(found, colours)
    return _line(found, colours) if len(found.axes) == 1 else _map(found, colours)


def _line(found: Optimum, colours: Colours) -> "Figure":
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    assert found.mean is not None
    assert found.std is not None
    axis, words = found.axes[0], labels(found)
    has_paths = len(found.gains) > 0
    figure: Any = make_subplots(
        rows=2 if has_paths else 1,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        row_heights=[0.7, 0.3][: 1 + has_paths],
    )
    x, two = axis.positions, 2.0 * found.std
    mean: dict[str, Any] = {"x": x, "y": found.mean, "name": words["mean"]}
    if axis.choices:  # nothing lies between two of them
        bars_of_error = {"type": "data", "array": two, "thickness": 6, "width": 0, "color": faded(colours.bound)}
        marker: dict[str, Any] = {"symbol": "line-ew-open", "size": 16, "color": colours.bound}
        mean["name"] = f"{words['mean']} {words['band']}"
        figure.add_trace(Scatter(mode="markers", marker=marker, error_y=bars_of_error, **mean), row=1, col=1)
    else:
        hidden: dict[str, Any] = {"line": {"width": 0}, "mode": "lines", "hoverinfo": "skip"}
        band: dict[str, Any] = {"fill": "tonexty", "fillcolor": faded(colours.bound), "name": words["band"]}
        figure.add_trace(Scatter(x=x, y=found.mean + two, showlegend=False, **hidden), row=1, col=1)
        figure.add_trace(Scatter(x=x, y=found.mean - two, **band, **hidden), row=1, col=1)
        figure.add_trace(Scatter(mode="lines", line={"color": colours.bound}, **mean), row=1, col=1)
    if found.is_whole:
        dots: dict[str, Any] = {"color": colours.ink, "size": 5}
        figure.add_trace(
            Scatter(x=found.points[:, 0], y=found.values, name="trials", mode="markers", marker=dots), row=1, col=1
        )
    figure.add_vline(x=found.incumbent[0], line_color=colours.epsilon, line_dash="dot")
    figure.add_trace(named_line(words["incumbent"], colours), row=1, col=1)
    figure.update_yaxes(title_text=text(found.objective), row=1, col=1)
    if has_paths:
        _add_bars(figure, found, 0, colours, row=2, col=1, legend=True)
        figure.update_yaxes(title_text="share of paths", row=2, col=1)
    lay_out(figure, colours)
    _set_axis(figure, axis, row=1 + has_paths, col=1)
    if axis.log and has_paths:
        figure.update_xaxes(type="log", row=1, col=1)
    return figure


def _map(found: Optimum, colours: Colours) -> "Figure":
    from plotly.graph_objects import Heatmap, Scatter
    from plotly.subplots import make_subplots

    assert found.mean is not None
    assert found.std is not None
    words = labels(found)
    titles = [words["mean"], "posterior deviation"]
    figure: Any = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.14)
    for col, (surface, middle) in enumerate(((found.mean, 0.21), (found.std, 0.79)), start=1):
        bar: dict[str, Any] = {
            "orientation": "h",
            "x": middle,
            "len": 0.42,
            "y": -0.2,
            "yanchor": "top",
            "thickness": 14,
        }
        figure.add_trace(
            Heatmap(
                x=found.axes[0].positions,
                y=found.axes[1].positions,
                z=surface.T,
                colorscale=colours.ramp,
                colorbar={"title": {"text": text(found.objective), "side": "bottom"}, **bar},
            ),
            row=1,
            col=col,
        )
        is_open = found.is_open > 0.0
        marks = [
            ("settled", found.maximisers[~is_open], {"symbol": "x-thin", "line": {"color": "#ffffff", "width": 1}}),
            ("open", found.maximisers[is_open], {"symbol": "circle-open", "color": colours.epsilon, "size": 9}),
        ]
        for key, points, marker in marks:
            if len(points):
                at: dict[str, Any] = {"x": points[:, 0], "y": points[:, 1]}
                figure.add_trace(
                    Scatter(**at, mode="markers", marker=marker, name=words[key], showlegend=col == 1), row=1, col=col
                )
        if found.is_whole:
            dots: dict[str, Any] = {"color": "#ffffff", "size": 5, "line": {"color": "#000000", "width": 1}}
            at: dict[str, Any] = {"x": found.points[:, 0], "y": found.points[:, 1]}
            figure.add_trace(
                Scatter(**at, mode="markers", marker=dots, name="trials", showlegend=col == 1), row=1, col=col
            )
        star: dict[str, Any] = {
            "symbol": "star",
            "size": 15,
            "color": "#ffffff",
            "line": {"color": "#000000", "width": 1.5},
        }
        at: dict[str, Any] = {"x": found.incumbent[:1], "y": found.incumbent[1:]}
        figure.add_trace(
            Scatter(**at, mode="markers", marker=star, name=words["incumbent"], showlegend=col == 1), row=1, col=col
        )
        _set_axis(figure, found.axes[0], row=1, col=col)
        _set_axis(figure, found.axes[1], row=1, col=col, of="y")
    lay_out(figure, colours)
    # Above the titles; its marks are white, as on the maps.
    figure.update_layout(legend={"y": 1.12, "bgcolor": "#4a5568", "font": {"color": "#ffffff"}}, height=520)
    return figure


def _marginals(found: Optimum, colours: Colours) -> "Figure":
    from plotly.subplots import make_subplots

    n = len(found.axes)
    cols = min(n, 3)
    rows = -(-n // cols)
    figure: Any = make_subplots(rows=rows, cols=cols, vertical_spacing=0.28 / rows, horizontal_spacing=0.08)
    for k, axis in enumerate(found.axes):
        place: dict[str, Any] = {"row": k // cols + 1, "col": k % cols + 1}
        _add_bars(figure, found, k, colours, legend=k == 0, **place)
        figure.add_vline(x=found.incumbent[k], line_color=colours.epsilon, line_dash="dot", **place)
        _set_axis(figure, axis, **place)
        if k % cols == 0:
            figure.update_yaxes(title_text="share of paths", **place)
    figure.add_trace(named_line(labels(found)["incumbent"], colours), row=1, col=1)
    lay_out(figure, colours)
    hidden = f" (the {n} most open of {n + found.n_hidden} parameters)" if found.n_hidden else ""
    figure.update_layout(height=160 + 210 * rows, title={"text": f"Where the optimum can still be{hidden}"})
    return figure


def _add_bars(figure: Any, found: Optimum, k: int, colours: Colours, *, row: int, col: int, legend: bool) -> None:
    from plotly.graph_objects import Bar

    edges, is_open, settled = bars(found, k)
    if found.axes[k].log:
        middles = np.sqrt(edges[1:]) * np.sqrt(edges[:-1])
        # On a logarithmic axis plotly takes widths for distances between values.
        widths: Any = np.diff(edges)
    else:
        middles, widths = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    words = labels(found)
    for key, shares, colour, pattern in (
        ("open", is_open, colours.bound, ""),
        ("settled", settled, colours.gap, "/"),
    ):
        marker: dict[str, Any] = {
            "color": colour,
            "line": {"width": 0},
            "pattern": {"shape": pattern, "solidity": 0.25},
        }
        figure.add_trace(
            Bar(x=middles, y=shares, width=widths, name=words[key], marker=marker, legendgroup=key, showlegend=legend),
            row=row,
            col=col,
        )
    figure.update_layout(barmode="stack", bargap=0.0)


def _set_axis(figure: Any, axis: Axis, *, row: int, col: int, of: str = "x") -> None:
    update = figure.update_xaxes if of == "x" else figure.update_yaxes
    if axis.choices:
        ticks: dict[str, Any] = {
            "tickvals": list(range(len(axis.choices))),
            "ticktext": [text(shorter(c)) for c in axis.choices],
        }
        update(**ticks, row=row, col=col)
    elif axis.log:
        update(type="log", exponentformat="power", row=row, col=col)
    update(title_text=text(axis.name), row=row, col=col)

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# matplotlib is not typed.
"""Where the optimum can still be, with matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from regretstop.plotting._matplotlib import add_legend, dress, new_figure, text
from regretstop.plotting._optimum import Axis, Optimum, bars, labels
from regretstop.plotting._shared import shorter
from regretstop.plotting._theme import Colours, Theme, colours_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Letters that have room side by side under a panel of three in a row.
_ABREAST = 28


def optimum(found: Optimum, theme: Theme = "light") -> "Figure":
    """Return where the optimum can still be: a line, a map, or the marginals of many parameters."""
    colours = colours_of(theme)
    if found.mean is None:
        return _marginals(found, colours)
    return _line(found, colours) if len(found.axes) == 1 else _map(found, colours)


def _line(found: Optimum, colours: Colours) -> "Figure":
    assert found.mean is not None
    assert found.std is not None
    axis, words = found.axes[0], labels(found)
    has_paths = len(found.gains) > 0
    figure = new_figure(colours, (8.0, 5.0))
    panels: Any = figure.subplots(
        1 + has_paths, 1, sharex=True, squeeze=False, height_ratios=(2.5, 1.0)[: 1 + has_paths]
    )[:, 0]
    ax = panels[0]
    x, upper, lower = axis.positions, found.mean + 2.0 * found.std, found.mean - 2.0 * found.std
    look: dict[str, Any] = {"color": colours.bound, "label": words["mean"]}
    if axis.choices:  # nothing lies between two of them
        handles: list[Any] = list(ax.plot(x, found.mean, marker="_", markersize=14, linestyle="", **look))
        handles.append(ax.vlines(x, lower, upper, color=colours.bound, alpha=0.4, linewidth=8, label=words["band"]))
    else:
        handles = list(ax.plot(x, found.mean, **look))
        band: dict[str, Any] = {"color": colours.bound, "alpha": 0.25, "linewidth": 0.0, "label": words["band"]}
        handles.append(ax.fill_between(x, lower, upper, **band))
    if found.is_whole:
        handles.append(ax.scatter(found.points[:, 0], found.values, s=14, color=colours.ink, label="trials", zorder=3))
    handles.append(
        ax.axvline(
            found.incumbent[0], color=colours.epsilon, linestyle=":", linewidth=2.0, zorder=4, label=words["incumbent"]
        )
    )
    ax.set_ylabel(text(found.objective))
    if has_paths:
        handles += _draw_bars(panels[1], found, 0, colours)
        panels[1].axvline(found.incumbent[0], color=colours.epsilon, linestyle=":", linewidth=2.0, zorder=4)
        panels[1].set_ylabel("share of paths")
    for panel in panels:
        dress(panel, colours)
    _set_axis(panels[-1], axis)
    add_legend(ax, handles, colours, ncols=2)
    return figure


def _map(found: Optimum, colours: Colours) -> "Figure":
    assert found.mean is not None
    assert found.std is not None
    words = labels(found)
    figure = new_figure(colours, (9.6, 4.8))
    panels: Any = figure.subplots(1, 2)
    is_open = found.is_open > 0.0
    handles: list[Any] = []
    across, up = (axis.positions for axis in found.axes)
    for ax, surface, title in ((panels[0], found.mean, words["mean"]), (panels[1], found.std, "posterior deviation")):
        dress(ax, colours)
        ax.grid(visible=False)
        mesh = ax.pcolormesh(across, up, surface.T, cmap=colours.ramp, shading="nearest", rasterized=True)
        bar = figure.colorbar(mesh, ax=ax, location="bottom", label=text(found.objective), shrink=0.9)
        bar.ax.tick_params(colors=colours.ink)
        bar.ax.xaxis.label.set_color(colours.ink)
        ax.set_title(title, fontsize="medium")
        drawn: list[Any] = []
        settled, still = found.maximisers[~is_open], found.maximisers[is_open]
        if len(settled):
            drawn.append(
                ax.scatter(*settled.T, marker="x", s=24, color="#d9d9d9", linewidth=1.0, label=words["settled"])
            )
        if len(still):
            edge: dict[str, Any] = {"facecolor": "none", "edgecolor": colours.epsilon, "linewidth": 1.2}
            drawn.append(ax.scatter(*still.T, marker="o", s=42, label=words["open"], **edge))
        if found.is_whole:
            dot: dict[str, Any] = {"color": "#ffffff", "edgecolor": "#000000", "linewidth": 0.7}
            drawn.append(ax.scatter(*found.points.T, marker="o", s=16, label="trials", **dot))
        star: dict[str, Any] = {"color": "#ffffff", "edgecolor": "#000000", "linewidth": 1.0}
        drawn.append(ax.scatter(*found.incumbent, marker="*", s=170, label=words["incumbent"], zorder=4, **star))
        _set_axis(ax, found.axes[0])
        _set_axis(ax, found.axes[1], of="y")
        handles = drawn
    legend = figure.legend(
        handles,
        [handle.get_label() for handle in handles],
        loc="outside upper left",
        ncols=2,
        fontsize="small",
        labelcolor="#ffffff",  # as on the maps, whose marks are white
        facecolor="#4a5568",
        edgecolor="none",
        framealpha=1.0,
    )
    legend.set_in_layout(True)
    return figure


def _marginals(found: Optimum, colours: Colours) -> "Figure":
    n = len(found.axes)
    cols = min(n, 3)
    rows = -(-n // cols)
    figure = new_figure(colours, (9.6, 1.0 + 2.3 * rows))
    panels: Any = figure.subplots(rows, cols, squeeze=False)
    handles: list[Any] = []
    for k, ax in enumerate(panels.flat):
        if k >= n:
            ax.set_visible(False)
            continue
        dress(ax, colours)
        handles = _draw_bars(ax, found, k, colours)
        words = labels(found)["incumbent"]
        handles.append(
            ax.axvline(found.incumbent[k], color=colours.epsilon, linestyle=":", linewidth=2.0, zorder=4, label=words)
        )
        _set_axis(ax, found.axes[k])
        if k % cols == 0:
            ax.set_ylabel("share of paths")
    figure.legend(
        handles,
        [handle.get_label() for handle in handles],
        loc="outside upper left",
        ncols=2,
        frameon=False,
        fontsize="small",
        labelcolor=colours.ink,
    )
    if found.n_hidden:
        title = f"the {n} most open of {n + found.n_hidden} parameters"
        figure.suptitle(title, fontsize="medium", color=colours.ink)
    return figure


def _draw_bars(ax: "Axes", found: Optimum, k: int, colours: Colours) -> list[Any]:
    edges, is_open, settled = bars(found, k)
    words = labels(found)
    look: dict[str, Any] = {"align": "edge", "edgecolor": colours.ground, "linewidth": 0.0}
    starts, widths = edges[:-1], np.diff(edges)
    first = ax.bar(starts, is_open, widths, color=colours.bound, label=words["open"], **look)
    second = ax.bar(
        starts, settled, widths, bottom=is_open, color=colours.gap, hatch="//", label=words["settled"], **look
    )
    ax.set_ylim(0.0, 1.05 * (float(np.max(is_open + settled)) or 1.0))  # no path is in a branch that has the axis
    return [first, second]


def _set_axis(ax: "Axes", axis: Axis, of: str = "x") -> None:
    if axis.choices:
        places = list(range(len(axis.choices)))
        words = [text(shorter(choice)) for choice in axis.choices]
        if of == "x":
            # Where they would run into each other they are slanted.
            slanted: dict[str, Any] = {"rotation": 25, "ha": "right"} if sum(map(len, words)) > _ABREAST else {}
            ax.set_xticks(places, words, **slanted)
        else:
            ax.set_yticks(places, words)
    elif axis.log:
        (ax.set_xscale if of == "x" else ax.set_yscale)("log")
    (ax.set_xlabel if of == "x" else ax.set_ylabel)(text(axis.name))

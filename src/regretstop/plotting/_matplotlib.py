# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# matplotlib is not typed.
"""What all plots with matplotlib share."""

from typing import TYPE_CHECKING, Any

from regretstop.plotting._theme import Colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_figure(colours: Colours, size: tuple[float, float] = (8.0, 4.5)) -> "Figure":
    """Return a figure of its own, not pyplot's: the user's backend and open figures stay as they are."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained", facecolor=colours.ground)


def new_axes(colours: Colours) -> "Axes":
    """Return the axes of a new figure."""
    ax = new_figure(colours).add_subplot()
    dress(ax, colours)
    return ax


def dress(ax: "Axes", colours: Colours) -> None:
    """Give axes of a figure of ours the colours of the theme."""
    ax.set_facecolor(colours.ground)
    ax.tick_params(which="both", colors=colours.ink)
    ax.xaxis.label.set_color(colours.ink)
    ax.yaxis.label.set_color(colours.ink)
    ax.title.set_color(colours.ink)
    for spine in ax.spines.values():
        spine.set_color(colours.ink)
    ax.grid(color=colours.faint, linewidth=0.6)
    ax.set_axisbelow(True)


def add_legend(ax: "Axes", handles: list[Any], colours: Colours, ncols: int = 3) -> None:
    """Put a legend above the axes."""
    of_ours = ax.figure.get_facecolor()
    legend = ax.legend(
        handles,
        [str(handle.get_label()) for handle in handles],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=ncols,
        frameon=False,
        fontsize="small",
    )
    from matplotlib.colors import same_color

    if same_color(of_ours, colours.ground):  # on a figure of the user's, the user's own style says it
        for words in legend.get_texts():
            words.set_color(colours.ink)


def text(words: str) -> str:
    """Return a name as the text that it is: matplotlib takes what stands between two dollars for mathematics."""
    return words.replace("$", r"\$")

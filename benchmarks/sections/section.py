"""What a section of RESULTS.md consists of, and what several of them say and draw alike."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's, which the colour-blind can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
)
GREY = "#999999"
TREATMENTS = {"fixed": "declared", "map": "mode", "posterior": "samples"}


@dataclass(frozen=True)
class Section:
    """One experiment.

    Attributes:
        title: Its heading.
        result: What came out, in one sentence, for the top of the page.
        asked: What was asked and how.
        shown: The one table.
        caption: What the picture shows.
        draw: Draws the picture on an empty figure.
        found: What else is to be said, a paragraph each.
        tables: The full tables by name; the first one gives the picture its name.
    """

    title: str
    result: str
    asked: str
    shown: pd.DataFrame
    caption: str
    draw: Callable[[Figure], None]
    found: tuple[str, ...]
    tables: dict[str, pd.DataFrame]


def plain(axis: Axes) -> None:
    """Take off what carries nothing."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)

"""Colours on a light and on a dark ground.

They are those of Okabe and Ito (2008), made darker or lighter until each stands out from its ground; the colour-blind
can tell them apart, and what is drawn differs in its dashes, marks or place as well.
"""

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Colours:
    """Colours for everything that is drawn, as hexadecimal numbers.

    Attributes:
        ground: Behind the plot.
        ink: Text and axes.
        faint: Grid lines.
        bound: The bound; exploration among the parts.
        gap: The certified gap; the grid among the parts; what is settled.
        epsilon: ε and the stop.
        best: The best value; confidence among the parts.
        noise: Noise among the parts; the expected regret.
        ramp: Colours of a heat map from its lowest to its highest value, by plotly's name in lower case.
    """

    ground: str
    ink: str
    faint: str
    bound: str
    gap: str
    epsilon: str
    best: str
    noise: str
    ramp: str = "cividis"


_COLOURS: dict[str, Colours] = {
    "light": Colours(
        ground="#ffffff",
        ink="#24292f",
        faint="#e4e7eb",
        bound="#0072b2",
        gap="#6b6b6b",
        epsilon="#d55e00",
        best="#009e73",
        noise="#8e3a7a",
    ),
    "dark": Colours(
        ground="#1e2129",
        ink="#e6e8eb",
        faint="#3a3f4a",
        bound="#56b4e9",
        gap="#9aa0a6",
        epsilon="#f0743a",
        best="#f0e442",
        noise="#a855f7",
    ),
}


def colours_of(theme: Theme) -> Colours:
    """Return the colours of a theme.

    Raises:
        ValueError: If it is none.
    """
    if theme not in _COLOURS:
        raise ValueError(f"theme must be 'light' or 'dark', got {theme!r}")
    return _COLOURS[theme]

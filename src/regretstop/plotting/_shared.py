"""What both backends do alike."""

import math
from collections.abc import Sequence

from regretstop.plotting._history import BoundHistory
from regretstop.plotting._theme import Colours

# The pattern of each part of a bound, by its name: what differs in colour differs in that, too.
PATTERNS = {"exploration": "", "confidence": "/", "noise": "x", "grid": ".", "hills": "", "doubt": "/", "ceiling": "\\"}


def part_colours(colours: Colours) -> dict[str, str]:
    """Return the colour of each part of a bound, by its name."""
    return {
        "exploration": colours.bound,
        "confidence": colours.best,
        "noise": colours.noise,
        "grid": colours.gap,
        "hills": colours.bound,
        "doubt": colours.best,
        "ceiling": colours.noise,
    }


def check_left(history: BoundHistory) -> None:
    """Raise ValueError unless a probability or an expected regret is known."""
    if not any(map(math.isfinite, (*history.left, *history.expected_regrets))):
        raise ValueError(
            "no certificate says how probable something better is: that is estimated from draws of the model once "
            "there are enough observations"
        )


def finite(values: Sequence[float]) -> list[float]:
    """Return the values with gaps where they are infinite: a log axis cannot show them."""
    return [value if math.isfinite(value) else math.nan for value in values]


def shorter(text: str) -> str:
    """Return the text, cut where it would fill the plot."""
    return text if len(text) <= 24 else f"{text[:23]}…"


def faded(colour: str) -> str:
    """Return a hexadecimal colour, mostly transparent."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.25)"

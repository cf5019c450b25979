"""The colours: seen by everybody, on both grounds."""

from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest

from regretstop.plotting._theme import Theme, colours_of

# Machado, Oliveira and Fernandes (2009), severity 1: what linear RGB looks like to those without one kind of cone.
_SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_LINES = ("bound", "gap", "epsilon", "best", "noise")


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Return CIE L*a*b*, in which a distance of 1 is about the least that can be seen."""
    ratios = _XYZ @ np.clip(rgb, 0.0, 1.0) / (_XYZ @ np.ones(3))
    roots = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])])


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.1."""
    lights = sorted(float(_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", list(_SEEN))
def test_colours_can_be_told_apart(theme: Theme, eyes: str) -> None:
    colours = asdict(colours_of(theme))
    seen = {name: lab(_SEEN[eyes] @ linear(colours[name])) for name in _LINES}
    # Ten of the least differences that can be seen; hatches and dashes tell them apart as well.
    close = {(a, b) for a, b in combinations(_LINES, 2) if np.linalg.norm(seen[a] - seen[b]) < 10.0}
    assert close == set()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_stands_out_from_its_ground(theme: Theme) -> None:
    colours = asdict(colours_of(theme))
    assert contrast(colours["ink"], colours["ground"]) > 7.0  # WCAG 2.1, 1.4.6: text
    for name in _LINES:
        assert contrast(colours[name], colours["ground"]) > 3.0, name  # 1.4.11: what is drawn


def test_an_unknown_theme_is_named() -> None:
    with pytest.raises(ValueError, match="theme must be 'light' or 'dark', got 'blue'"):
        colours_of("blue")  # pyright: ignore[reportArgumentType]

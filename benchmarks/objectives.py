"""Test functions to be minimised."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regretstop import Float, Space

Objective = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True)
class Problem:
    """A function to minimise, with its least value and the tolerance asked for."""

    name: str
    space: Space
    objective: Objective
    minimum: float
    epsilon: float


def branin(params: Mapping[str, Any]) -> float:
    """Return the Branin function, raw."""
    x, y = params["x"], params["y"]
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_SHAPES = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(params: Mapping[str, Any]) -> float:
    """Return the six-dimensional Hartmann function."""
    x = np.array([params[f"x{j}"] for j in range(6)])
    return -float(_WEIGHTS @ np.exp(-np.sum(_SHAPES * (x - _CENTRES) ** 2, axis=1)))


PROBLEMS = {
    "Branin": Problem("Branin", Space({"x": Float(-5, 10), "y": Float(0, 15)}), branin, 0.39788736, 0.1),
    # ε is 5 % of the range of the function.
    "Hartmann-6": Problem(
        "Hartmann-6",
        Space({f"x{j}": Float(0, 1) for j in range(6)}),
        hartmann6,
        -3.32236801,
        0.166,
    ),
}

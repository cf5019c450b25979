"""Test functions to be minimised."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regretstop import Float, Space

Objective = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True)
class Problem:
    """What is searched, and how close to its optimum one wants to get.

    Attributes:
        space: The search space.
        objective: Its values, without noise.
        optimum: The best of them.
        epsilons: The ε that are asked about, in the objective's units.
        direction: "minimize" or "maximize".
        noise: Draws what is added to an evaluation.
        declared: Kernel and noise where the model is told them; empty where it estimates them.
    """

    space: Space
    objective: Objective
    optimum: float
    epsilons: tuple[float, ...]
    direction: Literal["minimize", "maximize"] = "minimize"
    noise: Callable[[np.random.Generator], float] = lambda _: 0.0
    declared: Mapping[str, Any] = field(default_factory=dict)


def cube(dim: int, low: float, high: float) -> Space:
    """Return the space of x0, x1, … in [low, high]."""
    return Space({f"x{j}": Float(low, high) for j in range(dim)})


def vector(params: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return x0, x1, …"""
    return np.array([params[f"x{j}"] for j in range(len(params))], dtype=float)


def branin(params: Mapping[str, Any]) -> float:
    """Return the Branin function, raw."""
    x, y = vector(params)
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
    x = vector(params)
    return -float(_WEIGHTS @ np.exp(-np.sum(_SHAPES * (x - _CENTRES) ** 2, axis=1)))


def hartmann3(params: Mapping[str, Any]) -> float:
    """Return the three-dimensional Hartmann function."""
    shapes = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    centres = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    x = vector(params)
    return -float(_WEIGHTS @ np.exp(-np.sum(shapes * (x - centres) ** 2, axis=1)))


def ackley(params: Mapping[str, Any]) -> float:
    """Return the Ackley function."""
    x = vector(params)
    root = math.exp(-0.2 * math.sqrt(float(np.mean(x**2))))
    return -20.0 * root - math.exp(float(np.mean(np.cos(2.0 * math.pi * x)))) + 20.0 + math.e


def levy(params: Mapping[str, Any]) -> float:
    """Return the Levy function."""
    w = 1.0 + (vector(params) - 1.0) / 4.0
    middle = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return math.sin(math.pi * w[0]) ** 2 + float(np.sum(middle)) + last


def rosenbrock(params: Mapping[str, Any]) -> float:
    """Return the Rosenbrock function divided by 3.755e5, as the paper scales it."""
    x = vector(params)
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1.0) ** 2)) / 3.755e5


def styblinski_tang(params: Mapping[str, Any]) -> float:
    """Return the function of Styblinski and Tang, whose minimum is −39.166166 for each dimension, on [−5, 5]."""
    x = vector(params)
    return 0.5 * float(np.sum(x**4 - 16 * x**2 + 5 * x))


def step(params: Mapping[str, Any]) -> float:
    """Return a bowl with a lower floor on a twelfth of the square: no continuous model fits its edge."""
    x, y = vector(params)
    return (x - 0.3) ** 2 + (y - 0.4) ** 2 - 0.5 * (x > 0.6 and 0.55 < y < 0.75)


_FOXHOLES = np.array(
    [
        [4, 4, 4, 4],
        [1, 1, 1, 1],
        [8, 8, 8, 8],
        [6, 6, 6, 6],
        [3, 7, 3, 7],
        [2, 9, 2, 9],
        [5, 5, 3, 3],
        [8, 1, 8, 1],
        [6, 2, 6, 2],
        [7, 3.6, 7, 3.6],
    ]
)
_WIDTHS = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])


def shekel(shares: tuple[float, ...]) -> Problem:
    """Return Shekel's function with ten holes in four dimensions; ε is a share of the depth of the deepest one."""

    def depth(params: Mapping[str, Any]) -> float:
        return -float(np.sum(1.0 / (np.sum((vector(params) - _FOXHOLES) ** 2, axis=1) + _WIDTHS)))

    return Problem(cube(4, 0, 10), depth, -10.53641, tuple(10.5 * share for share in shares))

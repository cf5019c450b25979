"""Test functions to be minimised, and draws of a Gaussian process to be maximised."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats.qmc import Sobol

from regretstop import Float, Int, Matern52, Space

Array = NDArray[np.float64]
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


@dataclass(frozen=True)
class Draw:
    """A draw of a Gaussian process with a Matérn-5/2 kernel, unit prior deviation and zero mean."""

    space: Space
    objective: Objective
    maximum: float


def finite_draw(dim: int, per_axis: int, lengthscale: float, rng: np.random.Generator) -> Draw:
    """Return an exact draw on a lattice of `per_axis` values an axis."""
    space = Space({f"x{j}": Int(0, per_axis - 1) for j in range(dim)})
    points = space.enumerate() / lengthscale
    r2 = np.sum((points[:, None, :] - points[None, :, :]) ** 2, axis=2)
    # The jitter is far below the noise that is added to the observations.
    root = np.linalg.cholesky(Matern52.correlation(r2) + 1e-9 * np.eye(len(points)))
    values = root @ rng.standard_normal(len(points))
    table = {tuple(space.decode(u).values()): float(v) for u, v in zip(space.enumerate(), values, strict=True)}
    return Draw(space, lambda params: table[tuple(params.values())], float(np.max(values)))


def continuous_draw(dim: int, lengthscale: float | Array, rng: np.random.Generator, n_features: int = 4096) -> Draw:
    """Return a draw on the unit cube by random Fourier features; the lengthscale is one number or one per axis.

    Its maximum is found by L-BFGS-B from the best of 2048 Sobol points.
    """
    space = Space({f"x{j}": Float(0, 1) for j in range(dim)})
    # The spectral density of a Matérn-5/2 kernel is a Student-t with five degrees of freedom.
    frequencies = rng.standard_normal((n_features, dim)) / lengthscale
    frequencies /= np.sqrt(rng.chisquare(5, n_features) / 5.0)[:, None]
    phases = rng.uniform(0.0, 2.0 * math.pi, n_features)
    weights = rng.standard_normal(n_features) * math.sqrt(2.0 / n_features)

    def value(x: Array) -> float:
        return float(np.cos(frequencies @ x + phases) @ weights)

    def negative(x: Array) -> tuple[float, Array]:
        angle = frequencies @ x + phases
        return -float(np.cos(angle) @ weights), (np.sin(angle) * weights) @ frequencies

    candidates = Sobol(dim, rng=rng).random(2048)
    at = np.concatenate([np.cos(part @ frequencies.T + phases) @ weights for part in np.split(candidates, 4)])
    starts = candidates[np.argsort(-at)[:10]]
    maximum = max(
        -float(minimize(negative, x, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * dim).fun) for x in starts
    )
    names = space.names
    return Draw(space, lambda params: value(np.array([params[n] for n in names])), maximum)

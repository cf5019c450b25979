"""Draws of a Gaussian process whose maximum is known."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats.qmc import Sobol

from regretstop import Float, Int, Kernel, Matern52, Space

Array = NDArray[np.float64]

_N_FEATURES = 4096
_N_FOR_SPREAD = 512
# Sobol points that are looked at for a maximum: so many a cell with the lengthscales as sides, within limits.
_N_A_CELL, _LOG2_LEAST, _LOG2_MOST = 256, 11, 16
# Starts of the ascents: one of so many of them, no fewer than so many, this far apart in lengthscales.
_START_EVERY, _LEAST_STARTS, _APART = 512, 32, 0.5


@dataclass(frozen=True)
class Draw:
    """A draw with unit prior deviation and zero mean, to be maximised.

    Attributes:
        space: Where it lives: a lattice or the unit cube.
        objective: Its value at parameters of the space.
        spread: Deviation of its values over the space.
        find_maximum: Computes the maximum, which costs more than the draw.
    """

    space: Space
    objective: Callable[[Mapping[str, Any]], float]
    spread: float
    find_maximum: Callable[[], float]


def lattice_draw(per_axis: int, lengthscales: Array, rng: np.random.Generator) -> Draw:
    """Return an exact draw of a Matérn-5/2 process on a lattice, `per_axis` values and one lengthscale an axis."""
    space = Space({f"x{j}": Int(0, per_axis - 1) for j in range(len(lengthscales))})
    points = space.enumerate()
    r2 = cdist(points / lengthscales, points / lengthscales, "sqeuclidean")
    # The jitter is far below the noise that is added to the observations.
    root = np.linalg.cholesky(Matern52.correlation(r2) + 1e-9 * np.eye(len(points)))
    values = root @ rng.standard_normal(len(points))
    table = {tuple(space.decode(u).values()): float(v) for u, v in zip(points, values, strict=True)}
    maximum = float(np.max(values))
    return Draw(space, lambda params: table[tuple(params.values())], float(np.std(values)), lambda: maximum)


def cube_draw(lengthscales: Array, rng: np.random.Generator, effort: int = 0, kernel: type[Kernel] = Matern52) -> Draw:
    """Return a draw on the unit cube by random Fourier features; one lengthscale an axis.

    Its maximum is found by L-BFGS-B from the best of many Sobol points, the more the shorter the lengthscales;
    `effort` doubles both numbers so many times.
    """
    dim = len(lengthscales)
    space = Space({f"x{j}": Float(0, 1) for j in range(dim)})
    frequencies = kernel.frequencies(_N_FEATURES, dim, rng) / lengthscales
    phases = rng.uniform(0.0, 2.0 * math.pi, _N_FEATURES)
    weights = rng.standard_normal(_N_FEATURES) * math.sqrt(2.0 / _N_FEATURES)
    log2 = math.ceil(np.log2(_N_A_CELL) - np.sum(np.log2(np.minimum(lengthscales, 1.0))))
    sobol = Sobol(dim, rng=rng).random_base2(effort + min(max(log2, _LOG2_LEAST), _LOG2_MOST)).astype(np.float32)

    def screen(points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the values in single precision, which serves to compare."""
        coarse, shifts, factors = (array.astype(np.float32) for array in (frequencies.T, phases, weights))
        parts = np.array_split(points, -(-len(points) // 512))
        return np.concatenate([np.cos(part @ coarse + shifts) @ factors for part in parts])

    def value(params: Mapping[str, Any]) -> float:
        return float(np.cos(frequencies @ np.array(list(params.values())) + phases) @ weights)

    def negative(x: Array) -> tuple[float, Array]:
        angle = frequencies @ x + phases
        return -float(np.cos(angle) @ weights), (np.sin(angle) * weights) @ frequencies

    def find_maximum() -> float:
        n_starts = max(len(sobol) // _START_EVERY, _LEAST_STARTS)
        starts = _apart(sobol[np.argsort(-screen(sobol))].astype(float) / lengthscales, n_starts)
        box = [(0.0, 1.0)] * dim
        return max(
            -float(minimize(negative, x, jac=True, method="L-BFGS-B", bounds=box).fun) for x in starts * lengthscales
        )

    return Draw(space, value, float(np.std(screen(sobol[:_N_FOR_SPREAD]))), find_maximum)


def _apart(points: Array, n: int) -> Array:
    """Return the first n points that are not close to an earlier one of them: those would climb the same hill."""
    chosen: list[Array] = []
    while len(points) and len(chosen) < n:
        chosen.append(points[0])
        points = points[np.sum((points - points[0]) ** 2, axis=1) > _APART**2]
    return np.array(chosen)

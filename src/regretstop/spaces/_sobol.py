"""Points that are spread evenly over a mixed space."""

from functools import lru_cache

import numpy as np

from regretstop.array import Array
from regretstop.spaces._branches import Branch
from regretstop.spaces._space import Space


def sobol_points(space: Space, n: int, seed: int, branch: Branch | None = None) -> Array:
    """Return the first n points of a scrambled Sobol sequence, rounded to the space, or to a branch; shape (n, d)."""
    unit = _unit_sobol(space.dim, 1 << max(n - 1, 0).bit_length(), seed)[:n]
    categorical = space.categories > 0
    points = unit.copy()
    points[:, categorical] = np.floor(unit[:, categorical] * space.categories[categorical])
    for j, values in () if branch is None else branch.values.items():
        points[:, j] = values[(unit[:, j] * len(values)).astype(int)]
    return space.snap(points)


@lru_cache(maxsize=8)
def _unit_sobol(dim: int, n: int, seed: int) -> Array:
    points = scrambled_sobol(dim, n, np.random.default_rng(seed))
    points.setflags(write=False)
    return points


def scrambled_sobol(dim: int, n: int, rng: np.random.Generator) -> Array:
    """Return the first n points of a Sobol sequence of the unit cube that is scrambled anew, shape (n, dim)."""
    from scipy.stats.qmc import Sobol  # slow to import, and not needed to import the package

    return np.asarray(Sobol(dim, scramble=True, seed=rng).random(n))  # `rng` came with SciPy 1.15

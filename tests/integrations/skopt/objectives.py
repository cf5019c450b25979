"""Objectives and histories that the tests share; module-level, so that results can be pickled."""

import numpy as np
from skopt import Optimizer

TABLE = (3.0, 1.0, 0.0, 2.0, 5.0, 4.0)

# Of scikit-optimize, where a search has converged.
REPEATED = "ignore:The objective has been evaluated at point:UserWarning"


def table(x) -> float:
    """Six points for [(0, 5)]: certified exactly, by enumeration, once they are known."""
    return TABLE[x[0]]


def parabola(x) -> float:
    return (x[0] - 1) ** 2


def bowl(x) -> float:
    return (x[0] - 0.7) ** 2 + 0.3 * (x[1] - 1) ** 2


def sampler(dimensions, **options) -> Optimizer:
    """Return an optimizer that draws at random and never fits a model of its own."""
    return Optimizer(dimensions, base_estimator="RF", n_initial_points=10_000, random_state=0, **options)


def told(dimensions, points, values):
    """Return the result of telling the points in one batch."""
    return sampler(dimensions).tell(points, values)


def random_points(dimensions, n: int) -> list[list]:
    return sampler(dimensions).space.rvs(n, random_state=np.random.RandomState(0))

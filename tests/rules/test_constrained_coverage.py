"""Bounds on the feasible optimum of draws: objective and constraint are Gaussian processes with known kernels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from regretstop import GPUCB, Float, GaussianProcess, Matern52, Space
from regretstop.gap import counted_gap
from regretstop.model import Constraint, Drawable
from regretstop.search import SearchModel
from regretstop.snapshot import FittedModel

DELTA, LENGTHSCALE, NOISE_STD = 0.1, 0.2, 1e-3
GRID = np.linspace(0.0, 1.0, 201)[:, None]
SPACE = Space({"x": Float(0.0, 1.0)})
N_DRAWS = 240


def surrogate(prior_std: float = 1.0) -> GaussianProcess:
    kernel = Matern52([LENGTHSCALE], prior_std**2)
    return GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=NOISE_STD, mean=0.0)


def verdicts(prior_std: float) -> list[bool]:
    """Return whether bounds were true, of those that are at least a tenth below the one for the whole space."""
    covariance = Matern52([LENGTHSCALE], 1.0).correlation(((GRID - GRID.T) / LENGTHSCALE) ** 2)
    factor = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(GRID)))
    rng, found = np.random.default_rng(1), []
    for _ in range(N_DRAWS):
        f, slack = (factor @ rng.standard_normal((len(GRID), 2))).T
        chosen = rng.choice(len(GRID), rng.integers(8, 13), replace=False)
        feasible = slack[chosen] >= 0.0
        if np.all(feasible) or not np.any(feasible):
            continue
        optimizer = GPUCB(SPACE, surrogate=surrogate(), seed=0)
        values = f[chosen] + NOISE_STD * rng.standard_normal(len(chosen))
        for x, value, met in zip(GRID[chosen, 0], values, feasible, strict=True):
            optimizer.tell({"x": float(x)}, float(value), feasible=bool(met))
        snapshot = optimizer.snapshot()
        seen = slack[chosen] + NOISE_STD * rng.standard_normal(len(chosen))
        fit = surrogate(prior_std).fit(GRID[chosen], seen, categories=SPACE.categories, sign=1.0)
        (posterior,) = fit.posteriors
        assert isinstance(posterior, Drawable)
        constraint = Constraint(posterior, -fit.data.offset / fit.data.scale)
        model = SearchModel.of(optimizer._fit(optimizer._history.encoded).fit, SPACE, GRID[chosen], 0)
        constrained = FittedModel.of(replace(model, constraints=(constraint,)), "theorem")
        gap = counted_gap(replace(snapshot, model=constrained), DELTA, 0.05)
        if gap.bound < 0.9 * counted_gap(snapshot, DELTA, 0.05).bound:
            own = np.argmin(np.abs(GRID[:, 0] - snapshot.data.points[gap.incumbent]))
            found.append(bool(np.max(f[slack >= 0.0]) - f[own] <= gap.bound))
    return found


@pytest.mark.slow
def test_bounds_below_that_of_the_whole_space_are_true():
    found = verdicts(1.0)
    assert len(found) >= 40
    assert binomtest(found.count(False), len(found), DELTA, alternative="greater").pvalue >= 0.05


@pytest.mark.slow
def test_of_a_constraint_whose_prior_is_too_narrow_they_are_not():
    """The simulation can fail; a prior five times too narrow is hardly told from the right one by so few draws."""
    found = verdicts(1.0 / 50.0)
    assert binomtest(found.count(False), len(found), DELTA, alternative="greater").pvalue < 0.05

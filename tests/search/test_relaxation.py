"""Which multipliers are chosen: those with which the least is left to find where the constraints are met."""

import numpy as np
import pytest

from regretstop import GaussianProcess, SquaredExponential
from regretstop.model import Constraint, Drawable, Lagrangian, Multiplier
from regretstop.search._relaxation import _WEIGHTS, _WIDTHS, relaxation

RNG = np.random.default_rng(0)
POINTS = RNG.random((30, 2))
CANDIDATES = RNG.random((200, 2))


def posterior(values: np.ndarray, prior_std: float = 1.0) -> Drawable:
    kernel = SquaredExponential([0.5, 0.5], prior_std**2)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.01 * prior_std)
    fitted = surrogate.fit(POINTS, values, categories=np.array([0, 0]), sign=1.0).posteriors[0]
    assert isinstance(fitted, Drawable)
    return fitted


# The objective rises along x, and along x it is forbidden from a half on; y has room everywhere.
OBJECTIVE = posterior(2.0 * POINTS[:, 0])
TIGHT = Constraint(posterior(30.0 * (0.5 - POINTS[:, 0]), prior_std=10.0), 0.0)
LOOSE = Constraint(posterior(POINTS[:, 1]), -3.0)


def highest(function: Drawable | Lagrangian) -> float:
    """Return the largest upper confidence bound among the candidates."""
    mean, std = function.mean_std(CANDIDATES)
    return float(np.max(mean + 2.0 * std))


def test_one_constraint_has_the_best_multiplier_of_all_that_are_tried() -> None:
    unit, ours = TIGHT.posterior.prior_std, OBJECTIVE.prior_std
    every = [
        highest(Lagrangian(OBJECTIVE, [(TIGHT, Multiplier(weight * ours / unit, width * unit))]))
        for weight in _WEIGHTS
        for width in _WIDTHS
    ]
    found = highest(relaxation(OBJECTIVE, [TIGHT], CANDIDATES, found=True))
    assert found == pytest.approx(min(every))
    # f is 1 at the edge and 2 at the end of the axis.
    assert found < 1.3 < 1.9 < highest(OBJECTIVE)


def test_a_constraint_that_nothing_violates_costs_nothing_and_hides_no_other() -> None:
    assert highest(relaxation(OBJECTIVE, [LOOSE], CANDIDATES, found=True)) == pytest.approx(highest(OBJECTIVE))
    alone = highest(relaxation(OBJECTIVE, [TIGHT], CANDIDATES, found=True))
    for both in ([TIGHT, LOOSE], [LOOSE, TIGHT]):
        assert highest(relaxation(OBJECTIVE, both, CANDIDATES, found=True)) <= alone + 1e-12


def test_two_constraints_have_multipliers_that_go_together() -> None:
    """Each forbids one side, and the corner that both leave is lower than what either leaves."""
    rising = posterior(2.0 * POINTS.sum(axis=1))
    sides = [Constraint(posterior(30.0 * (0.5 - POINTS[:, axis]), prior_std=10.0), 0.0) for axis in range(2)]
    alone = [highest(relaxation(rising, [side], CANDIDATES, found=True)) for side in sides]
    # f is 2 at the corner, 3 at the best point of a side and 4 at the corner of the square.
    assert highest(relaxation(rising, sides, CANDIDATES, found=True)) < 2.6 < 2.8 < min(alone)


def test_where_nothing_feasible_was_found_the_constraints_alone_say_where_to_look() -> None:
    mean, _ = relaxation(OBJECTIVE, [TIGHT], CANDIDATES, found=False).mean_std(CANDIDATES)
    met = CANDIDATES[:, 0] < 0.5
    assert np.min(mean[met]) > np.max(mean[CANDIDATES[:, 0] > 0.6])

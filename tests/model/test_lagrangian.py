"""The objective less what constraints cost: no less than it where they are met; derivatives are those of a product."""

import numpy as np
import pytest

from regretstop import GaussianProcess, SquaredExponential
from regretstop.model import Constraint, Drawable, Lagrangian, Multiplier, constraints_of

CATEGORIES = np.array([0, 0, 3, 0])
RNG = np.random.default_rng(0)
POINTS = np.column_stack([RNG.random((25, 2)), RNG.integers(3, size=25), RNG.random(25)])


def posterior(values: np.ndarray, lengthscale: float) -> Drawable:
    """Return one whose draws are smooth, so that differences of them are near their derivatives."""
    kernel = SquaredExponential([lengthscale, 0.7, 0.9, 0.5], 1.3)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.05, mean=0.2)
    fitted = surrogate.fit(POINTS, values, categories=CATEGORIES, sign=1.0).posteriors[0]
    assert isinstance(fitted, Drawable)
    return fitted


OBJECTIVE = posterior(np.sin(3.0 * POINTS[:, 0]) + POINTS[:, 2], 0.4)
CONSTRAINTS = [
    (Constraint(posterior(POINTS[:, 1] - 0.5, 0.6), 0.1), Multiplier(2.0, 0.3)),
    (Constraint(posterior(np.cos(4.0 * POINTS[:, 3]), 0.3), -0.2), Multiplier(0.5, 0.8)),
]
LAGRANGIAN = Lagrangian(OBJECTIVE, CONSTRAINTS)
AT = np.column_stack([RNG.random((6, 2)), RNG.integers(3, size=6), RNG.random(6)])


def moments(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of f + Σ λ s at points, by the definition."""
    mean, covariance = OBJECTIVE.mean_std(points)[0], OBJECTIVE.covariance(points)
    for constraint, multiplier in CONSTRAINTS:
        slack = constraint.posterior.mean_std(points)[0] - constraint.limit
        size = multiplier.weight / (1.0 + np.exp(slack / multiplier.width))
        mean = mean + size * slack
        covariance = covariance + np.outer(size, size) * constraint.posterior.covariance(points)
    return mean, covariance


def test_mean_and_deviation_are_those_of_the_sum():
    mean, covariance = moments(AT)
    assert LAGRANGIAN.mean_std(AT)[0] == pytest.approx(mean, abs=1e-12)
    assert LAGRANGIAN.mean_std(AT)[1] == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-10)


@pytest.mark.parametrize("axis", [0, 1, 3])
def test_gradients_are_limits_of_differences(axis):
    step = 1e-5 * np.eye(4)[axis]
    mean, std, by_mean, by_std = LAGRANGIAN.mean_std_gradient(AT)
    assert (mean, std) == (pytest.approx(LAGRANGIAN.mean_std(AT)[0]), pytest.approx(LAGRANGIAN.mean_std(AT)[1]))
    after, before = LAGRANGIAN.mean_std(AT + step), LAGRANGIAN.mean_std(AT - step)
    assert by_mean[:, axis] == pytest.approx((after[0] - before[0]) / 2e-5, abs=1e-6)
    assert by_std[:, axis] == pytest.approx((after[1] - before[1]) / 2e-5, abs=1e-6)
    assert not np.any(by_mean[:, 2])
    assert not np.any(by_std[:, 2])


@pytest.mark.parametrize("weight", [1.0, 1.3])
def test_jets_are_limits_of_differences(weight):
    """Of (h − κ f(x̂), three slopes, three second derivatives), in units of the lengthscales."""
    axes, n_free, step, reference = np.array([1, 3, 0]), 2, 1e-3, POINTS[3]
    means, covariances = LAGRANGIAN.jet(AT, np.tile(axes, (len(AT), 1)), n_free, reference, weight)
    steps = [step * LAGRANGIAN.lengthscales[axis] * np.eye(4)[axis] for axis in axes]
    for mean, covariance, point in zip(means, covariances, AT, strict=True):
        offsets, rows = [np.zeros(4)], [{0: 1.0}]

        def at(offset: np.ndarray, offsets: list = offsets) -> int:
            offsets.append(offset)
            return len(offsets) - 1

        rows += [{at(e): 0.5 / step, at(-e): -0.5 / step} for e in steps]
        for i, j in zip(*np.triu_indices(n_free), strict=True):
            e, g = steps[i], steps[j]
            quarter = 0.25 / step**2
            rows.append({at(e + g): quarter, at(e - g): -quarter, at(g - e): -quarter, at(-e - g): quarter})
        stencil = np.zeros((len(rows), len(offsets)))
        for row, entries in zip(stencil, rows, strict=True):
            for k, entry in entries.items():
                row[k] += entry
        places = point + np.array(offsets)
        own_mean, own_covariance = moments(places)
        joint = OBJECTIVE.covariance(np.vstack([places, reference]))
        expected = stencil @ own_mean
        expected[0] -= weight * OBJECTIVE.mean_std(reference[None])[0][0]
        spread = stencil @ own_covariance @ stencil.T
        with_own = stencil @ joint[:-1, -1]
        spread[0] -= weight * with_own
        spread[:, 0] -= weight * with_own
        spread[0, 0] += weight**2 * joint[-1, -1]
        deviations = np.sqrt(np.diag(covariance))
        assert mean == pytest.approx(expected, abs=2e-4 * (1.0 + np.max(np.abs(expected))))
        assert covariance / np.outer(deviations, deviations) == pytest.approx(
            spread / np.outer(deviations, deviations), abs=2e-3
        )


def test_paths_are_the_objectives_where_the_constraints_are_met_and_lower_elsewhere():
    n, rng = 50, np.random.default_rng(1)
    drawn = LAGRANGIAN.paths(n, rng)
    rng = np.random.default_rng(1)
    slacks = [constraint.posterior.paths(n, rng).values(AT) - constraint.limit for constraint, _ in CONSTRAINTS]
    own = OBJECTIVE.paths(n, rng).values(AT)
    cost = sum(m.weight * np.maximum(-slack, 0.0) for slack, (_, m) in zip(slacks, CONSTRAINTS, strict=True))
    assert drawn.values(AT) == pytest.approx(own - cost, abs=1e-12)
    assert np.any(cost == 0.0)
    assert np.any(cost > 0.0)
    assert len(drawn) == n


def test_gradients_of_paths_are_limits_of_differences():
    drawn, which, step = LAGRANGIAN.paths(6, np.random.default_rng(2)), np.arange(6), 1e-6 * np.eye(4)[1]
    values, gradients = drawn.value_gradient(AT, which)
    assert values == pytest.approx(drawn.values(AT)[which, which], abs=1e-12)
    slopes = (drawn.values(AT + step) - drawn.values(AT - step))[which, which] / 2e-6
    assert gradients[:, 1] == pytest.approx(slopes, abs=1e-6)


def test_conditioning_is_on_the_objective_with_the_constraints_at_their_means():
    values = np.full(len(AT), 0.3)
    given = LAGRANGIAN.condition_on(AT, values)
    told = [(constraint.keeping_away(AT), multiplier) for constraint, multiplier in CONSTRAINTS]
    by_hand = Lagrangian(OBJECTIVE.condition_on(AT, values), told)
    assert given.mean_std(POINTS)[0] == pytest.approx(by_hand.mean_std(POINTS)[0], abs=1e-12)
    assert np.all(given.mean_std(AT)[1] < LAGRANGIAN.mean_std(AT)[1])


def test_only_constraints_that_were_violated_and_of_which_enough_is_known_are_modelled():
    met, violated, nearly_unknown = -np.ones(25), POINTS[:, 0] - 0.5, np.where(np.arange(25) < 7, 1.0, np.nan)
    (model,) = constraints_of(POINTS, np.column_stack([met, violated, nearly_unknown]), CATEGORIES)
    slack = model.posterior.mean_std(POINTS)[0] - model.limit
    assert np.array_equal(slack >= 0.0, violated <= 0.0)
    # Infinite is violated by as much as the others differ from what is just met; equal values have no spread.
    is_violated = np.arange(25) < 3
    columns = [np.where(is_violated, np.inf, -1.0), np.where(is_violated, 1.0, -1.0)]
    infinite, finite = constraints_of(POINTS, np.column_stack(columns), CATEGORIES)
    assert infinite.limit == finite.limit
    assert np.array_equal(infinite.posterior.mean_std(POINTS), finite.posterior.mean_std(POINTS))
    assert constraints_of(POINTS, np.ones((25, 1)), CATEGORIES) == ()


def test_no_fence_takes_a_violation_for_none():
    """Where most points have the same large slack, one for disasters would be above what is just met."""
    values = np.where(np.arange(25) < 17, -10.0, 40.0 * (POINTS[:, 0] - 0.4))
    assert np.any(values > 0.0)
    (model,) = constraints_of(POINTS, values[:, None], CATEGORIES)
    slack = model.posterior.mean_std(POINTS)[0] - model.limit
    assert np.array_equal(slack >= 0.0, values <= 0.0)
    # But a penalty of any size is none that the others are nothing beside.
    penalty = np.where(values > 0.0, 1e9, values)
    (model,) = constraints_of(POINTS, penalty[:, None], CATEGORIES)
    slack = model.posterior.mean_std(POINTS)[0] - model.limit
    assert np.array_equal(slack >= 0.0, values <= 0.0)

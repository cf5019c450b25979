"""Several descents at once end where each would end on its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from regretstop.model._descent import Function, Minima, descend

UNBOUNDED = (-1e6, 1e6)


def run(function: Function, starts: np.ndarray, bounds: tuple[float, float] = UNBOUNDED) -> Minima:
    k, d = starts.shape
    box = np.array([np.full(d, bound) for bound in bounds])
    return descend(function, starts, np.tile(np.eye(d), (k, 1, 1)), box, np.ones(d))


def bowl(d: int, seed: int) -> tuple[Function, np.ndarray, np.ndarray]:
    """Return a quadratic, its curvature and its minimum."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d)) + np.eye(d)
    curvature, minimum = root @ root.T + 0.1 * np.eye(d), rng.standard_normal(d)

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = (x - minimum) @ curvature
        return 0.5 * np.sum((x - minimum) * slopes, axis=1), slopes

    return function, curvature, minimum


def waves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A minimum near every multiple of 2π, the lowest at 0."""
    return np.sum(1.0 - np.cos(x) + 0.01 * (x - 0.1) ** 2, axis=1), np.sin(x) + 0.02 * (x - 0.1)


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), bound=st.sampled_from([0.3, 1.0, 1e6]))
@settings(max_examples=30, deadline=None)
def test_a_bowl_has_one_minimum_also_at_its_bounds(seed: int, d: int, bound: float) -> None:
    function, _, _ = bowl(d, seed)
    starts = 2.0 * np.random.default_rng(seed).standard_normal((5, d))
    found = run(function, starts, (-bound, bound))
    one = minimize(
        lambda x: [part[0] for part in function(x[None])],
        np.clip(starts[0], -bound, bound),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * d,
        options={"ftol": 1e-12, "gtol": 1e-10},
    )
    assert np.all(np.abs(found.points) <= bound)
    assert found.values[0] == pytest.approx(float(one.fun), abs=1e-4)


def test_the_metric_is_the_inverse_curvature_when_it_ends() -> None:
    function, curvature, _ = bowl(3, seed=1)
    found = run(function, np.array([[3.0, -2.0, 1.0]]))
    assert found.metrics[0] @ curvature == pytest.approx(np.eye(3), abs=0.2)
    # And serves where the function has moved a little.
    count: list[int] = []

    def moved(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count.append(len(x))
        return function(x + 0.1)

    again = descend(moved, found.points, found.metrics, np.array([[-9.0] * 3, [9.0] * 3]), np.ones(3))
    assert again.values[0] < 1e-5
    assert sum(count) <= 4


def test_every_minimum_is_found_once_the_lowest_first() -> None:
    found = run(waves, np.array([[7.0], [6.0], [-6.5], [0.5], [-0.4]]))
    assert np.round(found.points[:, 0] / (2.0 * np.pi)).tolist() == [0, 1, -1]
    assert np.all(np.diff(found.values) >= 0.0)
    assert np.abs(waves(found.points)[1]) == pytest.approx(0.0, abs=1e-2)
    assert len(found.near_lowest(0.1, 5).points) == 1
    assert len(found.near_lowest(10.0, 2).points) == 2


def test_one_start_does_not_move_another() -> None:
    starts = np.array([[6.0, 0.2], [-6.5, 6.6], [0.4, -0.3]])
    together = run(waves, starts)
    alone = sorted((run(waves, start[None]) for start in starts), key=lambda each: float(each.values[0]))
    assert together.points == pytest.approx(np.concatenate([each.points for each in alone]), abs=1e-8)


def broken(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A bowl that is infinite beyond 1 and has no number below −1."""
    values, slopes = np.sum(x**2, axis=1), 2.0 * x
    values[x[:, 0] > 1.0] = np.inf
    slopes[x[:, 0] < -1.0] = np.nan
    return values, slopes


def test_what_is_not_finite_is_left_where_it_is() -> None:
    found = run(broken, np.array([[3.0], [0.9], [-3.0]]))
    assert found.points[0] == pytest.approx(0.0, abs=1e-2)
    assert found.points[1:].tolist() == [[-3.0], [3.0]]
    nowhere = run(broken, np.array([[3.0], [2.0]]))
    assert nowhere.near_lowest(1.0, 5).points.tolist() == [[3.0], [2.0]]


def test_steps_into_the_infinite_are_shortened() -> None:
    """A barrier at 0, from a metric that proposes to step across it."""

    def barrier(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = np.where(x > 0.0, x, np.nan)
        values = np.sum(x - 1e-3 * np.log(inside), axis=1)
        return np.where(np.isnan(values), np.inf, values), np.nan_to_num(1.0 - 1e-3 / inside)

    found = run(barrier, np.array([[0.5]]))
    assert found.points[0, 0] == pytest.approx(1e-3, rel=0.1)

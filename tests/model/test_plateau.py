"""Penalties: what they are, and that neither the search nor a certificate is lost on them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regretstop import GPUCB, PRB, Categorical, DeltaCB, DeltaES, Float, OptimalityGap, Space, UCBbr
from regretstop.model import plateau_of, standardize
from regretstop.model._fence import center_and_fence
from regretstop.rules import Rule
from tests.histories import declared

SQUARE = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
PENALTIES = [1e2, 1e4, 1e10, 1e100, 1e300]
GOOD = st.lists(st.floats(-10, 10), min_size=2, max_size=20).filter(lambda v: np.ptp(v) > 1e-3).map(np.array)


def bowl(params: dict[str, Any]) -> float:
    return params["x"] ** 2 + params["y"] ** 2


def around(penalty: float) -> Callable[[dict[str, Any]], float]:
    return lambda p: penalty if abs(p["x"]) + abs(p["y"]) > 0.8 else bowl(p)


def half(penalty: float) -> Callable[[dict[str, Any]], float]:
    return lambda p: penalty if p["x"] > 0.3 else bowl(p)


def several(penalty: float) -> Callable[[dict[str, Any]], float]:
    return lambda p: penalty if p["x"] > 0.3 else 3.0 * penalty if p["y"] > 0.3 else bowl(p)


def search(
    f: Callable[[dict[str, Any]], float], n: int, *, sign: int = 1, space: Space = SQUARE, **options: Any
) -> GPUCB:
    optimizer = GPUCB(space, seed=0, direction="minimize" if sign == 1 else "maximize", **options)
    for _ in range(n):
        params = optimizer.ask(epsilon=0.01)
        optimizer.tell(params, sign * f(params))
    return optimizer


def values_of(optimizer: GPUCB) -> np.ndarray:
    return np.array([o.value for o in optimizer.history], dtype=float)


@given(GOOD, st.integers(3, 60), st.sampled_from(PENALTIES), st.floats(1, 1e6))
def test_a_penalty_is_a_floor_whatever_its_size(good: np.ndarray, n: int, penalty: float, factor: float) -> None:
    """The good values keep their order, their distances and a scale of their own."""
    one = standardize(np.append(good, np.full(n, -penalty)))
    if plateau_of(np.append(good, np.full(n, -penalty))) is None:  # good values as spread out as that
        assert penalty < 100.0 * float(np.ptp(good))
        return
    other = standardize(np.append(good, np.full(n, -factor * penalty)))
    assert one.values == pytest.approx(other.values, abs=1e-9)
    assert one.n_clipped >= n
    assert one.scale <= 10.0 * float(np.ptp(good))
    kept = good >= one.fence
    assert np.max(good) in good[kept]
    assert one.offset + one.scale * one.values[: len(good)][kept] == pytest.approx(good[kept], abs=1e-8)
    assert np.ptp(one.values[len(good) :]) == 0.0
    assert one.values[-1] <= np.min(one.values[: len(good)][kept])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([-1e9] * 3 + [0.1, 0.2, 0.3], (-1e9, 3, True)),
        ([-1e9] * 3 + [-1e6] * 4 + [0.1, 0.2, 0.3], (-1e6, 7, False)),
        ([-1.7e308] * 5 + [1.7e308, 1.6e308], (-1.7e308, 5, True)),
        ([-1e300] * 5 + [0.1], (-1e300, 5, True)),
        ([0.5] * 10 + [0.90, 0.91, 0.93, 0.94], (0.5, 10, True)),  # a classifier that says one class
        ([0.5] * 10 + [0.5, 0.6, 0.7, 0.8, 0.9, 0.95], None),  # the same, and slopes down to it
        ([0.0] * 10 + [1.0] * 10, None),
        ([0.0] * 10 + [1.0] * 10 + [2.0] * 10, None),
        ([1.0] * 10 + [0.0], None),  # the best value
        ([1.0] * 10 + [-1e9, -2e9, -3e9, 0.5], None),
        ([-1e9] * 2 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], None),  # outliers, as ever
        ([1.0] * 7, None),
        ([0.0] * 3 + [1.0], (0.0, 3, True)),
        ([-1e9] * 3 + [0.0] * 3 + [1.0], (-1e9, 3, True)),
        ([-1e9] * 3 + [-1e8] * 3 + [1.0], (-1e9, 3, True)),
        ([3.0], None),
    ],
)
def test_what_looks_like_a_penalty(values: list[float], found: tuple[float, int, bool] | None) -> None:
    plateau = plateau_of(np.array(values))
    assert (plateau and (plateau.value, plateau.count, plateau.is_level)) == found


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_the_best_value_is_never_touched(levels: list[int]) -> None:
    """Values with many ties, of which any may be far from the others."""
    values = np.sign(levels) * 10.0 ** np.abs(np.array(levels, dtype=float))
    plateau, data = plateau_of(values), standardize(values)
    assert data.fence < np.max(values)
    best = values == np.max(values)
    size = np.max(np.abs(np.maximum(values, data.fence)))
    assert data.offset + data.scale * data.values[best] == pytest.approx(values[best], abs=1e-9 * size)
    if plateau is not None:
        assert plateau.value < np.max(values)
        assert plateau.count == np.sum(values <= plateau.value) < plateau.total == len(values)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.sampled_from([lambda v: v, lambda v: -(10.0**v)]))
def test_no_level_is_passed_over(levels: list[int], value: Callable[[np.ndarray], np.ndarray]) -> None:
    """The definition, level by level."""
    values = value(np.array(levels, dtype=float))
    found = None
    each, counts = np.unique(values, return_counts=True)
    for level, count in zip(each[:-1], counts, strict=False):
        if count < 3:
            break
        higher = values[values > level]
        center, fence = center_and_fence(higher)
        if level - center < fence or (len(each) == 2 and len(higher) == 1):
            found = float(level)
    plateau = plateau_of(values)
    assert (None if plateau is None else plateau.value) == found


@pytest.mark.parametrize(("penalty", "sign"), [(1e2, 1), (1e300, 1), (1e300, -1)])
@pytest.mark.parametrize("f", [around, half, several])
def test_the_search_leaves_the_plateau(f: Callable[[float], Any], penalty: float, sign: int) -> None:
    optimizer = search(f(penalty), 24, sign=sign)
    values = sign * values_of(optimizer)
    assert np.min(values) < 0.01
    assert np.mean(values[6:] >= penalty) <= 0.5
    certificate = optimizer.certificate(OptimalityGap(1e-9, beta="grid"))
    assert certificate.bound < 20.0
    assert "noise" not in certificate.reason
    if np.sum(values == penalty) == np.sum(values >= penalty) >= 3:
        says = (
            f"; {np.sum(values >= penalty)} of 24 values are the same worst value {sign * penalty:.4g}: if that stands"
        )
        assert says in certificate.reason


def test_the_same_trials_whatever_the_penalty() -> None:
    """Until a third trial has it, it is an outlier, beside which the good values are all but equal."""
    one, other = (search(around(penalty), 16) for penalty in (1e6, 1e250))
    for first, second in zip(one.history, other.history, strict=True):
        assert first.params == pytest.approx(second.params, abs=1e-3)


def test_a_category_that_fails() -> None:
    space = Space({"x": Float(-1, 1), "kind": Categorical(["bad", "good", "worse"])})
    optimizer = search(lambda p: p["x"] ** 2 if p["kind"] == "good" else 1e30, 24, space=space)
    values = values_of(optimizer)
    assert np.min(values) < 1e-4
    assert np.mean(values[8:] == 1e30) < 0.35
    assert optimizer.certificate(UCBbr(0.05)).stop


def test_nothing_but_the_penalty_so_far() -> None:
    """Nothing is known then, so the points are as even as the first: a share of the space has its share of them."""
    optimizer = search(lambda _: 1e10, 32)
    cells = {(int(4 * (o.params["x"] + 1) / 2), int(4 * (o.params["y"] + 1) / 2)) for o in optimizer.history}
    assert len(cells) == 16
    reason = optimizer.certificate(UCBbr(0.1)).reason
    assert reason.startswith("all values are equal up to rounding (1e+10), which says nothing about")
    assert "return NaN or prune" in reason


def test_a_certificate_that_stops_has_no_advice() -> None:
    certificate = search(around(1e10), 30).certificate(UCBbr(0.1))
    assert certificate.stop
    assert "of 30 values" not in certificate.reason


def test_the_edge_of_a_plateau_is_not_called_noise() -> None:
    optimizer = GPUCB(SQUARE, direction="minimize", seed=0)
    rng = np.random.default_rng(0)
    for i in range(12):
        params = SQUARE.decode(rng.random(2))
        optimizer.tell(params, 1e6 if i else 0.5)
    reason = optimizer.certificate(UCBbr(1e-3)).reason
    assert "noise" not in reason
    assert "11 of 12 values are the same worst value 1e+06" in reason


@pytest.mark.parametrize(
    "rule",
    [UCBbr(0.5), OptimalityGap(0.5, beta="grid"), OptimalityGap(0.5, beta=4.0), DeltaCB(0.5), DeltaES(0.5), PRB(0.5)],
)
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_no_certificate_is_of_a_trial_that_was_raised(rule: Rule, seed: int, n_good: int) -> None:
    """What was fitted there is far better than what was observed, so a bound on the one is none on the other."""
    rng = np.random.default_rng(seed)
    optimizer = GPUCB(SQUARE, seed=0)
    optimizer_values = np.append(rng.standard_normal(n_good), np.full(12, -1e9))
    for value in rng.permutation(optimizer_values):
        optimizer.tell(SQUARE.decode(rng.random(2)), float(value))
    snapshot = optimizer.snapshot()
    assert np.all(snapshot.data.values > -1e9)
    certificate = rule.assess(snapshot)
    assert certificate.incumbent is None or optimizer.history[certificate.incumbent].value > -1e9
    gap_incumbent = certificate.optimality_gap_incumbent
    assert gap_incumbent is None or optimizer.history[gap_incumbent].value > -1e9


def test_only_penalties_in_the_space() -> None:
    """The good ones were told from outside it: nothing there can be recommended."""
    optimizer = GPUCB(SQUARE, seed=0)
    for i in range(8):
        optimizer.tell({"x": i / 10, "y": -i / 10}, -1e9)
        optimizer.tell({"x": 2.0 + i, "y": 0.0}, float(i))
    certificate = optimizer.certificate(UCBbr(0.1))
    assert math.isinf(certificate.bound)
    assert "far worse than those outside" in certificate.reason
    assert SQUARE.contains(optimizer.ask())


def test_a_declared_kernel_has_its_penalty_named_too() -> None:
    """Nothing is raised there, where the user has said how far values go; that they go farther is said."""
    optimizer = GPUCB(SQUARE, direction="minimize", seed=0, **declared(SQUARE, noise_std=0.0))
    for i in range(12):
        params = {"x": i / 6 - 0.9, "y": math.sin(i)}
        optimizer.tell(params, half(1e3)(params))
    assert "values are the same worst value 1000" in optimizer.certificate(OptimalityGap(0.1, beta="grid")).reason

"""What was evaluated is left alone where another evaluation tells nothing."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regretstop.search._maximize as maximize_module
from regretstop import GPUCB, Categorical, Float, GaussianProcess, Int, Space
from regretstop.search import (
    Maximizer,
    UpperConfidenceBound,
    Visited,
    has_repeats,
    is_worth_repeating,
    noise_is_told,
    repeats_agree,
)
from tests.histories import INFINITE, declared, random_history

TABLE = Space({"a": Categorical(list("uvw")), "b": Int(0, 3), "c": Categorical([True, None])})
MANY = Space({"n": Int(0, 300), "m": Int(1, 200, log=True)})
MIXED = Space({"x": Float(0, 1), "c": Categorical(list("ab"))})
POINTS_BY = {
    "a number": {"beta": 4.0, "exceedance": None},
    "greedy": {"beta": 0.0, "exceedance": None},
    "exceedance": {"beta": 4.0, "exceedance": 0.3},
    "theory": {"beta": "theory"},
    "matched": {"beta": "matched"},
}


def value_of(space: Space, params: dict[str, Any], seed: int = 0) -> float:
    """Return the value of a random sum of one function per parameter, largest at a corner of the space."""
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, space.dim)
    return float(weights @ space.encode(params))


def keys(space: Space, asked: list[dict[str, Any]]) -> list[tuple[float, ...]]:
    return [tuple(np.round(space.encode(params), 9).tolist()) for params in asked]


@pytest.mark.parametrize("options", POINTS_BY.values(), ids=POINTS_BY)
@pytest.mark.parametrize("treatment", ["map", "fixed"])
def test_without_noise_a_finite_space_is_gone_through_once(options: dict[str, Any], treatment: str) -> None:
    """Failed, pruned and pending points count as visited, too; once all are, anything may come again."""
    model = {"surrogate": GaussianProcess(noise_std=0.0)} if treatment == "map" else declared(TABLE, noise_std=0.0)
    optimizer = GPUCB(TABLE, seed=1, n_initial=3, **model, **options)
    asked: list[dict[str, Any]] = []
    for i in range(24):
        asked.append(optimizer.ask())
        if i % 6 == 5:  # never told
            continue
        missing = {2: None, 10: math.nan, 15: math.inf, 16: None}
        optimizer.tell(asked[-1], missing.get(i, value_of(TABLE, asked[-1])))
    assert max(Counter(keys(TABLE, asked)).values()) == 1
    assert TABLE.contains(optimizer.ask())


@pytest.mark.parametrize("options", POINTS_BY.values(), ids=POINTS_BY)
@pytest.mark.parametrize("space", [MANY, MIXED, INFINITE["a square"]], ids=["many", "mixed", "continuous"])
def test_without_noise_no_point_of_a_larger_space_comes_again(space: Space, options: dict[str, Any]) -> None:
    """The optimum is at a corner, which an ascent reaches exactly."""
    optimizer = GPUCB(
        space, seed=0, n_initial=3, **declared(space, lengthscale=1.0, outputscale=9.0, noise_std=0.0), **options
    )
    asked: list[dict[str, Any]] = []
    for _ in range(14):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], value_of(space, asked[-1]))
    assert max(Counter(keys(space, asked)).values()) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_best_point_that_is_left(seed: int, is_enumerated: bool) -> None:
    """By enumeration the very best; otherwise one that is left, as long as there is one."""
    rng = np.random.default_rng(seed)
    history = random_history(TABLE, 6, seed)
    posterior = history.told(**declared(TABLE)).snapshot().model.posteriors[0]
    everything = TABLE.enumerate()
    known = everything[rng.permutation(24)[: int(rng.integers(0, 25))]]
    visited, acquisition = Visited(known), UpperConfidenceBound(float(rng.uniform(0, 3)))
    with pytest.MonkeyPatch.context() as patch:
        if not is_enumerated:
            patch.setattr(maximize_module, "_ENUMERATE_UP_TO", 0)
            patch.setattr(maximize_module, "_N_SOBOL", 2)
            patch.setattr(maximize_module, "_N_FACES", 2)
        found = Maximizer(posterior, TABLE, known[:2], seed=0).maximize_new(acquisition, visited)
    left = everything[~visited.among(everything)]
    if found is None:
        assert len(left) == 0
        return
    values = acquisition(*posterior.mean_std(left))
    assert any(np.array_equal(found.point, point) for point in left)
    assert found.value == pytest.approx(float(acquisition(*posterior.mean_std(found.point[None]))[0]))
    if is_enumerated:
        assert found.value == pytest.approx(float(np.max(values)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 5))
def test_visited_points_are_those_within_rounding(seed: int, n: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((n, dim))
    others = np.vstack([points + rng.uniform(-5e-10, 5e-10, points.shape), points + 1e-6, rng.random((5, dim)) + 2.0])
    assert Visited(points).among(others).tolist() == [True] * n + [False] * (n + 5)
    assert not np.any(Visited(np.zeros((0, dim))).among(others))


@pytest.mark.parametrize("n_initial", [3, 30])
def test_initial_points_do_not_come_again(n_initial: int) -> None:
    """Not even beside failures, on a space that the sequence would meet twice in places."""
    space = Space({"a": Categorical(list("abcdefg")), "b": Categorical(list("abcdefghijk"))})
    optimizer = GPUCB(space, seed=0, n_initial=n_initial)
    asked: list[dict[str, Any]] = []
    for _ in range(77):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], math.nan)
    assert len(set(keys(space, asked))) == 77


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["additive", "ties"])
def test_one_repeat_shows_that_there_is_no_noise(seed: int, kind: str) -> None:
    """A deterministic table and a noise to be learned: at most the repeat that shows it is spent."""
    table = np.random.default_rng(seed).standard_normal((3, 4, 2)).cumsum(axis=1)
    table = np.round(table) if kind == "ties" else table
    optimizer = GPUCB(TABLE, seed=seed)
    asked: list[dict[str, Any]] = []
    for _ in range(20):
        asked.append(optimizer.ask())
        a, b, c = ("uvw".index(asked[-1]["a"]), asked[-1]["b"], int(asked[-1]["c"] is None))
        optimizer.tell(asked[-1], float(table[a, b, c]))
    assert len(set(keys(TABLE, asked))) >= 19


def test_a_noisy_incumbent_is_repeated() -> None:
    """As long as the noise leaves open which point is best; it need not wait until all were visited."""
    rng = np.random.default_rng(0)
    optimizer = GPUCB(TABLE, seed=0, beta=4.0, **declared(TABLE, lengthscale=1.0, outputscale=4.0, noise_std=0.5))
    asked: list[dict[str, Any]] = []
    for _ in range(23):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], value_of(TABLE, asked[-1]) + 0.5 * float(rng.standard_normal()))
    (best, n_best), *_ = Counter(keys(TABLE, asked)).most_common(1)
    assert n_best >= 3
    assert len(set(keys(TABLE, asked))) < 23
    assert best == max(set(keys(TABLE, asked)), key=lambda point: value_of(TABLE, TABLE.decode(point)))


def test_a_repeat_is_worth_it_while_another_point_may_be_better() -> None:
    space = Space({"n": Int(0, 9)})
    model = declared(space, lengthscale=0.01, outputscale=1.0, noise_std=0.1)

    def told(values: list[float]) -> Any:
        optimizer = GPUCB(space, **model)
        for i, value in enumerate(values):
            optimizer.tell({"n": i}, value)
        return optimizer.snapshot().model.posteriors[0]

    points = space.enumerate()
    # Two points nearly as good as each other, then one that is better by ten deviations of the noise.
    assert is_worth_repeating(told([1.0, 0.95, -1.0]), points[0], points[:3], 2.0)
    assert not is_worth_repeating(told([1.0, 0.0, -1.0]), points[0], points[:3], 2.0)
    # A new point of which nothing is known can be anything.
    assert is_worth_repeating(told([1.0, 0.0, -1.0]), points[0], points[:4], 2.0)
    assert not is_worth_repeating(told([1.0, 0.0, -1.0]), points[0], points[:1], 2.0)


def test_agreement_of_repeats() -> None:
    points = np.array([[0.0], [1.0], [0.0], [0.5]])
    assert repeats_agree(points, np.array([1.0, 2.0, 1.0, 3.0]))
    assert not repeats_agree(points, np.array([1.0, 2.0, 1.0 + 1e-15, 3.0]))
    assert not repeats_agree(points[1:], np.array([1.0, 1.0, 1.0]))


def test_noise_is_told_where_it_is_small_or_two_evaluations_of_a_point_differ() -> None:
    points = np.array([[0.1], [0.2], [0.1]])
    assert has_repeats(points)
    assert not has_repeats(points[:2])
    for values, told in (([1.0, 2.0, 1.5], True), ([1.0, 2.0, 1.0], False)):
        assert noise_is_told(0.26, 1.0, points, np.array(values)) is told
        assert noise_is_told(0.25, 1.0, points, np.array(values))
    assert not noise_is_told(0.26, 1.0, points[:2], np.array([1.0, 2.0]))

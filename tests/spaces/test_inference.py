"""Branches inferred from points: whatever the conditions are that made them."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from regretstop import Categorical, Int, Space
from regretstop.spaces import Node, Record, infer_branches
from regretstop.spaces._inference import _information

PARTS = {name: Int(0, 2) for name in "abcd"} | {"e": Categorical([0, 1, 2])}
conditions = st.dictionaries(
    st.sampled_from("bcde"),
    st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 2), min_size=1), max_size=2),
)


def record_of(params: dict) -> Record:
    return Record(frozenset((name, 0) for name in params), {name: float(value) for name, value in params.items()})


def names_at(root: Node, values: dict[str, float]) -> set[str]:
    """Return which parameters the tree says a point has."""
    found = {name for name, _ in root.own}
    return found if root.parent is None else found | names_at(root.children[values[root.parent[0]]], values)


def space_of(when: dict) -> Space:
    # Names come in an order in which no circle can be.
    return Space(PARTS, when={name: {p: v for p, v in parents.items() if p < name} for name, parents in when.items()})


@given(conditions)
def test_all_points_of_a_conditional_space_tell_its_branches(when: dict) -> None:
    try:
        space = space_of(when)
    except ValueError:  # a condition that never holds
        assume(False)
        raise
    records = [record_of(space.decode(point)) for point in space.enumerate()]
    found = infer_branches(records, [], lambda item: (0.0, 1.0, 2.0))
    assert not found.unexplained
    assert not found.untried
    for record in records:
        assert names_at(found.root, dict(record.values)) == {name for name, _ in record.items}


@given(conditions, st.data())
def test_some_points_tell_of_themselves_at_least(when: dict, data: st.DataObject) -> None:
    """What is inferred holds for each of the points, or names what it could not explain."""
    try:
        space = space_of(when)
    except ValueError:
        assume(False)
        raise
    points = space.enumerate()
    chosen = data.draw(st.lists(st.integers(0, len(points) - 1), min_size=1, max_size=12))
    records = [record_of(space.decode(points[i])) for i in chosen]
    found = infer_branches(records, [], lambda item: (0.0, 1.0, 2.0))
    for record in records:
        missing = {name for name, _ in record.items} ^ names_at(found.root, dict(record.values))
        assert missing <= found.unexplained
    for point in found.untried:
        assert not any(point.items() <= record.values.items() for record in records)


def test_what_values_tell_by_chance_is_the_mean_over_orders() -> None:
    rng = np.random.default_rng(0)
    values = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0])
    has = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [0, 0], [0, 0], [0, 0]], dtype=bool)
    told, by_chance = _information(values, has)
    shuffled = [_information(values, rng.permuted(has, axis=0))[0] for _ in range(4000)]
    assert by_chance == pytest.approx(np.mean(shuffled), rel=0.02)
    assert told > by_chance


def test_a_value_for_each_point_tells_all_of_it_by_chance() -> None:
    has = np.array([[True], [False], [True], [False]])
    told, by_chance = _information(np.arange(4.0), has)
    assert told == pytest.approx(by_chance) == pytest.approx(4.0 * math.log(2.0))

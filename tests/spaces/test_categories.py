"""The order in which the choices of a category are given means nothing."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import (
    PRB,
    AcquisitionThreshold,
    Categorical,
    Certificate,
    DeltaCB,
    DeltaES,
    Float,
    Int,
    OptimalityGap,
    Space,
    UCBbr,
)
from regretstop.rules import Rule
from tests.effort import examples
from tests.histories import History, options_of, random_history

ENUMERATED = {
    "integers and categories": Space({"n": Int(1, 4), "c": Categorical(["a", "b", "c"])}),
    "two categories": Space({"c": Categorical(["a", "b", "c", "d"]), "d": Categorical([None, 0.5, "x"])}),
}
SEARCHED = {"a line and categories": Space({"x": Float(0, 1), "c": Categorical(["a", "b", "c"])})}
RULES: list[Rule] = [
    UCBbr(0.5),
    OptimalityGap(0.5, beta="grid"),
    OptimalityGap(0.5, beta=4.0),
    DeltaCB(0.5),
    DeltaES(0.5),
    AcquisitionThreshold(0.5),
]
treatments = st.sampled_from(["fixed", "map", "posterior"])
few = examples(5)


@st.composite
def shuffled(draw: st.DrawFn, spaces: dict[str, Space]) -> tuple[History, History]:
    """Return a history, and the same one on a space whose choices are in another order."""
    space = spaces[draw(st.sampled_from(sorted(spaces)))]
    history = random_history(space, draw(st.integers(8, 12)), draw(st.integers(0, 2**32 - 1)))
    other = {
        name: Categorical(draw(st.permutations(p.choices))) if isinstance(p, Categorical) else p
        for name, p in space.items()
    }
    return history, dataclasses.replace(history, space=Space(other))


def pairs(
    histories: tuple[History, History], treatment: str, beta: Any, rules: list[Rule]
) -> list[tuple[Certificate, Certificate]]:
    one, other = (h.told(beta=beta, **options_of(treatment, h.space)) for h in histories)
    return [(one.certificate(rule), other.certificate(rule)) for rule in rules]


@few
@given(shuffled(ENUMERATED), treatments, st.sampled_from(["theory", "matched", 4.0]))
def test_on_an_enumerated_space_certificates_are_the_same(
    histories: tuple[History, History], treatment: str, beta: Any
) -> None:
    for one, other in pairs(histories, treatment, beta, RULES):
        assert other.incumbent == one.incumbent
        assert other.optimality_gap_incumbent == one.optimality_gap_incumbent
        assert other.bound == pytest.approx(one.bound, rel=1e-9)
        # Places are drawn where there are numeric axes, and choices listed where there are none.
        is_listed = all(isinstance(p, Categorical) for p in histories[0].space.values())
        assert other.optimality_gap == pytest.approx(one.optimality_gap, rel=1e-9 if is_listed else 0.5)


@few
@given(shuffled(SEARCHED), treatments, st.sampled_from(["theory", "matched", 4.0]))
def test_on_a_searched_space_they_are_the_same_up_to_the_search(
    histories: tuple[History, History], treatment: str, beta: Any
) -> None:
    """Candidates are Sobol points, whose categories go by number: the ascent begins elsewhere."""
    for one, other in pairs(histories, treatment, beta, [UCBbr(0.5), OptimalityGap(0.5, beta="grid")]):
        assert other.incumbent == one.incumbent
        assert other.bound == pytest.approx(one.bound, rel=1e-3)


@few
@given(shuffled(ENUMERATED | SEARCHED), treatments)
def test_what_is_left_is_counted_at_other_places_of_the_same_model(
    histories: tuple[History, History], treatment: str
) -> None:
    ((one, other),) = pairs(histories, treatment, "calibrated", [UCBbr(0.2)])
    assert one.left.n_paths is None
    assert other.left.probability == pytest.approx(one.left.probability, rel=0.5, abs=0.01)


def test_prb_differs_no_more_than_with_another_seed() -> None:
    history = random_history(ENUMERATED["two categories"], 12, 3)
    choices = {name: Categorical(list(reversed(p.choices))) for name, p in history.space.items()}  # type: ignore[attr-defined]
    ((one, other),) = pairs((history, dataclasses.replace(history, space=Space(choices))), "fixed", 4.0, [PRB(0.3)])
    assert other.incumbent == one.incumbent
    assert other.optimality_gap == pytest.approx(one.optimality_gap, rel=1e-9)
    n, p = float(one.left.n_paths), float(one.left.probability)
    assert n == other.left.n_paths == 1000
    assert 0.01 < p < 0.04
    assert abs(p - float(other.left.probability)) < 5.0 * (2.0 * p / n) ** 0.5

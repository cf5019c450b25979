"""Rules in combination, and those that look at no model: patience, a target, the clock."""

import json
import math
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    AllOf,
    AnyOf,
    Certificate,
    Deadline,
    DeltaCB,
    Every,
    Float,
    GaussianProcess,
    Int,
    Observation,
    OptimalityGap,
    Patience,
    Rule,
    Space,
    Target,
    UCBbr,
    minimize,
)
from tests.effort import examples

SQUARE = Space({"x": Float(-1.0, 2.0)})


def square(p: dict[str, Any]) -> float:
    return 1.0 + p["x"] ** 2


def looked(rule: Rule, values: Sequence[float | None], sign: float = 1.0, **more: Any) -> Certificate:
    """Return what a rule without a model says of values in this order."""
    observations = [Observation({}, value, number) for number, value in enumerate(values)]
    certificate = rule.look(observations, sign, **more)
    assert certificate is not None
    return certificate


# ---- Facts ---------------------------------------------------------------------------------------------------------

VALUES = st.lists(st.none() | st.floats(-5, 5) | st.sampled_from([math.nan, math.inf]), max_size=12)


@pytest.mark.parametrize(
    ("values", "since"),
    [
        ([], 0),
        ([None, math.nan], 0),
        ([1.0], 0),
        ([1.0, 0.5, 0.2], 2),
        ([1.0, 1.0], 1),  # as good is no better
        ([1.0, math.nan, math.inf, None, 0.0], 2),  # a failure tells nothing, one cut short does
        ([1.0, 0.0, 3.0], 0),
    ],
)
def test_patience_counts_since_the_first_best(values: list[float | None], since: int) -> None:
    for sign in (1.0, -1.0):
        told = [value if value is None or not math.isfinite(value) else sign * value for value in values]
        certificate = looked(Patience(2), told, sign)
        assert certificate.terms == {"n": 2, "since_best": since}
        assert certificate.stop == (since >= 2)


@given(VALUES, st.floats(-5, 5))
def test_a_target_is_reached_when_a_value_is_as_good(values: list[float | None], target: float) -> None:
    finite = [value for value in values if value is not None and math.isfinite(value)]
    for sign in (1.0, -1.0):
        certificate = looked(Target(target), values, sign)
        assert certificate.stop == any(sign * value >= sign * target for value in finite)
        best = max((sign * value for value in finite), default=None)
        assert certificate.incumbent_value == (None if best is None else sign * best)
        assert certificate.n_observations == len(finite)


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([None, None], 0.0),
        ([(100.0, 103.0)], 3.0),
        ([(100.0, 103.0), None, (104.0, 109.0)], 9.0),  # to choose a point takes time, too
        ([(100.0, 110.0), (101.0, 103.0), (105.0, 112.0)], 12.0),  # at once counts once
        ([(104.0, 109.0), (100.0, 103.0)], 9.0),  # in any order
        ([(100.0, 103.0), (90_000.0, 90_002.0)], 3.0 + 60.0 + 2.0),  # a night counts as a minute
    ],
)
def test_the_clock_is_that_of_the_record(spans: list[tuple[float, float] | None], seconds: float) -> None:
    observations = [Observation({}, 0.0, i, span=span) for i, span in enumerate(spans)]
    for limit, stops in ((seconds + 0.1, False), (seconds or 1e-9, seconds > 0.0)):
        certificate = Deadline(limit).look(observations, 1.0)
        assert certificate.terms["taken"] == pytest.approx(seconds)
        assert certificate.stop == stops


def test_a_fact_says_nothing_of_the_regret() -> None:
    certificate = looked(Patience(1), [0.5, 0.25])
    assert (certificate.bound, certificate.epsilon, certificate.measure) == (math.inf, 0.0, "none")
    assert (certificate.guarantee, certificate.stop, certificate.incumbent) == ("none", True, 0)
    assert str(certificate).splitlines() == [
        "Stop (Patience): the last 1 evaluations brought nothing better than trial 0",
        "The rule says nothing of how much better than trial 0 (observed value 0.5) the optimum is.",
        "Based on 2 observations; 0 left out (failed, not finite or without a place in the space).",
    ]
    assert certificate.summary() == (
        "Patience: the last 1 evaluations brought nothing better than trial 0 after 2 evaluations; it says nothing of "
        "the regret of trial 0."
    )
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))) == certificate


def test_a_target_missed_by_little_prints_as_missed() -> None:
    assert "the value 0.99 of trial 0 is as good as the target 0.99" in looked(Target(0.99), [0.99]).reason
    assert "0.9899999 of trial 0 is not as good as the target 0.99" in looked(Target(0.99), [0.9899999]).reason


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [(Patience, 0, "n"), (Patience, 2.5, "n"), (Target, math.nan, "value"), (Target, "best", "value")]
    + [(Deadline, value, "seconds") for value in (0, -1.0, math.inf, math.nan, None)],
)
def test_bad_arguments_are_named(kind: Any, value: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be .*, got {value!r}$"):
        kind(value)


def test_the_certified_gap_stands_beside_a_fact_that_stops() -> None:
    result = minimize(square, SQUARE, rule=Patience(4), max_trials=40, seed=0)
    gap = GPUCB(SQUARE, direction="minimize", seed=0)
    gap.replace_history(result.history)
    other = gap.certificate(OptimalityGap(0.1, schedule=Every()))
    certificate = result.certificate
    assert certificate.stop
    # The same count; how exact it has to be depends on ε, which a fact has none of.
    assert certificate.optimality_gap == pytest.approx(other.optimality_gap, rel=0.1)
    assert certificate.risk is None
    assert [c.optimality_gap for c in result.certificates[:-1]] == [math.inf] * (len(result.certificates) - 1)
    assert result.value == min(o.value for o in result.history if o.value is not None)


# ---- Combinations --------------------------------------------------------------------------------------------------


def test_they_are_written_with_bars_and_ampersands() -> None:
    a, b, c = UCBbr(0.1), Patience(3), Target(0.5)
    assert a | b | c == AnyOf((a, b, c)) == a | (b | c)
    assert a & b & c == AllOf((a, b, c))
    assert a | b & c == AnyOf((a, AllOf((b, c))))
    assert (a | b & c).label == "UCBbr | (Patience & Target)"
    assert {a | b, AnyOf((a, b))} == {a | b}
    assert pickle.loads(pickle.dumps(a | b & c)) == a | b & c


@pytest.mark.parametrize(("parts", "said"), [((UCBbr(0.1),), "at least two"), ((UCBbr(0.1), 0.1), "got 0.1")])
def test_parts_are_rules(parts: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^parts must be .*{said}"):
        AnyOf(parts)


def test_delta_is_split_over_the_rules_that_claim_something() -> None:
    rule = UCBbr(0.1, delta=0.06) | Patience(3) | OptimalityGap(0.1, delta=0.06) & PRB(0.1, delta=0.06) | Deadline(1)
    # Three terms, two of which claim something: each of their rules has half.
    assert [leaf.delta for leaf in rule.leaves if leaf.claims] == pytest.approx([0.03, 0.03, 0.03])
    assert rule.delta == pytest.approx(0.06)
    both = UCBbr(0.1, delta=0.06) & OptimalityGap(0.1, delta=0.02)
    assert [leaf.delta for leaf in both.leaves] == [0.06, 0.02]
    assert (UCBbr(0.1, delta=0.06) | Patience(3)).leaves[0] == UCBbr(0.1, delta=0.06)


def test_a_search_looks_for_what_the_smallest_epsilon_asks_for() -> None:
    assert (UCBbr(0.1) | OptimalityGap(0.01) | AcquisitionThreshold() | Patience(3)).regret_epsilon == 0.01
    assert (Patience(3) & Target(0.5)).regret_epsilon is None
    rule = UCBbr(0.02) | Patience(30)
    points = [minimize(square, SQUARE, rule=each, max_trials=8, seed=1).history for each in (rule, UCBbr(0.02))]
    assert points[0] == points[1]


RULES = st.recursive(
    st.sampled_from([UCBbr(0.3), OptimalityGap(0.6), DeltaCB(0.4), Patience(3), Target(1.05), Deadline(1e9)]),
    lambda rules: st.builds(lambda a, b, kind: kind((a, b)), rules, rules, st.sampled_from([AnyOf, AllOf])),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def told() -> list[tuple[GPUCB, dict[str, Certificate]]]:
    """Four moments of a search."""
    moments: list[tuple[GPUCB, dict[str, Certificate]]] = []
    history = minimize(square, SQUARE, rule=Deadline(1e9), max_trials=16, seed=0).history
    for n in (2, 6, 10, 16):
        model = GPUCB(SQUARE, direction="minimize", seed=0)
        model.replace_history(history[:n])
        moments.append((model, {}))
    return moments


@examples(25)
@given(rule=RULES)
def test_a_combination_stops_as_its_rules_do(rule: Rule, told: list[tuple[GPUCB, dict[str, Certificate]]]) -> None:
    for model, known in told:
        certificate = model.certificate(rule)
        leaves = rule.leaves
        for leaf in leaves:
            if repr(leaf) not in known:
                known[repr(leaf)] = model.certificate(leaf)
        alone = [known[repr(leaf)] for leaf in leaves]
        # Which of its rules stops does not depend on their shares here: values are far from every ε.
        assert [each.stop for each in certificate.said] == [each.stop for each in alone]
        assert [each.rule for each in certificate.said] == [leaf.label for leaf in leaves]
        assert [each.bound for each in certificate.said] == [each.bound for each in alone]
        shares = iter(each.stop for each in alone)

        def whether(part: Rule, shares: Any = shares) -> bool:
            if isinstance(part, AnyOf | AllOf):
                return (any if isinstance(part, AnyOf) else all)([whether(each) for each in part.parts])
            return next(shares)

        assert certificate.stop == whether(rule)
        # Its guarantee is that of the rule that speaks, and nothing more is claimed than that rule claims.
        place = certificate.asked.place
        assert (certificate.rule, certificate.guarantee) == (alone[place].rule, alone[place].guarantee)
        assert certificate.delta == leaves[place].delta
        assert certificate.asker == rule.label
        assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))) == certificate


def test_the_certificate_names_the_rule_that_spoke_and_what_the_others_said() -> None:
    result = minimize(square, SQUARE, rule=UCBbr(1e-12) | Patience(4) | Target(-5.0), max_trials=60, seed=0)
    certificate = result.certificate
    assert (certificate.rule, certificate.guarantee, certificate.stop) == ("Patience", "none", True)
    assert certificate.asker == "UCBbr | Patience | Target"
    lines = str(certificate).splitlines()
    assert lines[0].startswith("Stop (Patience of UCBbr | Patience | Target): the last 4 evaluations brought nothing")
    (beside,) = [line for line in lines if line.startswith("Beside it UCBbr, ε = 1e-12 says go on: ")]
    assert "Certified optimality gap: at most" in beside  # once: the rule's, with the δ that is its own
    assert sum("Certified optimality gap" in line for line in lines) == 1
    assert certificate.shown.rule == "UCBbr"


def test_of_several_that_stop_the_strongest_speaks() -> None:
    space = Space({"x": Int(0, 9)})
    model = GPUCB(space, direction="minimize", surrogate=GaussianProcess(noise_std=0.1), seed=0)
    for x in range(10):
        model.tell({"x": x}, float(x))
    rule = Patience(1) | DeltaCB(50.0) | OptimalityGap(50.0)
    certificate = model.certificate(rule)
    assert [each.stop for each in certificate.said] == [True, True, True]
    assert (certificate.rule, certificate.guarantee) == ("OptimalityGap", "model")
    assert model.certificate(Patience(1) & DeltaCB(50.0) & OptimalityGap(50.0)).rule == "OptimalityGap"
    assert model.certificate(Patience(1) & DeltaCB(1e-9) & OptimalityGap(50.0)).rule == "DeltaCB"
    assert model.certificate(rule) == rule.assess(model.snapshot(rule.leaves[2].schedule))


def test_where_there_is_no_model_facts_speak() -> None:
    observations = [Observation({}, value, number) for number, value in enumerate([0.3, 0.2, 0.1])]
    rule = UCBbr(0.1) | Patience(2)
    certificate = rule.without_model("no model", observations, 1.0, n_observations=3)
    assert (certificate.rule, certificate.stop) == ("Patience", True)
    assert (certificate.others[0].reason, certificate.others[0].n_observations) == ("no model", 3)
    undecided = (UCBbr(0.1) & Patience(2)).without_model("no model", observations, 1.0, n_observations=3)
    assert (undecided.rule, undecided.stop, undecided.reason) == ("UCBbr", False, "no model")
    assert not (UCBbr(0.1) | Target(1.0)).without_model("no model", observations, 1.0).stop

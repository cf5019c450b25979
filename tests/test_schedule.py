"""When tests are made: numbers worked by hand, what the ledger spends, and what a search gets between two tests."""

import dataclasses
import itertools
import math
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    Certificate,
    DeltaCB,
    DeltaES,
    Every,
    Geometric,
    Observation,
    OptimalityGap,
    Schedule,
    Thinning,
    UCBbr,
    minimize,
)
from regretstop.bound import RiskLedger
from regretstop.rules import Rule
from regretstop.schedule import Due
from regretstop.snapshot import Snapshot
from tests.changes import changed
from tests.effort import examples
from tests.histories import FINITE, SPACES, History, declared, histories, options_of, random_history

few = examples(20)
SCHEDULES: Any = st.one_of(
    st.builds(Every, st.integers(1, 40)),
    st.builds(Geometric, st.integers(1, 60), st.floats(1.0, 20.0, exclude_min=True)),
    st.builds(Thinning, st.integers(1, 60), st.floats(1.0, 20.0, exclude_min=True)),
)


class Counting(OptimalityGap):
    """A gap that says what it was computed for."""

    def assess(self, snapshot: Snapshot) -> Certificate:
        computed.append(snapshot.data.n_observations)
        return super().assess(snapshot)


computed: list[int] = []


# ---- When ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "fewest", "numbers"),
    [
        (Every(), 3, [3, 4, 5, 6]),
        (Every(5), 1, [5, 10, 15, 20]),
        (Every(5), 6, [10, 15, 20, 25]),
        (Every(5), 10, [10, 15, 20, 25]),
        (Geometric(), 1, [10, 15, 23, 35, 53, 80]),
        (Geometric(10, 1.1), 3, [10, 11, 13, 15, 17, 19]),
        (Geometric(2, 2), 7, [8, 16, 32]),
        (Geometric(1, 1.0001), 1, [1, 2, 3, 4]),
        (Geometric(4, 999.0), 4, [4, 3996]),
        (Thinning(), 6, [*range(6, 101), 105, 111, 117, 123, 130, 137, 144, 152, 160]),
        (Thinning(4, 1.5), 1, [1, 2, 3, 4, 6, 9, 14, 21]),
        (Thinning(4, 1.5), 7, [9, 14, 21]),
        (Thinning(1, 1.05), 1, [1, 2, 3, 4]),
    ],
)
def test_numbers_by_hand(schedule: Schedule, fewest: int, numbers: list[int]) -> None:
    assert schedule.due(numbers[0] - 1, fewest) == Due(0, 0, numbers[0])
    for k, (number, following) in enumerate(itertools.pairwise(numbers), 1):
        for n in (number, following - 1):
            assert schedule.due(n, fewest) == Due(k, number, following)


def test_the_index_by_observations() -> None:
    assert [Every().due(n, 6).test for n in range(1, 10)] == [max(n - 5, 0) for n in range(1, 10)]


@pytest.mark.parametrize("rule", [UCBbr, OptimalityGap, PRB, DeltaCB, DeltaES, AcquisitionThreshold])
def test_all_rules_test_after_every_observation_while_they_are_few_and_then_thin_out(rule: type[Rule]) -> None:
    schedule = rule(0.1).schedule
    assert schedule == Thinning()
    assert all(schedule.due(n, 6) == Every().due(n, 6) for n in range(1, 100))
    # The number of tests is what a long search costs, and the next one is what a stop may wait for.
    assert schedule.due(2000, 6).test == 154
    for n in range(100, 20_000, 7):
        following = schedule.due(n, 6).following
        assert following is not None
        assert following <= 1.05 * n + 1


@given(SCHEDULES, st.integers(1, 50), st.integers(1, 300))
def test_a_geometric_schedule_grows_by_its_ratio(schedule: Schedule, fewest: int, n: int) -> None:
    due = schedule.due(n, fewest)
    assert due == Schedule.due(schedule, n, fewest)
    assert due.following is not None
    assert due.n_observations <= n < due.following
    if due.test and isinstance(schedule, Geometric):
        assert due.following >= schedule.ratio * due.n_observations - 1e-9
        assert due.following < schedule.ratio * due.n_observations + 1 or due.following == due.n_observations + 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Every(0), "m must be an integer of at least 1, got 0"),
        (lambda: Every(2.5), r"m must be .* got 2\.5"),  # pyright: ignore[reportArgumentType]
        (lambda: Every(True), "m must be .* got True"),
        (lambda: Geometric(0), "first must be an integer of at least 1, got 0"),
        (lambda: Geometric(ratio=1.0), r"ratio must be a number in \(1, 1000\), got 1\.0"),
        (lambda: Geometric(ratio=math.inf), "ratio must be .* got inf"),
        (lambda: Thinning(0), "dense must be an integer of at least 1, got 0"),
        (lambda: Thinning(2.5), r"dense must be .* got 2\.5"),  # pyright: ignore[reportArgumentType]
        (lambda: Thinning(ratio=1.0), r"ratio must be a number in \(1, 1000\), got 1\.0"),
        (lambda: UCBbr(0.1, schedule=5), "schedule must be a schedule such as Every.5., got 5"),  # pyright: ignore[reportArgumentType]
        (lambda: PRB(0.1, schedule=Every), "schedule must be"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_wrong_schedules_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# ---- What is spent -------------------------------------------------------------------------------------------------


@given(
    SCHEDULES,
    st.integers(1, 30),
    st.lists(st.integers(1, 2000), max_size=60),
    st.floats(1e-9, 0.999),
    st.one_of(st.floats(1.0001, 1e6), st.just(math.inf)),
)
def test_no_schedule_spends_more_than_delta(
    schedule: Schedule, fewest: int, asked: list[int], delta: float, n_L: float
) -> None:
    """Whoever asks, at whatever numbers of observations, in any order and how often: a test sees the same data."""
    ledger = RiskLedger(delta, n_L, simultaneous=True)
    seen: dict[int, int] = {}
    for n in asked:
        due = schedule.due(n, fewest)
        if due.test:
            assert seen.setdefault(due.test, due.n_observations) == due.n_observations
    assert len(set(seen.values())) == len(seen)
    assert ledger.spent(seen) <= delta * (1 + 1e-12)
    risks = [ledger.risk_of(k) for k in seen]
    assert delta / n_L + math.fsum(risks) == pytest.approx(ledger.spent(seen), rel=1e-9)
    # A test of some schedule is never an earlier one than that after every observation.
    assert all(k <= Every().due(n, fewest).test for k, n in seen.items())


@few
@given(histories(least=7), SCHEDULES, st.booleans(), st.sampled_from([UCBbr, OptimalityGap, PRB]))
def test_the_ledger_in_a_certificate(history: History, schedule: Schedule, shared: bool, kind: Any) -> None:
    """Of a rule with a proof the test that ends a search has all that is not the slopes', or else its share of it."""
    optimizer = history.told(beta="matched", **declared(history.space))
    options = {} if kind is PRB else {"simultaneous": shared}
    certificate = optimizer.certificate(kind(0.5, 0.1, schedule=schedule, **options))
    risk: Any = certificate.risk
    due = schedule.due(len(history.params), 3)
    if due.test == 0:
        assert (certificate.terms, risk, certificate.test) == ({}, None, None)
        return
    shared = shared or kind is PRB  # any error of whose simulations could end the search
    weights = [math.pi**2 * k**2 / 6.0 for k in range(1, due.test + 1)]
    assert (certificate.test, risk.simultaneous) == (due.test, shared)
    assert risk.risk == pytest.approx(risk.test_risk / (weights[-1] if shared else 1.0))
    assert risk.slope_risk + risk.model_risk + risk.test_risk == pytest.approx(0.1)
    kept = risk.slope_risk + risk.model_risk
    spent = risk.test_risk * (sum(1.0 / w for w in weights) if shared else 1.0)
    assert risk.spent == pytest.approx(kept + spent)
    assert risk.spent <= 0.1 * (1 + 1e-12)
    assert certificate.next_test == (None if due.following == due.n_observations + 1 else due.following)


@few
@given(
    histories(least=6, most=16),
    SCHEDULES,
    st.sampled_from(["fixed", "map"]),
    st.sampled_from(["theory", "matched"]),
    st.sampled_from([UCBbr, partial(OptimalityGap, beta="grid")]),
)
def test_a_bound_depends_on_the_tests_before_it_only_where_all_are_to_be_true(
    history: History, schedule: Schedule, treatment: str, beta: Any, kind: Any
) -> None:
    """One bound for a stop, however often was looked; more for all at once, and the more the more tests there were."""
    options = options_of(treatment, history.space)
    optimizer = history.told(beta=beta, **options)
    some = optimizer.certificate(kind(0.5, schedule=schedule))
    if some.test is None:
        return
    same = GPUCB(history.space, seed=0, beta=beta, **options)
    same.replace_history(optimizer.history[: some.n_observations])
    each = same.certificate(kind(0.5, schedule=Every()))
    assert each.bound == pytest.approx(some.bound, rel=1e-9)
    few, all_of_them = (same.certificate(kind(0.5, schedule=each, simultaneous=True)) for each in (schedule, Every()))
    assert some.bound <= few.bound * (1 + 1e-6)
    assert few.bound <= all_of_them.bound * (1 + 1e-6)


def test_the_papers_experiment_keeps_its_weights() -> None:
    """Its rule is what the tables report, and has no proof that could spare them; the gap beside it has."""
    history = random_history(SPACES["a square"], 9, seed=0)
    optimizer = history.told(beta=4.0, **declared(history.space))
    one, other = (optimizer.certificate(UCBbr(0.5, simultaneous=shared)) for shared in (False, True))
    assert one.claim == other.claim
    assert one.risk == other.risk
    assert one.risk is not None
    assert one.risk.simultaneous
    assert one.optimality_gap < other.optimality_gap


# ---- Between two tests ---------------------------------------------------------------------------------------------


@few
@given(
    histories(least=8, most=14),
    st.sampled_from([Every(3), Every(4), Geometric(3, 1.6), Thinning(5, 1.4)]),
    st.booleans(),
)
def test_between_two_tests_the_last_one_stands(history: History, schedule: Schedule, estimated: bool) -> None:
    """Told one by one, all at once, or in jumps over the numbers that are due."""
    options = options_of("map" if estimated else "fixed", history.space)
    rule = OptimalityGap(0.5, schedule=schedule, beta="grid")
    whole = history.told(**options)
    steps, jumps = (GPUCB(history.space, seed=0, **options) for _ in range(2))
    for n in range(1, len(whole.history) + 1):
        steps.replace_history(whole.history[:n])
        certificate = steps.certificate(rule)
        if certificate.test is not None:
            due = schedule.due(n, 3 if not estimated else max(3, history.space.dim + 4))
            assert certificate.n_observations == due.n_observations
    for n in (2, 7, len(whole.history)):
        jumps.replace_history(whole.history[:n])
        jumps.ask()
        jumps.certificate(rule)
    assert steps.certificate(rule) == jumps.certificate(rule) == whole.certificate(rule)
    assert pickle.loads(pickle.dumps(steps)).certificate(rule) == steps.certificate(rule)


def test_a_test_is_computed_once() -> None:
    computed.clear()
    history = random_history(FINITE["a table"], 15, seed=0)
    optimizer = GPUCB(history.space, seed=0, **declared(history.space))
    rule = Counting(0.1, schedule=Every(5))
    for params, value in zip(history.params, history.values, strict=True):
        optimizer.tell(params, value)
        optimizer.certificate(rule)
    assert [n for n in computed if n >= 5] == [5, 10, 15]


def test_before_the_first_test() -> None:
    history = random_history(SPACES["a line"], 9, seed=0)
    certificate = history.told(**declared(history.space)).certificate(UCBbr(0.1, schedule=Every(10)))
    assert certificate.reason == "the first test is due at 10 observations, and there are 9"
    assert (certificate.bound, certificate.n_observations, certificate.stop) == (math.inf, 9, False)
    certificate = random_history(SPACES["a line"], 2, seed=0).told().certificate(UCBbr(0.1, schedule=Every(10)))
    assert "too few observations: 2 of at least 5" in certificate.reason


def test_what_fails_after_a_test_is_counted_and_changes_nothing_else() -> None:
    history = random_history(SPACES["a line"], 6, seed=0)
    optimizer = history.told(**declared(history.space))
    rule = OptimalityGap(0.5, schedule=Every(5), beta="grid")
    before = optimizer.certificate(rule)
    optimizer.tell({"x": 0.5}, math.nan)
    assert optimizer.certificate(rule) == changed(before, n_excluded=1)
    # A failure takes no place among the observations: the tenth of them is the eleventh evaluation.
    for x in np.linspace(0.1, 0.9, 4):
        assert optimizer.certificate(rule).n_observations == 5
        optimizer.tell({"x": float(x)}, 0.0)
    assert optimizer.certificate(rule).n_observations == 10


def test_another_history_is_another_test() -> None:
    histories_ = [random_history(SPACES["a line"], 6, seed) for seed in (0, 1)]
    options = declared(SPACES["a line"])
    rule = OptimalityGap(0.5, schedule=Every(5), beta="grid")
    alone = [h.told(**options) for h in histories_]
    optimizer = histories_[0].told(**options)
    for each in (alone[0], alone[1], alone[0]):
        optimizer.replace_history(each.history)
        assert optimizer.certificate(rule) == each.certificate(rule)


def test_a_trial_that_ends_late_does_not_change_a_test_that_was_made() -> None:
    """Trial 2 runs long: six others have ended when it does, and the test at five was made without it."""
    history = random_history(SPACES["a line"], 8, seed=3)
    ends = [1.0, 2.0, 9.0, 3.0, 4.0, 5.0, 6.0, 10.0]
    ended = [
        Observation(p, v, i, e) for i, (p, v, e) in enumerate(zip(history.params, history.values, ends, strict=True))
    ]
    rule = OptimalityGap(0.5, schedule=Every(5), beta="grid")
    certificates: list[Certificate] = []
    for moment in (5.0, 6.0, 9.0, 10.0):
        optimizer = GPUCB(history.space, seed=0, **declared(history.space))
        optimizer.replace_history([o for o in ended if o.ended <= moment])
        certificates.append(optimizer.certificate(rule))
    assert certificates == certificates[:1] * 4
    in_order = GPUCB(history.space, seed=0, **declared(history.space))
    in_order.replace_history([ended[i] for i in (0, 1, 3, 4, 5)])
    assert certificates[0] == in_order.certificate(rule)
    # By number, as without `ended`, it would have been another one.
    by_number = GPUCB(history.space, seed=0, **declared(history.space))
    by_number.replace_history([dataclasses.replace(o, ended=0.0) for o in ended])
    assert by_number.certificate(rule) != certificates[0]


def test_what_is_told_after_a_history_ended_after_it() -> None:
    history = random_history(SPACES["a line"], 5, seed=0)
    optimizer = GPUCB(history.space, seed=0, **declared(history.space))
    optimizer.replace_history(
        [Observation(p, v, i, 100.0 + i) for i, (p, v) in enumerate(zip(history.params, history.values, strict=True))]
    )
    rule = OptimalityGap(0.5, schedule=Every(5), beta="grid")
    before = optimizer.certificate(rule)
    optimizer.tell({"x": 0.5}, 7.0)
    assert optimizer.certificate(rule) == before


def test_minimize_tests_by_the_schedule() -> None:
    rule = OptimalityGap(0.5, schedule=Every(4), beta="grid")
    result = minimize(lambda p: (p["x"] - 3) ** 2, FINITE["twelve integers"], rule=rule, max_trials=40, seed=0)
    assert result.certificate.stop
    assert result.certificate.n_observations == len(result.history)
    assert len(result.history) % 4 == 0
    seen = [c.n_observations for c in result.certificates if c.test is not None]
    assert seen == [n - n % 4 for n in range(len(result.certificates) - len(seen) + 1, len(result.certificates) + 1)]


# ---- In words ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            "0.045 for the test that ends the search; "
            "tests after every observation up to 100, then each at 1.05 times as many; this was test 10.",
        ),
        (
            {"schedule": Every(5)},
            "0.045 for the test that ends the search; tests every 5 observations; this was test 2.",
        ),
        (
            {"schedule": Every(), "simultaneous": True},
            "0.045 for tests after every observation; this was test 10 with 0.0002736; 0.0474 spent so far.",
        ),
        (
            {"schedule": Geometric(4, 1.5), "simultaneous": True},
            "0.045 for tests from 4 observations on, whenever there are 1.5 times as many; "
            "this was test 3 with 0.00304; 0.04224 spent so far.",
        ),
    ],
)
def test_a_certificate_prints_the_ledger(options: Any, words: str) -> None:
    history = random_history(SPACES["a line"], 12, seed=0)
    certificate = history.told(**declared(history.space)).certificate(OptimalityGap(0.5, **options, beta="grid"))
    line = f"Risk: δ = 0.05 = 0.005 for the slopes + {words}"
    assert line in str(certificate).splitlines()
    assert line in str(Certificate.from_dict(certificate.to_dict())).splitlines()
    is_due = "; the next test is due at " in str(certificate).splitlines()[-1]
    assert is_due == (options.get("schedule") in (Every(5), Geometric(4, 1.5)))


def test_a_finite_space_has_nothing_for_slopes_and_paths_leave_half_to_the_model() -> None:
    history = random_history(FINITE["a table"], 4, seed=0)
    optimizer = history.told(**declared(history.space))
    assert "Risk: δ = 0.1 for the test that ends the search; tests every 4 " in str(
        optimizer.certificate(OptimalityGap(0.5, 0.1, schedule=Every(4), beta="grid"))
    )
    assert "Risk: δ = 0.1 = 0.05 left by the model + 0.05 for tests " in str(optimizer.certificate(PRB(0.5, 0.1)))

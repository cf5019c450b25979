"""A search that is over, replayed: what a rule would have said, and what stopping would have saved."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from regretstop import GPUCB, Deadline, Every, Observation, OptimalityGap, Replay, Rule, Snapshot, minimize, replay
from regretstop.certificate import Certificate
from tests.histories import FINITE, SPACES, random_history


@dataclass(frozen=True)
class AfterFive(Rule):
    """Stops just after five evaluations."""

    def assess(self, snapshot: Snapshot) -> Certificate:
        n = snapshot.data.n_observations
        said = self.undecided("five", n_observations=n, n_excluded=snapshot.data.n_excluded)
        return said if n != 5 else OptimalityGap(1e9, beta="grid").assess(snapshot)

    def _assess(self, snapshot: Snapshot) -> Certificate:
        raise NotImplementedError


def observed(values: list[float | None], ended: list[float] | None = None) -> list[Observation]:
    history = random_history(SPACES["a line"], len(values), seed=0)
    times = [float(i) for i in range(len(values))] if ended is None else ended
    return [
        Observation(params, value, number, at)
        for number, (params, value, at) in enumerate(zip(history.params, values, times, strict=True))
    ]


def replayed(observations: list[Observation], **options: Any) -> Replay:
    return replay(observations, SPACES["a line"], **{"rule": AfterFive(0.1), "direction": "minimize"} | options)


def test_what_stopping_would_have_saved_by_hand() -> None:
    values = [5.0, 4.0, 3.0, 9.0, 6.0, 2.5, 7.0]
    ticks: list[int] = []
    found = replayed(observed(values), seconds=[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], progress=ticks.append)
    assert (found.stop, found.n_saved, found.seconds_saved, found.found_later) == (5, 2, 96.0, 0.5)
    assert len(found.certificates) == 7
    assert ticks == [1, 2, 3, 4, 5, 6, 7]
    assert replayed(observed(values), direction="maximize").found_later == 0.0  # 9 was there before
    assert replayed(observed(values)).seconds_saved is None


def test_a_search_that_would_not_have_stopped_saves_nothing() -> None:
    found = replayed(observed([5.0, 4.0, 3.0, 9.0]), seconds=[1.0] * 4)
    assert (found.stop, found.n_saved, found.seconds_saved, found.found_later) == (None, 0, 0.0, None)


def test_the_order_is_that_in_which_evaluations_ended() -> None:
    values: list[float | None] = [5.0, 4.0, 3.0, 9.0, 6.0, 1.0]
    found = replayed(observed(values, ended=[9.0, 1.0, 2.0, 3.0, 4.0, 0.0]), seconds=[64.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert [o.number for o in found.observations] == [5, 1, 2, 3, 4, 0]
    assert found.seconds_saved == 64.0  # what ended last is what would have been saved
    assert found.found_later == 0.0


def test_what_has_no_value_is_left_out() -> None:
    values = [5.0, math.nan, 4.0, None, 3.0, -math.inf, 9.0, 6.0, 7.0]
    found = replayed(observed(values))
    assert found.stop == 8  # the fifth finite value is the eighth evaluation
    assert found.found_later == 0.0
    assert found.certificates[-1].n_excluded == 3


def test_it_says_what_the_search_itself_was_told() -> None:
    space, rule = FINITE["twelve integers"], OptimalityGap(0.5, schedule=Every(2), beta="grid")
    result = minimize(lambda p: (p["x"] - 3) ** 2, space, rule=rule, max_trials=15, seed=0)
    found = replay(result.history, space, rule=rule, direction="minimize")
    assert found.certificates == result.certificates
    assert found.stop == (len(result.history) if result.certificate.stop else None)
    optimizer = GPUCB(space, direction="minimize", seed=0)
    optimizer.replace_history(found.observations[:-2])
    assert found.certificates[-3] == optimizer.certificate(rule)


def test_wrong_use_is_named() -> None:
    with pytest.raises(ValueError, match="seconds must have one number for each of 3 observations, got 2"):
        replayed(observed([1.0, 2.0, 3.0]), seconds=[1.0, 2.0])
    with pytest.raises(ValueError, match="direction must be 'maximize' or 'minimize', got 'up'"):
        replayed(observed([1.0]), direction="up")


def test_of_a_stop_without_a_value_nothing_is_said_to_be_found_later() -> None:
    values = [math.nan] * 6 + [1.0] * 4
    found = replay(
        [Observation({"x": i / 9}, value, i, span=(i, i + 1.0)) for i, value in enumerate(values)],
        SPACES["a line"],
        rule=Deadline(3.0),
        direction="minimize",
    )
    assert found.stop is not None
    assert found.found_later is None


def test_durations_may_be_an_array() -> None:
    history = observed([float(i) for i in range(4)])
    found = replay(history, SPACES["a line"], rule=AfterFive(1.0), direction="minimize", seconds=np.arange(4.0))
    assert found.seconds == (0.0, 1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match=r"^rule must be a stopping rule"):
        replay(history, SPACES["a line"], rule=None, direction="minimize")  # pyright: ignore[reportArgumentType]


def test_what_lies_outside_the_space_was_not_there_to_be_found() -> None:
    """Somebody may have widened a range later: a certificate was about the space that is given."""
    observations = observed([5.0, 4.0, 3.0, 9.0, 6.0, 2.5, 7.0])
    low, high = (SPACES["a line"].decode([u])["x"] for u in (0.0, 1.0))
    far = [replace(observations[0], params={"x": high + (high - low)}, value=1e-3, number=7, ended=7.0)]
    assert replayed(observations + far).found_later == 0.5
    assert replayed(far + observations[:5] + observations[6:]).found_later == 0.0

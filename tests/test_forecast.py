"""Forecasts of the stop, and the phrase that says where a search stands."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import Certificate, Float, Forecast, Patience, ProbabilityLeft, Space, UCBbr, forecast, minimize, replay
from regretstop.prose import standing
from regretstop.statement import _forecast as module
from regretstop.statement._forecast import SIGHT, Said, Weights, forecast_after, forecast_from, weights_of
from tests.changes import changed
from tests.test_certificate import CERTIFICATE, NO_BOUND


def said(n: int, bound: float, left: float | None = 1.0, epsilon: float = 0.1) -> Certificate:
    known = None if left is None else ProbabilityLeft(probability=left, n_paths=None)
    found = changed(
        CERTIFICATE, n_observations=n, bound=bound, optimality_gap=bound, epsilon=epsilon, maximum="counted"
    )
    return replace(found, left=known)


def falling(n: int = 30, left: float = 0.3) -> list[Certificate]:
    return [said(k, 10.0 / k, left) for k in range(6, n + 1)]


def test_the_quantiles_are_those_of_the_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of searches that all stop, the logarithm of the number is normal; of searches half of which do, half of that."""
    monkeypatch.setattr(module, "DURATION", Weights(math.log(20.0), 0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(module, "SPREAD", 0.5)
    x = Weights(1.0, 0.0, 0.0, 0.0, 0.0)
    monkeypatch.setattr(module, "STOPPING", Weights(30.0, 0.0, 0.0, 0.0, 0.0))
    found = forecast_from(x, 1000)
    z = 1.2815515655446004  # of 90 %
    expected = math.floor(20.0 * math.exp(-0.5 * z)), 20, math.ceil(20.0 * math.exp(0.5 * z))
    assert (found.low, found.median, found.high) == expected
    monkeypatch.setattr(module, "STOPPING", Weights(math.log(0.6 / 0.4), 0.0, 0.0, 0.0, 0.0))
    found = forecast_from(x, 1000)
    assert found.high is None  # four in ten never stop
    assert found.low == math.floor(20.0 * math.exp(0.5 * -0.43072729929545756))  # a third of those that do
    assert found.median == round(20.0 * math.exp(0.5 * 0.9674215661017014))  # five in six of them
    monkeypatch.setattr(module, "STOPPING", Weights(math.log(0.1 / 0.9), 0.0, 0.0, 0.0, 0.0))
    found = forecast_from(x, 1000)
    assert (found.low, found.median, found.high, found.is_in_sight) == (1001, None, None, False)


def test_what_a_forecast_knows_by_hand() -> None:
    known = [Said(8, 0.4, 1.0), Said(9, 0.8, 1.0), Said(10, 0.2, 0.25)]
    assert weights_of(known, 0.1, own_points=True) == pytest.approx((1, math.log(10), math.log(4), math.log(0.25), 1))
    low = weights_of([*known, Said(11, 0.01, 0.0), Said(12, 0.01, None)], 0.1, own_points=False)
    assert low == pytest.approx((1, math.log(12), 0, 0, 0))
    assert weights_of([*known, Said(11, 0.2, 0.0)], 0.1, own_points=False).log_left == math.log(1e-3)


def test_less_that_is_left_is_a_sooner_stop() -> None:
    much, little = (forecast(falling(left=left), own_points=True) for left in (1.0, 0.01))
    assert much is not None
    assert little is not None
    assert little.low < much.low
    assert little.median is not None
    assert much.median is None or little.median < much.median


@pytest.mark.parametrize(
    "certificates",
    [
        [],
        falling(8),  # three finite bounds
        [*falling(), said(31, 0.05)],  # which stops
        [*falling(), changed(NO_BOUND, n_observations=31)],
        [changed(each, measure="expected improvement") for each in falling()],
    ],
    ids=["none", "few", "a stop", "no bound", "no regret"],
)
def test_where_there_is_none(certificates: list[Certificate]) -> None:
    assert forecast(certificates, own_points=True) is None


def test_what_stands_between_two_tests_counts_once() -> None:
    once = falling()
    assert forecast([each for each in once for _ in range(3)], own_points=False) == forecast(once, own_points=False)
    trail = [module.said_by(each) for each in once]
    assert forecast_after(trail[:-1], once[-1], own_points=False) == forecast(once, own_points=False)


def test_noise_is_the_reason_where_it_would_hold_the_bound_up_for_longer() -> None:
    far = [said(k, 1e4, 1.0) for k in range(6, 100)]
    last = far[-1]
    for needs, reason in ((4 * 99 + 1.0, "noise"), (4 * 99 - 1.0, "trend"), ("inf", "trend")):
        found = forecast([*far[:-1], changed(last, terms={"noise_needs": needs})], own_points=False)
        assert found is not None
        assert not found.is_in_sight
        assert found.reason == reason
    near = forecast([*falling()[:-1], changed(falling()[-1], terms={"noise_needs": 1e6})], own_points=True)
    assert near is not None
    assert near.reason == "trend"


@given(
    st.lists(st.tuples(st.floats(1e-12, 1e12), st.floats(0.0, 1.0)), min_size=4, max_size=40),
    st.floats(1e-12, 1e12),
    st.booleans(),
)
def test_it_is_an_interval_whatever_was_said(bounds: list[tuple[float, float]], epsilon: float, own: bool) -> None:
    found = forecast([said(5 + k, *each, epsilon) for k, each in enumerate(bounds)], own_points=own)
    if bounds[-1][0] < epsilon:
        assert found is None
        return
    assert found is not None
    sight = SIGHT * (4 + len(bounds))
    assert found.sight == sight
    assert 1 <= found.low <= sight + 1
    ends = [end for end in (found.low, found.median, found.high) if end is not None]
    assert ends == sorted(ends)
    assert ends[-1] <= sight + 1
    assert json.loads(json.dumps(found.to_dict()))["low"] == found.low
    assert str(found)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Forecast(low=5, median=12, high=30, sight=60), "about 12 more evaluations, with 80% 5 to 30"),
        (Forecast(low=5, median=12, high=None, sight=60), "about 12 more evaluations, with 80% at least 5"),
        (Forecast(low=5, median=None, high=None, sight=60), "at least 5 more evaluations, with 80%"),
        (Forecast(low=61, median=None, high=None, sight=60), "not in sight, within 60 more evaluations"),
        (
            Forecast(low=61, median=None, high=None, sight=60, reason="noise"),
            "not at this noise, within 60 more evaluations",
        ),
    ],
)
def test_its_words(found: Forecast, words: str) -> None:
    assert str(found) == words


def test_the_phrase() -> None:
    here = said(20, 0.5, 0.25)
    assert standing(here) == "bound 0.5 ≥ ε = 0.1, probability left at most 0.25"
    assert standing(here, Forecast(low=5, median=12, high=30, sight=60)).endswith(
        "0.25; about 12 more evaluations, with 80% 5 to 30"
    )
    assert standing(said(20, 0.05, None)) == "bound 0.05 < ε = 0.1"
    assert standing(NO_BOUND) == "too few observations"


def test_searches_have_one() -> None:
    space = Space({"x": Float(-2.0, 2.0), "y": Float(-2.0, 2.0)})

    def f(params: dict[str, float]) -> float:
        return math.sin(3.0 * params["x"]) + params["y"] ** 2

    result = minimize(f, space, rule=UCBbr(0.01), max_trials=12, seed=0)
    assert not result.certificate.stop
    assert result.forecast == forecast(result.certificates, own_points=True)
    assert result.forecast is not None
    again = replay(result.history, space, rule=UCBbr(0.01), direction="minimize")
    assert again.forecast == forecast(again.certificates, own_points=False)
    assert minimize(f, space, rule=Patience(20), max_trials=12, seed=0).forecast is None

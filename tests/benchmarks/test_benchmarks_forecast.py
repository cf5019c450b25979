"""The benchmark of forecasts: its records, the constants that are fitted to them, and what is said of them."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks import continuations, forecast, records
from benchmarks.forecast_fit import PRODUCT, fitted, log_loss, moments_of
from benchmarks.sections import forecast as section
from regretstop.statement._forecast import SIGHT, forecast_from


@pytest.mark.parametrize("sampler", ["GPUCB", "TPE"])
def test_a_search_keeps_its_bounds(sampler: str) -> None:
    key = {"problem": "priors, d = 2", "share": None, "sampler": sampler, "seed": 0, "trials": 9}
    record = json.loads(json.dumps(forecast.run_search(key)))
    assert record == forecast.run_search(key) | {name: record[name] for name in ("cpu_s", *_LISTS)}
    assert [len(record[name]) for name in _LISTS] == [9] * 4
    assert record["bounds"][:5] == [None] * 5
    assert all(bound >= record["epsilon"] for bound in record["bounds"][5:])


_LISTS = ("n", "bounds", "left", "noise needs")


def test_it_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "TRIALS", 7)
    for name, value in (("PRIORS", {}), ("ROWS", ()), ("NAMES", ("Branin",))):
        monkeypatch.setattr(forecast, name, value)
    path = tmp_path / "forecast.jsonl.gz"
    forecast.run(1, path=path)
    kept = path.read_bytes()
    assert len(records.read(path)) == 6  # Branin twice and Shekel-4, at two ε each
    forecast.run(1, path=path)
    assert path.read_bytes() == kept


def record(stop: int | None, n: int = 0, left: float = 1.0, **key: Any) -> dict[str, Any]:
    ends = stop or n
    return {
        "problem": "Branin",
        "sampler": "GPUCB",
        "seed": 1,
        "epsilon": 1.0,
        "stop": stop,
        "n": list(range(1, ends + 1)),
        "bounds": [None] * 5 + [2.0] * (ends - 5),
        "left": [None] * 5 + [left] * (ends - 5),
    } | key


def test_moments_are_where_a_forecast_can_be_made() -> None:
    assert [(m.n, m.more, m.is_cut_off) for m in moments_of(record(20))] == [(10, 10, False), (14, 6, False)]
    assert [(m.n, m.more, m.is_cut_off) for m in moments_of(record(None, 20))] == [(10, 10, True), (14, 6, True)]


def test_what_held_by_hand() -> None:
    said = [forecast_from(m.x, SIGHT * m.n) for m in moments_of(record(40))]
    assert said[0].low > 1
    far = section.forecasts([record(10 + said[0].low)])
    assert far["held"].tolist()[0] == 1.0
    assert section.forecasts([record(10 + said[0].low - 1)])["held"].tolist()[:1] == [0.0]
    # The record ends before that, or after: then it held if it was open.
    assert math.isnan(section.forecasts([record(None, 10 + said[0].low - 1)])["held"].iloc[0])
    long = section.forecasts([record(None, 120)]).dropna(subset="held")
    assert (long["held"] == long["high"].eq(math.inf)).all()
    two = pd.concat([far, long.assign(search=1)])
    assert section.share_held(two) == ((far["held"].mean() + long["held"].mean()) / 2, 2)


def test_the_constants_are_those_of_the_searches_with_even_seeds() -> None:
    fit, confirm = section.halves(records.read(forecast.PATH))
    found = fitted(fit)
    assert found.stopping == pytest.approx(PRODUCT.stopping, rel=0.02, abs=0.02)
    assert found.duration == pytest.approx(PRODUCT.duration, rel=0.02, abs=0.02)
    assert found.spread == pytest.approx(PRODUCT.spread, rel=0.02)
    assert log_loss(fit, found) <= log_loss(fit, PRODUCT) + 1e-3
    told = section.forecasts(confirm)
    share, n = section.share_held(told)
    assert n >= 100
    assert 0.7 <= share <= 0.9


def test_continuations_are_those_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuations, "MOMENTS", (7,))
    monkeypatch.setattr(continuations, "N_PATHS", 2)
    found = continuations.run_search({"problem": "priors, d = 2", "share": None, "seed": 1, "trials": 8})
    (moment,) = found["moments"]
    assert len(moment["simulated"]) == 2
    assert all(more is None or 1 <= more <= SIGHT * 7 for more in moment["simulated"])
    assert found["stop"] is None or found["stop"] > 7


def test_what_simulations_said_by_hand() -> None:
    """Of two moments 5 more were between 3 and 6, and not in sight of what was to be 2 to 4; one tells nothing."""
    moments = [
        {"n": 10, "simulated": [6, 3, 4], "low": 1, "high": None, "cpu_s": 2.0},
        {"n": 10, "simulated": [2, 4, 3], "low": 1, "high": 4, "cpu_s": 3.0},
    ]
    said = section._simulated(
        [
            {"stop": 15, "trials": 40, "moments": moments},
            {"stop": None, "trials": 20, "moments": moments[:1]},
        ]
    )
    assert "At 2 moments" in said
    assert "it held 1 times (open above 0 times), the forecast 1 times; it took 2 to 3 s" in said

"""The benchmark of searches whose kernel is unknown, on searches of a few evaluations."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import doubt, records
from benchmarks.objectives import shekel
from benchmarks.sections import doubt as section


@pytest.mark.parametrize(("name", "share"), [("priors, d = 2", None), ("GP 3e-3, d = 2", None), ("step", 0.05)])
def test_a_search_keeps_what_each_rule_said_of_which_trial(name: str, share: float | None) -> None:
    key = {"problem": name, "share": share, "seed": 0, "trials": 10}
    record = doubt.run_search(key)
    assert json.loads(json.dumps(record)) == record
    if name == "step":
        assert record == doubt.run_search(key) | {"cpu_s": record["cpu_s"]}
    assert all(6 <= each["n"] <= record["evaluations"] for each in record["said"])
    said = record["said"]
    for each in said:
        bound, regret = each["UCBbr"]
        assert bound is None or bound > 0.0  # none is infinite
        assert regret >= -1e-9
        assert ("mode" in each and bound < record["epsilon"]) or "samples" in each
        if "mode" in each:
            bound, regret, left = each["mode"]
            assert bound is None or bound > 0.0
            assert regret >= -1e-9
            assert 0.0 <= left <= 1.0
    assert any("mode" in each for each in said) or name != "step"  # a few flat values look like a flat function


def test_it_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubt, "TRIALS", 7)
    monkeypatch.setattr(doubt, "PRIORS", {})
    monkeypatch.setattr(doubt, "ROWS", ())
    monkeypatch.setattr(doubt, "NAMES", ("Branin",))
    path = tmp_path / "doubt.jsonl.gz"
    doubt.run(1, path=path)
    kept = path.read_bytes()
    assert len(records.read(path)) == 4  # with Shekel-4, at two ε each
    doubt.run(1, path=path)
    assert path.read_bytes() == kept


def test_shekels_deepest_hole() -> None:
    problem = shekel((0.01, 0.05))
    at_best = problem.objective({"x0": 4.00075, "x1": 4.00059, "x2": 3.99966, "x3": 3.99951})
    assert at_best == pytest.approx(problem.optimum, abs=1e-4)
    rng = np.random.default_rng(0)
    assert all(problem.objective(problem.space.decode(rng.random(4))) > problem.optimum for _ in range(100))


def test_the_section_by_hand() -> None:
    """Two draws and a step: one is stopped by both, one by none; the step falsely by one, early."""

    def record(problem: str, share: float | None, said: list[dict[str, object]]) -> dict[str, object]:
        return {"problem": problem, "share": share, "seed": 0, "epsilon": 0.1, "said": said}

    records = [
        record("priors, d = 2", None, [{"n": n, "UCBbr": [0.5 - 0.1 * n, 0.0, 0.1]} for n in (1, 2)]),
        record("priors, d = 2", None, [{"n": 7, "UCBbr": [None, 0.0, 0.1]}]),
        record("step", 0.05, [{"n": 9, "UCBbr": [0.05, 0.2], "mode": [0.2, 0.2, 0.1]}]),
    ]
    stops = section.stopped(records)
    assert stops["stop"].tolist() == [float("inf")] * 4 + [9, float("inf")]
    assert stops["false"].tolist() == [False] * 4 + [True, False]
    records[0]["said"] = [{"n": 2, **{rule: [0.05, 0.02, 0.0] for rule in section.RULES}}]
    groups = section.groups_of(section.stopped(records))
    assert groups["group"].unique().tolist() == ["draws of the model's priors", "step"]
    assert groups["stopped"].tolist() == [1, 1, 1, 0]
    assert groups["false"].tolist() == [0, 0, 1, 0]
    assert groups["median evaluations"].tolist()[2:] == [9.0, float("inf")]


def test_searches_that_samples_do_not_end_count_as_late() -> None:
    """The default ends three, one falsely; samples end one of them, after twice as many evaluations."""
    stop, go_on, wrong = [0.05, 0.0, 0.0], [0.2, 0.0, 0.1], [0.05, 0.2, 0.0]
    tests = [{"n": 5, "mode": stop, "samples": go_on}, {"n": 5, "mode": wrong, "samples": go_on}]
    told = [[tests[0], {"n": 10, "samples": stop}], [tests[0]], [tests[1]]]
    found = section._over_samples([{"problem": "priors, d = 2", "epsilon": 0.1, "said": said} for said in told])
    assert "of 3 on draws of the priors in 2 dimensions, 1 falsely, samples ended 1, 0 falsely" in found
    assert "after more than 1.5 times as many" in found

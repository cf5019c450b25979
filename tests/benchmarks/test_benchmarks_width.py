"""The benchmark of the right width, on searches of a few evaluations."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import records, width
from benchmarks.sections import width as section
from benchmarks.tables import wilson_interval

SHORT = {"LENGTHSCALES": {1: (0.3,)}, "TRIALS": {1: 14}, "KERNELS": {"Matern52": width.KERNELS["Matern52"]}}


def test_every_rule_is_asked_until_it_stops_and_a_search_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SHORT.items():
        monkeypatch.setattr(width, name, value)
    key = {"draw": 0, "dim": 1, "lengthscale": 0.3, "kernel": "Matern52", "sampler": "calibrated"}
    record = width.run_search(key)
    assert set(record["rules"]) == set(width.RULES)
    for tally in record["rules"].values():
        assert tally["stop"] is None or tally["stop"] in width.TESTS
        assert (tally["stop"] is None) == (tally["regret"] is None)
    assert record["rules"]["calibrated, 0.05"]["tests"] == len(record["left"]) > 0
    assert all(0.0 <= left <= 1.0 and remained in (0, 1) for left, remained in record["left"])
    path = tmp_path / "width.jsonl.gz"
    records.append(path, record)
    assert records.pending(path, [key]) == []


def test_the_section_by_hand() -> None:
    """Two searches of one cell: one stopped falsely by one rule; five certificates in two bins."""

    def record(
        draw: int, stop: int | None, regret: float | None, left: list[tuple[float | None, int]]
    ) -> dict[str, Any]:
        rules = {rule: {"stop": stop, "regret": regret} for rule in width.RULES}
        cell = {"draw": draw, "dim": 2, "lengthscale": 0.3, "kernel": "Matern52", "sampler": "default"}
        return cell | {"epsilon": 0.2, "rules": rules, "left": left}

    records = [
        record(0, 12, 0.3, [(1.0, 1), (0.01, 0), (0.015, 1)]),
        record(1, None, None, [(None, 0), (0.3, 0)]),
    ]
    stops = section.stopped(records)
    assert len(stops) == 2 * len(width.RULES)
    assert stops["false"].sum() == len(width.RULES)
    said = section.calibration(records)
    assert said["certificates"].tolist() == [2, 0, 0, 2]
    assert said["remained"].tolist()[0] == said["remained"].tolist()[3] == 0.5
    assert said["said"].tolist()[0] == pytest.approx(0.0125)
    assert said["said"].tolist()[3] == pytest.approx(0.65)


def test_certificates_of_one_search_are_no_more_evidence_than_one() -> None:
    """Of two searches of ten certificates, all of one remained: it is as one of two, not as ten of twenty."""
    records = [{"left": [(0.05, remained)] * 10} for remained in (0, 1)]
    found = section.calibration(records).iloc[1]
    assert (found["certificates"], found["remained"]) == (20, 0.5)
    assert (found["remained from"], found["remained to"]) == pytest.approx(wilson_interval(1, 2))
    none = section.calibration([{"left": [(0.05, 0)] * 10}] * 3).iloc[1]
    assert none["remained to"] == pytest.approx(wilson_interval(0, 3)[1])


def test_cells_where_the_count_is_worse_are_named() -> None:
    """UCBbr stops after 10 and falsely, the count after 12."""

    def record(draw: int) -> dict[str, Any]:
        rules = {rule: {"stop": 12, "regret": 0.0} for rule in width.RULES} | {"UCBbr": {"stop": 10, "regret": 0.3}}
        cell = {"draw": draw, "dim": 2, "lengthscale": 0.3, "kernel": "Matern52", "sampler": "calibrated"}
        return cell | {"epsilon": 0.2, "rules": rules, "left": []}

    found = section._cells_found(section.stopped([record(draw) for draw in range(9)]))
    assert found.startswith("**Of 1 cells**")
    assert "is above δ in 0 at δ = 0.05 and 0 at δ = 0.1" in found
    assert found.endswith("later than UCBbr's in 1: Matern52, d = 2, ℓ = 0.3 (UCBbr false 9 of 9).")

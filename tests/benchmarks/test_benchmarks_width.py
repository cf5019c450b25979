"""The benchmark of the right width, on searches of a few evaluations."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import records, width
from benchmarks.sections import width as section

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

"""The benchmark of the right width, on searches of a few evaluations."""

from pathlib import Path

import pytest

from benchmarks import records, width

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

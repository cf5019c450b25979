"""The benchmark of the model check runs and reports, on the smallest sizes."""

import gzip
from pathlib import Path

import pytest

from benchmarks import model_check, records
from benchmarks.sections import model_check as section


def test_it_reports_whatever_paths_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_check, "SIZES", (8, 12))
    assert section.section(tmp_path) is None
    for name in ("draws, d = 2, σ = 0.05", "Ackley-3"):
        record = model_check.run_path({"problem": name, "seed": 0})
        for checks in record["checks"].values():
            assert [check["n"] for check in checks] == [8, 12]
            assert (checks[0]["rms"], checks[0]["inflation"]) == (None, 1.0)
            assert checks[1]["rms"] > 0.0
        records.append(tmp_path / "model_check.jsonl.gz", record | records.provenance())
    found = section.section(tmp_path)
    assert found is not None
    assert list(found.shown["problems"]) == ["all draws", "all draws", "all others", "all others"]
    assert set(found.shown["n = 8"]) == {"0/1 (0–79 %)"}
    counts = found.tables["model-check"]
    assert list(counts["problem"].unique()) == ["all draws", "draws, d = 2, σ = 0.05", "Ackley-3"]
    assert list(counts["n"].unique()) == [8, 12]


def test_a_killed_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model_check.jsonl.gz"
    monkeypatch.setattr(model_check, "SIZES", (6,))
    monkeypatch.setattr(model_check, "NAMES", ("step", "boosting"))
    model_check.run(1, path)
    first = records.read(path)
    path.write_bytes(path.read_bytes() + gzip.compress(b'{"problem":"st')[:-9])
    model_check.run(2, path)
    assert records.read(path)[: len(first)] == first
    assert [(r["problem"], r["seed"]) for r in records.read(path)] == [
        (name, seed) for seed in (0, 1) for name in ("step", "boosting")
    ]

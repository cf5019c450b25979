"""The benchmark of the model check runs and reports, on the smallest sizes."""

from pathlib import Path

import pytest

from benchmarks import model_check, records


def test_it_reports_whatever_paths_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_check, "PATH", tmp_path / "model_check.jsonl")
    monkeypatch.setattr(model_check, "SIZES", (8, 12))
    assert model_check.section() == []
    for name in ("draws, d = 2, σ = 0.05", "Ackley-3"):
        record = model_check.run_path({"problem": name, "seed": 0})
        for checks in record["checks"].values():
            assert [check["n"] for check in checks] == [8, 12]
            assert (checks[0]["rms"], checks[0]["inflation"]) == (None, 1.0)
            assert checks[1]["rms"] > 0.0
        records.append(model_check.PATH, record | records.provenance())
    table = model_check.section()[-1].splitlines()
    assert [line.split(" | ")[0] for line in table[2::2]] == ["| all draws", "| draws, d = 2, σ = 0.05", "| Ackley-3"]
    assert "| map | 0/1, 1.00, 1.00 |" in table[6]


def test_a_killed_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model_check.jsonl"
    monkeypatch.setattr(model_check, "SIZES", (6,))
    monkeypatch.setattr(model_check, "NAMES", ("step", "boosting"))
    model_check.run(1, path)
    first = path.read_text()
    path.write_text(first + '{"problem":"st')
    model_check.run(2, path)
    assert path.read_text().startswith(first)
    assert [(r["problem"], r["seed"]) for r in records.read(path)] == [
        (name, seed) for seed in (0, 1) for name in ("step", "boosting")
    ]

"""The comparison of searches for the mode runs and reports, on the smallest sizes."""

import gzip
import math
from pathlib import Path

import pytest

from benchmarks import histories, modes, records
from benchmarks.sections import modes as section


def record(name: str, minus_log: float, bounds: list[float | None], regrets: list[float]) -> dict[str, object]:
    n = len(bounds)
    return {
        "history": name,
        "treatment": "map",
        "problem": "step",
        "epsilon": 0.1,
        "sizes": list(modes.SIZES) if not regrets else [4 * i + 8 for i in range(n)],
        "minus_log": [minus_log] * n,
        "noise_std": [0.1] * n,
        "bounds": bounds,
        "named": regrets or [None] * n,
    }


def test_it_reports_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tmp_path / "before.jsonl.gz"
    monkeypatch.setattr(modes, "BEFORE", before)
    assert section.section(tmp_path) is None
    for path, rows in (
        (before, [record("a", 1.0, [0.2, 0.05], [1.0, 1.0]), record("job", 1.0, [None, 0.2, 0.3], [])]),
        (
            tmp_path / modes.PATH.name,
            [
                record("a", 1.2, [0.2, 0.2], [1.0, 1.0]),
                record("job", 0.5, [0.4, 0.2, 0.1], []),
                record("only now", 0.0, [0.1], [0.0]),
            ],
        ),
    ):
        for row in rows:
            records.append(path, row)
    found = section.section(tmp_path)
    assert found is not None
    assert found.tables["modes-stops"].to_dict("records") == [
        {"history": "a", "stop before": 12, "false before": True, "stop now": math.inf, "false now": False}
    ]
    assert list(found.shown.iloc[0]) == ["job", "mode", "∞ → 4; 0.1 → 0.1", "2 → 2; 0.1 → 0.1", "3 → 1; 0.1 → 0.1"]
    assert "at 3 of 3 tests of real jobs a better mode is found, at 0 a worse one" in found.result
    assert "at 0 of 2 tests of paths of the problems here a better mode is found, at 2 a worse one" in found.result
    assert "a (12 → ∞, false before)" in found.found[0]


def test_a_killed_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "modes.jsonl.gz"
    monkeypatch.setattr(histories, "real", list)
    kept = [each.first(8) for each in histories.recorded(1) if each.name in ("step 0", "SVM 0")]
    record = modes.assess(kept[0], "map")
    assert record["sizes"] == [8]
    assert all(len(record[name]) == 1 for name in ("minus_log", "noise_std", "bounds", "named"))
    keys = [{"history": each.name, "treatment": "map"} for each in kept]
    for key in keys:
        records.append(path, key | record | records.provenance())
    whole = records.read(path)
    path.write_bytes(path.read_bytes() + gzip.compress(b'{"history":"st')[:-9])
    monkeypatch.setattr(histories, "recorded", lambda seeds=3: kept)
    modes.run(1, path)
    assert records.read(path) == whole

"""The section about problems that are no draw of the model counts what the records say."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks import misspecified, paths, records
from benchmarks.objectives import Problem, cube
from benchmarks.sections import misspecified as section
from benchmarks.sections.section import Section

TESTS = [8, 12, 16, 20]
# What a rule said at the tests: bounds, and the regrets of the trials it named; ε is 0.1 and 0.5.
SILENT = {"bounds": [9.0] * 4, "regrets": [0.0] * 4}
RIGHT = {"bounds": [9.0, 0.4, 0.09, 0.01], "regrets": [2.0, 0.3, 0.05, 0.0]}
FALSE = {"bounds": [9.0, 0.09, 0.05, 0.01], "regrets": [2.0, 0.2, 0.2, 0.2]}


def record(
    seed: int, ucb_br: dict[str, Any], *, problem: str = "A", treatment: str = "map", **more: Any
) -> dict[str, Any]:
    rules = dict.fromkeys(("certified gap", "calibrated gap", "PRB 0.1", "PRB 0.5"), SILENT)
    return {
        "problem": problem,
        "kernel": "Matérn-5/2",
        "sampler": "exceedance",
        "treatment": treatment,
        "seed": seed,
        "trials": 20,
        "epsilons": [0.1, 0.5],
        "regrets": [2.0] * 10 + [0.3] * 4 + [0.05] * 6,
        "tests": TESTS,
        "inflations": [1.0] * 4,
        "rules": {"UCBbr": ucb_br} | rules,
        "version": "0",
        "source": "f",
    } | more


def section_of(found: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Section:
    monkeypatch.setattr(misspecified, "problem_of", lambda _: Problem(cube(1, 0, 1), len, 0.0, (0.1, 0.5)))
    for one in found:
        records.append(folder / "misspecified.jsonl.gz", one)
    said = section.section(folder)
    assert said is not None
    return said


def row_of(table: pd.DataFrame, **wanted: Any) -> dict[str, Any]:
    """Return the one row that has these values."""
    wanted = {name.replace("_", " "): value for name, value in wanted.items()}
    (row,) = [row for row in table.to_dict("records") if wanted.items() <= row.items()]
    return {str(name): value for name, value in row.items()}


def test_false_stops_are_counted_by_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On A, 2 of 20 are false at the smaller ε (10 %, by Wilson 3–30 %); on B, 1 of 20; at the larger ε none."""
    found = [record(i, FALSE if i < 2 else RIGHT) for i in range(20)]
    found += [record(i, FALSE if i < 1 else SILENT, problem="B") for i in range(20)]
    said = section_of(found, tmp_path, monkeypatch)
    assert row_of(said.shown, rule="UCBbr") == {
        "rule": "UCBbr",
        "hyperparameters": "mode",
        "ε = 1 %": "21/40, 3 (3–20 %)",
        "ε = 5 %": "21/40, 0 (0–9 %)",
    }
    assert row_of(said.shown, rule="certified gap")["ε = 1 %"] == "0/40, 0 (0–9 %)"
    assert "stopped 21 of 40 searches (ε = 1 %), 3 falsely (2 on A, 1 on B)" in said.result
    counts = said.tables["misspecified"]
    of_rule = counts[counts["rule"].eq("UCBbr") & counts["check"].eq("inflated") & counts["ε share"].eq(0.01)]
    on_a = row_of(of_rule, problem="A")
    assert (on_a["searches"], on_a["stopped"], on_a["false"], on_a["median stop"]) == (20, 20, 2, 16.0)
    assert (on_a["false from %"], on_a["false to %"]) == pytest.approx((2.79, 30.1), abs=0.01)
    assert set(counts["hyperparameters"]) == {"map"}
    # Bounds of the false paths are below 0.2 at three tests, those of the others never.
    bounds = row_of(said.tables["misspecified-bounds"], rule="UCBbr", check="inflated")
    assert [bounds[name] for name in ("paths", "tests")] == [40, 160]
    assert [bounds[f"{name} with a bound too small"] for name in ("paths", "tests")] == [3, 9]
    paths_of_a = said.tables["misspecified-paths"]
    assert row_of(paths_of_a[paths_of_a["ε share"].eq(0.05)], problem="A")["median stop"] == 11.0


def test_inflating_is_compared_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 12 the check objects. Without it the stop there is false at ε = 0.1."""
    inflated = {"bounds": [9.0, 0.27, 0.12, 0.01], "regrets": [2.0, 0.2, 0.05, 0.0]}
    without = {"bounds": [9.0, 0.09, 0.12, 0.01], "regrets": [2.0, 0.2, 0.05, 0.0]}
    objected = record(0, inflated, inflations=[1.0, 3.0, 1.0, 1.0])
    objected["rules without check"] = objected["rules"] | {"UCBbr": without}
    counts = section_of([objected], tmp_path, monkeypatch).tables["misspecified"]
    counts = counts[counts["ε share"].eq(0.01)]
    for check, stop, false in (("inflated", 20.0, 0), ("without", 12.0, 1)):
        row = row_of(counts, rule="UCBbr", problem="A", check=check)
        assert (row["median stop"], row["false"]) == (stop, false)


def test_patience_that_spares_no_false_stop_is_seen_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one dimension, fifteen evaluations a parameter put the stops at 12 off until 16, one of them still false."""
    said = section_of([record(0, RIGHT), record(1, FALSE)], tmp_path, monkeypatch)
    table = said.tables["misspecified-least-evaluations"]
    table = table[table["ε share"].eq(0.01)]
    assert table["least evaluations a parameter"].tolist() == [0, 5, 10, 15]
    assert table[["stopped", "false", "median stop"]].values.tolist() == [[2, 1, 14.0]] * 3 + [[2, 1, 16.0]]


def test_gaps_are_compared_with_ucbbr_at_the_same_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios 2, 3 and 10 where both are finite; at ε = 0.5 stops at 12 and 20, at ε = 0.1 only UCBbr stops."""
    found = record(0, {"bounds": [None, 0.4, 0.2, 0.04], "regrets": [0.0] * 4})
    found["rules"]["certified gap"] = {"bounds": [5.0, 0.8, 0.6, 0.4], "regrets": [0.0] * 4}
    row = row_of(section_of([found], tmp_path, monkeypatch).tables["misspecified-gap-over-bound"], problem="all")
    assert [row[f"gap / bound{end}"] for end in (", of", "", ", 25 %", ", 75 %")] == pytest.approx([3, 3, 2.5, 6.5])
    assert (row["UCBbr stopped"], row["certified gap stopped"]) == (2, 1)
    assert row["stop of the gap / of the bound"] == pytest.approx(20 / 12)


def test_optunas_terminator_has_rows_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = record(0, RIGHT, treatment=paths.TERMINATOR)
    del asked["inflations"]
    asked["rules"] = {paths.TERMINATOR: FALSE}
    (row,) = section_of([asked], tmp_path, monkeypatch).shown.to_dict("records")
    assert row == {
        "rule": paths.TERMINATOR,
        "hyperparameters": "",
        "ε = 1 %": "1/1, 1 (21–100 %)",
        "ε = 5 %": "1/1, 0 (0–79 %)",
    }


def test_other_points_are_compared_on_the_same_problems_and_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"sampler": "√β = 2"}
    found = [record(0, RIGHT), record(0, FALSE, **other), record(1, FALSE), record(0, FALSE, problem="B", **other)]
    said = section_of(found, tmp_path, monkeypatch)
    assert "by how points were chosen: exceedance: 1/1, 0, √β = 2: 1/1, 1." in said.found[0]
    counts = said.tables["misspecified"]
    counts = counts[counts["rule"].eq("UCBbr") & counts["check"].eq("inflated") & counts["problem"].eq("all")]
    assert counts.groupby("points", sort=False)["searches"].first().to_dict() == {"exceedance": 2, "√β = 2": 2}

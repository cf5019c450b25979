"""The section about problems that are no draw of the model counts what the records say."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import misspecified, misspecified_report, paper, paths, records, second_opinion
from benchmarks.objectives import Problem, cube

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
        "sampler": "√β = 2",
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


def report_of(found: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(misspecified, "PATH", folder / "misspecified.jsonl")
    monkeypatch.setattr(misspecified, "problem_of", lambda _: Problem(cube(1, 0, 1), len, 0.0, (0.1, 0.5)))
    monkeypatch.setattr(misspecified_report, "RESULTS", folder)
    for one in found:
        records.append(misspecified.PATH, one)
    return "\n\n".join(misspecified_report.section())


def test_false_stops_are_counted_by_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On A, 2 of 20 are false at the smaller ε (10 %, by Wilson 3–30 %); on B, 1 of 20, which is 5 % and no more."""
    found = [record(i, FALSE if i < 2 else RIGHT) for i in range(20)]
    found += [record(i, FALSE if i < 1 else SILENT, problem="B") for i in range(20)]
    text = report_of(found, tmp_path, monkeypatch)
    small, large = (text.index(f"**ε = {share} %.**") for share in (1, 5))
    assert "UCBbr (map): A; certified gap (map): none" in text[small:large]
    assert "UCBbr (map): none" in text[large:]
    # Medians are 16 on A and 12 on B.
    assert "| UCBbr | map | inflated | 21/40 | 3/40 (3–20 %) | 1 of 2 | A 2/20 | 14 |" in text[small:large]
    assert "| UCBbr | map | inflated | 21/40 | 0/40 (0–9 %) | 0 of 2 |  | 12 |" in text[large:]
    assert "| A | UCBbr | map | inflated | 20/20 | 2/20 | 2/20 (3–30 %) | 16 (16–16) | 0.05 (0.05–0.05) |" in text
    assert "| A | certified gap | map | inflated | 0/20 | – | 0/20 (0–16 %) | – | – |" in text
    assert "| posterior |" not in text
    assert "| Optuna's terminator |" not in text
    # Bounds of the false paths are below 0.2 at three tests, those of the others never.
    assert "| UCBbr | map | 3/40 (3–20 %) | 9/160 | 3/40 (3–20 %) | 9/160 |" in text
    assert "| A | 0.1, 0.5 | 0.05 (0.05–0.05) | 20/20 | 15 (15–15) | 20/20 | 11 (11–11) |" in text
    assert (tmp_path / "misspecified-constant.png").stat().st_size > 0


def test_inflating_is_compared_with_a_gate_and_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 12 the check objects. Without it the stop there is false at ε = 0.1; at ε = 0.5 only the gate prevents one."""
    inflated = {"bounds": [9.0, 0.27, 0.12, 0.01], "regrets": [2.0, 0.2, 0.05, 0.0]}
    without = {"bounds": [9.0, 0.09, 0.12, 0.01], "regrets": [2.0, 0.2, 0.05, 0.0]}
    objected = record(0, inflated, inflations=[1.0, 3.0, 1.0, 1.0])
    objected["rules without check"] = objected["rules"] | {"UCBbr": without}
    text = report_of([objected], tmp_path, monkeypatch)
    small = text[: text.index("**ε = 5 %.**")]
    assert "| UCBbr | map | inflated | 1/1 | 0/1 (0–79 %) | 0 of 1 |  | 20 |" in small
    assert "| UCBbr | map | gate | 1/1 | 0/1 (0–79 %) | 0 of 1 |  | 20 |" in small
    assert "| UCBbr | map | without | 1/1 | 1/1 (21–100 %) | 1 of 1 | A 1/1 | 12 |" in small
    large = text[text.index("Every problem, ε = 5 %") :]
    assert "| A | UCBbr | map | inflated | 1/1 | 0/1 | 0/1 (0–79 %) | 12 (12–12) |" in large
    assert "| A | UCBbr | map | gate | 1/1 | 0/1 | 0/1 (0–79 %) | 16 (16–16) |" in large
    assert "| A | UCBbr | map | without |" not in large  # is as inflated
    assert "| UCBbr | map | 0/1 (0–79 %) | 0/4 | 1/1 (21–100 %) | 1/4 |" in text


def test_patience_that_spares_no_false_stop_is_seen_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one dimension, fifteen evaluations a parameter put the stops at 12 off until 16, one of them still false."""
    text = report_of([record(0, RIGHT), record(1, FALSE)], tmp_path, monkeypatch)
    assert "| none | 2/2, 1, 14 | 2/2, 0, 12 | 0/0, 0, – | 0/0, 0, – |" in text
    assert "| 15 a parameter | 2/2, 1, 16 | 2/2, 0, 16 | 0/0, 0, – | 0/0, 0, – |" in text


def test_gaps_are_compared_with_ucbbr_at_the_same_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios 2, 3 and 10 where both are finite; at ε = 0.5 stops at 12 and 20, at ε = 0.1 only UCBbr stops."""
    found = record(0, {"bounds": [None, 0.4, 0.2, 0.04], "regrets": [0.0] * 4})
    found["rules"]["certified gap"] = {"bounds": [5.0, 0.8, 0.6, 0.4], "regrets": [0.0] * 4}
    text = report_of([found], tmp_path, monkeypatch)
    assert "| all | 3 (2.5–6.5) | 1.67 (1.67–1.67) of 1 | – | – |" in text


def test_prb_behind_a_gate_may_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = record(0, RIGHT, inflations=[1.0, 1.0, 2.0, 1.0])
    found["rules"]["PRB 0.1"] = {"bounds": [None, None, 0.05, None], "regrets": [0.0, None, 0.0, None]}
    text = report_of([found], tmp_path, monkeypatch)
    assert "such paths (1, of either ε)" in text
    assert "| PRB | map | inflated | 1/1 | 0/1 (0–79 %) | 0 of 1 |  | 16 |" in text
    assert "| PRB | map | gate | 0/1 | 0/1 (0–79 %) | 0 of 1 |  | – |" in text


def test_optunas_terminator_has_rows_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = record(0, RIGHT, treatment=paths.TERMINATOR)
    del asked["inflations"]
    asked["rules"] = {paths.TERMINATOR: FALSE}
    text = report_of([asked], tmp_path, monkeypatch)
    assert "Optuna's terminator: A." in text
    assert "| Optuna's terminator |  |  | 1/1 | 1/1 (21–100 %) | 1 of 1 | A 1/1 | 12 |" in text
    assert "| UCBbr" not in text


def test_samplers_are_reported_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = report_of([record(0, RIGHT, sampler="exceedance"), record(0, FALSE)], tmp_path, monkeypatch)
    defaults, constant = text[: text.index("### Points chosen by √β")], text[text.index("### Points chosen by √β") :]
    assert "UCBbr (map): none" in defaults
    assert "| UCBbr | map | inflated | 1/1 | 0/1 (0–79 %) |" in defaults
    assert "UCBbr (map): A" in constant
    assert "| UCBbr | map | inflated | 1/1 | 1/1 (21–100 %) |" in constant
    for picture in ("misspecified.png", "misspecified-constant.png"):
        assert (tmp_path / picture).stat().st_size > 0
        assert f"(results/{picture})" in text


def test_every_sampler_of_the_benchmark_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [record(0, RIGHT, sampler=sampler) for sampler in misspecified.SAMPLERS]
    text = report_of(found, tmp_path, monkeypatch)
    assert text.count("### Points chosen") == len(misspecified.SAMPLERS)


def test_a_stop_at_the_mode_is_confirmed_by_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode is below ε from 12 on, falsely there; over the samples 0.06 is left at 16, and nothing at 20."""
    path = {"problem": "step", "kernel": "Matérn-5/2", "sampler": "exceedance"}
    mode = record(0, FALSE | {"regrets": [2.0, 0.2, 0.05, 0.0]}, **path)
    samples = record(0, SILENT, treatment="posterior", **path)
    samples["rules"]["probability left 0.1"] = {"bounds": [1.0, 0.5, 0.06, 0.0], "regrets": [0.0] * 4}
    stops = [second_opinion.confirmed((mode, samples), level).stop for level in (0.5, 0.1, 0.05, 0.0)]
    assert stops == [12, 16, 20, 20]

    monkeypatch.setattr(paper, "PATH", tmp_path / "paper.jsonl")
    monkeypatch.setattr(misspecified, "PATH", tmp_path / "misspecified.jsonl")
    assert second_opinion.section() == []
    elsewhere = mode | {"seed": 1}, samples | {"seed": 1, "regrets": [1.0] * 20}
    for one in (mode, samples, *elsewhere):
        records.append(misspecified.PATH, one)
    text = "\n".join(second_opinion.section())
    assert "| step, ε = 1 % | 1/1, 1, 12 | 1/1, 0, 16 | 1/1, 0, 20 | 1/1, 0, 20 | 0/1, 0, ∞ |" in text

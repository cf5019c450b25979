"""The benchmarks run, resume and report: on the smallest sizes, without timing anything seriously."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage, misspecified, misspecified_problems, problems, records, report
from benchmarks.objectives import PROBLEMS
from benchmarks.slsqp import bound_by_slsqp
from regretstop import instantaneous_regret_bound


def test_minima_of_the_test_functions() -> None:
    branin, hartmann = PROBLEMS["Branin"], PROBLEMS["Hartmann-6"]
    assert branin.objective({"x": math.pi, "y": 2.275}) == pytest.approx(branin.minimum, abs=1e-6)
    best = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
    value = hartmann.objective({f"x{j}": x for j, x in enumerate(best)})
    assert value == pytest.approx(hartmann.minimum, abs=1e-6)


def test_slsqp_confirms_the_bound() -> None:
    case = {"t": 20, "posterior_std": 0.01, "noise_std": 0.01, "dim": 4, "delta": 0.1, "n_L": 4.0}
    ours = instantaneous_regret_bound(**case)
    theirs = bound_by_slsqp(**case, sqrt_beta=ours.sqrt_beta)
    assert theirs == pytest.approx(ours.value, rel=5e-3)
    assert theirs >= ours.value * (1.0 - 1e-8)


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    problems.run(1, 6, path)
    first = path.read_text()
    path.write_text(first + '{"problem":"Bra')
    problems.run(2, 6, path)
    assert path.read_text().startswith(first)
    done = records.read(path)
    assert [(r["problem"], r["seed"]) for r in done] == [(p, s) for s in (0, 1) for p in PROBLEMS]
    assert records.pending(path, [{"problem": "Branin", "seed": 0, "trials": 6}]) == []


def test_the_report_covers_whatever_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "PATH", tmp_path / "problems.jsonl")
    monkeypatch.setattr(coverage, "PATH", tmp_path / "coverage.jsonl")
    monkeypatch.setattr(misspecified, "PATH", tmp_path / "misspecified.jsonl")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "PLOT", tmp_path / "problems.png")
    report.write(tmp_path / "RESULTS.md")
    assert "##" not in (tmp_path / "RESULTS.md").read_text()

    problems.run(1, 8, problems.PATH)
    for beta in coverage.BETAS:
        key = {"kernel": "known", "space": "finite", "dim": 1, "beta": beta, "draw": 0, "trials": 12}
        records.append(coverage.PATH, coverage.run_path(key) | records.provenance())
    report.write(tmp_path / "RESULTS.md")
    text = (tmp_path / "RESULTS.md").read_text()
    assert "Hartmann-6" in text
    assert "### Kernel known" in text
    assert "### Kernel unknown" not in text
    assert "| finite | 1 | matched | fixed | OptimalityGap | 1/1 |" in text
    assert (tmp_path / "problems.png").stat().st_size > 0


def test_records_are_strict_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        records.append(tmp_path / "x.jsonl", {"bound": math.inf})
    assert records.compact(math.inf) is None
    assert json.loads(json.dumps(records.compact(1 / 3))) == 0.333333


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("Hartmann-3", [0.114614, 0.555649, 0.852547]),
        ("Ackley-3", [0.0, 0.0, 0.0]),
        ("Levy-4", [1.0, 1.0, 1.0, 1.0]),
        ("Rosenbrock-4", [1.0, 1.0, 1.0, 1.0]),
        ("step", [0.6 + 1e-9, 0.55 + 1e-9]),
    ],
)
def test_the_misspecified_functions_have_their_known_minima(name: str, best: list[float]) -> None:
    problem = misspecified_problems.problems()[name]
    value = problem.objective({f"x{j}": x for j, x in enumerate(best)})
    assert value == pytest.approx(problem.minimum, abs=1e-5)
    rng = np.random.default_rng(0)
    others = [problem.objective(problem.space.decode(x)) for x in rng.random((500, problem.space.dim))]
    assert problem.minimum <= min(others)
    assert max(others) - problem.minimum <= 1.02 * problem.span


@pytest.mark.parametrize("name", ["SVM", "boosting"])
def test_the_tables_hold_every_setting(name: str) -> None:
    problem = misspecified_problems.problems()[name]
    values = [problem.objective(problem.space.decode(x)) for x in problem.space.enumerate()]
    assert (min(values), max(values) - min(values)) == (problem.minimum, problem.span)
    assert 0.0 < problem.minimum < 1.0


def test_a_path_where_the_model_is_wrong_says_when_each_rule_stopped() -> None:
    record = misspecified.run_path({"problem": "SVM", "seed": 0, "trials": 20, "exceedance": True})
    assert len(record["regrets"]) == 20
    assert all(r >= 0.0 for r in record["regrets"])
    for label, stop in record["stops"].items():
        share = label.rpartition(", ")[2]
        assert stop["bound"] < record["epsilons"][share]
        assert stop["false"] == (stop["regret"] > record["epsilons"][share])
    assert "## Where the model is wrong" in report.false_stops([record | records.provenance()])[0]

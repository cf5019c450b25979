"""The benchmarks' problems and report, on the smallest sizes and without timing anything seriously."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats.qmc import Sobol

from benchmarks import (
    ablations,
    coverage,
    misspecified,
    misspecified_problems,
    misspecified_report,
    model_check,
    paper,
    records,
    report,
    runtime,
    samplers,
    speed_report,
    tables,
    tune_report,
)
from benchmarks.objectives import Problem
from benchmarks.slsqp import bound_by_slsqp
from regretstop import instantaneous_regret_bound

# ---- Problems ----------------------------------------------------------------------------------------------------

FUNCTIONS = [name for name in misspecified_problems.NAMES if name not in ("SVM", "boosting")]


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("Branin", [math.pi, 2.275]),
        ("Hartmann-3", [0.114614, 0.555649, 0.852547]),
        ("Hartmann-6", [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]),
        ("Ackley-3", [0.0, 0.0, 0.0]),
        ("Levy-4", [1.0, 1.0, 1.0, 1.0]),
        ("Rosenbrock-4", [1.0, 1.0, 1.0, 1.0]),
        ("step", [0.6 + 1e-9, 0.55 + 1e-9]),
    ],
)
def test_the_functions_have_their_known_minima(name: str, best: list[float]) -> None:
    problem = misspecified_problems.problem(name)
    value = problem.objective({f"x{j}": x for j, x in enumerate(best)})
    assert value == pytest.approx(problem.optimum, abs=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_epsilons_are_shares_of_the_range_of_a_function(name: str) -> None:
    problem = misspecified_problems.problem(name)
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=problem.space.dim)))
    points = np.vstack([Sobol(problem.space.dim, seed=0).random(2**11), corners])
    values = [problem.objective(problem.space.decode(x)) for x in points]
    assert problem.optimum <= min(values)
    assert problem.epsilons == pytest.approx((0.01 * _range(problem, values), 0.05 * _range(problem, values)), rel=5e-3)


@pytest.mark.parametrize("name", ["SVM", "boosting"])
def test_the_tables_hold_every_setting(name: str) -> None:
    problem = misspecified_problems.problem(name)
    values = [problem.objective(problem.space.decode(x)) for x in problem.space.enumerate()]
    assert len(values) == {"SVM": 41**2, "boosting": 9 * 6 * 6}[name]
    assert min(values) == problem.optimum > 0.0
    assert problem.epsilons == pytest.approx((0.01 * _range(problem, values), 0.05 * _range(problem, values)))
    assert max(values) < {"SVM": 0.5, "boosting": 1.5}[name]


def _range(problem: Problem, values: list[float]) -> float:
    return max(values) - problem.optimum


def test_only_heavy_tails_are_noisy() -> None:
    """Student's t with two degrees of freedom is beyond ±4.303 in 5 % of all cases, a standard normal never here."""
    rng = np.random.default_rng(0)
    for name in misspecified_problems.NAMES:
        noise = [misspecified_problems.problem(name).noise(rng) for _ in range(2000)]
        beyond = float(np.mean(np.abs(noise) > 4.303))
        assert (0.035 < beyond < 0.065) if name == "heavy tails" else not any(noise)


def test_slsqp_confirms_the_bound() -> None:
    case = {"t": 20, "posterior_std": 0.01, "noise_std": 0.01, "dim": 4, "delta": 0.1, "n_L": 4.0}
    ours = instantaneous_regret_bound(**case)
    theirs = bound_by_slsqp(**case, sqrt_beta=ours.sqrt_beta)
    assert theirs == pytest.approx(ours.value, rel=5e-3)
    assert theirs >= ours.value * (1.0 - 1e-8)


# ---- Records and report ------------------------------------------------------------------------------------------


def test_records_are_strict_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        records.append(tmp_path / "x.jsonl", {"bound": math.inf})
    assert records.compact(math.inf) is None
    assert json.loads(json.dumps(records.compact(1 / 3))) == 0.333333


def test_tables_of_nothing() -> None:
    assert tables.table([]) == ""
    assert tables.rate(0, 0) == "0/0 (0–100 %)"
    assert tables.exact(0, 0) == "0/0 (0.0–100.0 %)"
    assert tables.spread([]) == "–"
    assert tables.spread([-0.0]) == "0 (0–0)"


def test_wilsons_interval() -> None:
    """By his formula, with z = 1.96 and z² = 3.8416: (2 + z²/2 ± z √(2·18/20 + z²/4)) / (20 + z²)."""
    root = 1.96 * math.sqrt(2 * 18 / 20 + 3.8416 / 4)
    expected = [(2 + 3.8416 / 2 + sign * root) / (20 + 3.8416) for sign in (-1, 1)]
    assert tables.wilson_interval(2, 20) == pytest.approx(expected, rel=1e-4)
    assert tables.rate(2, 20) == "2/20 (3–30 %)"


def test_the_report_covers_whatever_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ablations, coverage, misspecified, model_check, paper, runtime, samplers):
        monkeypatch.setattr(module, "PATH", tmp_path / f"{module.__name__}.jsonl")
    monkeypatch.setattr(speed_report, "PATHS", (tmp_path / "speed.json", tmp_path / "speed-one-thread.json"))
    monkeypatch.setattr(tune_report, "PATH", tmp_path / "tune.json")
    monkeypatch.setattr(misspecified_report, "RESULTS", tmp_path)
    target = tmp_path / "RESULTS.md"
    report.write(target)
    assert "##" not in target.read_text()
    assert not (tmp_path / "misspecified.png").exists()

    for beta in coverage.BETAS:
        key = {"kernel": "known", "space": "finite", "dim": 1, "beta": beta, "draw": 0, "trials": 12}
        records.append(coverage.PATH, coverage.run_path(key) | records.provenance())
    report.write(target)
    text = target.read_text()
    assert "### Kernel known" in text
    assert "### Kernel unknown" not in text
    assert "| finite | 1 | matched | fixed | OptimalityGap | 1/1 |" in text


@pytest.mark.parametrize("name", ["speed.json", "speed-one-thread.json"])
def test_speed_is_reported_for_the_threads_that_were_timed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed_report, "PATHS", (tmp_path / "speed.json", tmp_path / "speed-one-thread.json"))
    (tmp_path / name).write_text((records.RESULTS / name).read_text())
    parts = speed_report.section()
    assert sum(part.startswith("## Speed") for part in parts) == 1
    assert (parts[-1] == "The default thread pools have not been timed.") == (name != "speed.json")

"""The benchmarks' problems and report, on the smallest sizes and without timing anything seriously."""

import gzip
import itertools
import json
import math
import re
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats.qmc import Sobol

from benchmarks import coverage, misspecified_problems, records, report, tables
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


# ---- Records -----------------------------------------------------------------------------------------------------


def test_records_are_strict_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        records.append(tmp_path / "x.jsonl.gz", {"bound": math.inf})
    assert records.compact(math.inf) is None
    assert json.loads(json.dumps(records.compact(1 / 3))) == 0.333333


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kept", [1, 8, 10, 15, 30])
def test_a_record_that_a_kill_has_torn_is_left_out_and_taken_off(tmp_path: Path, kept: int, packed: bool) -> None:
    """Wherever the last member is torn: in its header, in its text, or in its check."""
    path = tmp_path / "x.jsonl.gz"
    for seed in range(3):
        records.append(path, {"seed": seed, "rule": "β ≥ 0"})
    if packed:
        records.pack(path)
    whole = path.read_bytes()
    records.append(path, {"seed": 3, "rule": "x" * 40})
    path.write_bytes(path.read_bytes()[: len(whole) + kept])
    before = [record["seed"] for record in records.read(path)]
    assert before[:3] == [0, 1, 2]
    assert records.pending(path, [{"seed": seed} for seed in range(5)]) == [{"seed": s} for s in range(len(before), 5)]
    records.append(path, {"seed": 4})
    assert [record["seed"] for record in records.read(path)] == [*before, 4]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20)), max_size=4), st.data())
def test_a_file_cut_anywhere_keeps_every_whole_record_and_goes_on(
    found: list[dict[str, Any]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path, ends = Path(folder) / "x.jsonl.gz", [0]
        for record in found:
            records.append(path, record)
            ends.append(path.stat().st_size)
        cut = data.draw(st.integers(0, ends[-1]))
        if found:
            path.write_bytes(path.read_bytes()[:cut])
        n_whole = sum(end <= cut for end in ends[1:])
        kept = records.read(path)
        assert kept in (
            found[:n_whole],
            found[: n_whole + 1],
        )  # the check at the end of a member may be all that is lost
        records.append(path, {"last": 1})
        records.pack(path)
        assert records.read(path) == [*kept, {"last": 1}]


def test_a_packed_file_is_small_and_always_the_same(tmp_path: Path) -> None:
    found = [{"seed": seed, "regrets": [0.1234] * 20} for seed in range(50)]
    sizes: list[int] = []
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        for record in found:
            records.append(tmp_path / name, record)
        sizes.append((tmp_path / name).stat().st_size)
        records.pack(tmp_path / name)
        records.pack(tmp_path / name)
        assert records.read(tmp_path / name) == found
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert 5 * (tmp_path / "a.jsonl.gz").stat().st_size < sizes[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl.gz", "b.jsonl.gz"]


def test_damage_before_the_end_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    for seed in range(3):
        records.append(path, {"seed": seed})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    with pytest.raises((ValueError, zlib.error)):
        records.read(path)
    path.write_bytes(gzip.compress(b'{"seed":0}\n{"se\n{"seed":2}\n'))
    with pytest.raises(ValueError, match="Unterminated"):
        records.read(path)


# ---- Report ------------------------------------------------------------------------------------------------------


def test_intervals() -> None:
    """Wilson's by his formula, with z = 1.96; Clopper and Pearson's for 0 of n has the end 1 − 0.025^(1/n)."""
    root = 1.96 * math.sqrt(2 * 18 / 20 + 3.8416 / 4)
    expected = [(2 + 3.8416 / 2 + sign * root) / (20 + 3.8416) for sign in (-1, 1)]
    assert tables.wilson_interval(2, 20) == pytest.approx(expected, rel=1e-4)
    assert tables.rate(2, 20) == "2/20 (3–30 %)"
    assert tables.rate(0, 0) == "0/0 (0–100 %)"
    assert tables.exact_interval(0, 100) == pytest.approx((0.0, 1.0 - 0.025 ** (1 / 100)))
    assert tables.exact_interval(0, 0) == (0.0, 1.0)
    for k, n in ((0, 3), (3, 3), (7, 12), (1, 200), (8, 160)):
        for method, interval in (("wilson", tables.wilson_interval), ("exact", tables.exact_interval)):
            assert interval(k, n) == pytest.approx(tuple(binomtest(k, n).proportion_ci(method=method)), abs=1e-12)


def test_the_same_records_are_the_same_bytes_whatever_there_is(tmp_path: Path) -> None:
    report.write(tmp_path / "none", tmp_path)
    assert "##" not in (tmp_path / "none" / "RESULTS.md").read_text()
    given = tmp_path / "records"
    for beta in coverage.BETAS:
        key = {"kernel": "known", "space": "finite", "dim": 1, "beta": beta, "draw": 0, "trials": 12}
        records.append(given / "coverage.jsonl.gz", coverage.run_path(key) | records.provenance())
    for target in ("a", "b"):
        report.write(tmp_path / target, given)
    files = {path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert files == {Path("RESULTS.md"), Path("results/coverage.png"), Path("results/tables/coverage.csv")}
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    text = (tmp_path / "a" / "RESULTS.md").read_text()
    assert "## Coverage where the model is true" in text
    assert "| declared | 4 | " in text
    assert "(results/coverage.png)" in text
    assert "[coverage](results/tables/coverage.csv)" in text


def test_what_is_committed_is_what_the_records_say() -> None:
    texts = report.texts(report.sections_of(records.RESULTS))
    for name, text in texts.items():
        assert (report.TARGET / name).read_text() == text, name
    folder = report.TARGET / "results"
    assert {path.name for path in (folder / "tables").iterdir()} == {Path(n).name for n in texts if n.endswith(".csv")}
    for picture in re.findall(r"results/[\w-]+\.png", texts["RESULTS.md"]):
        assert (report.TARGET / picture).exists()
    assert sum(path.stat().st_size for path in folder.glob("*.json*")) < 3e6

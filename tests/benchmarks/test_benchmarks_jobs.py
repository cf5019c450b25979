"""Real tuning jobs: what is recorded of them, and what is searched in their place."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import families, job_tables, jobs, standard_errors
from benchmarks.records import read
from benchmarks.sections import jobs as section_of_jobs
from benchmarks.tuning_jobs import JOBS

NAMES = ("tree, cancer", "SVM, wine")


@pytest.mark.parametrize("name", JOBS)
def test_a_job_scores_a_point_of_its_space_and_is_exact_unless_it_is_noisy(name: str) -> None:
    job = JOBS[name]
    params = job.space.decode(job.space.snap(np.full((1, job.space.dim), 0.4))[0])
    one, other = job.score(params, 1), job.score(params, 2)
    sign = 1.0 if job.direction == "maximize" else -1.0
    assert sign * one <= sign * job.best_possible
    assert (one == other) is not job.is_noisy


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("_BATCH", "_N_EVERYWHERE", "_N_AROUND"):
        monkeypatch.setattr(job_tables, name, 10)
    path = tmp_path / "jobs.jsonl.gz"
    job_tables.record(path, 20, NAMES)
    return path


def test_a_table_goes_on_where_it_was(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points, scores = job_tables.table("tree, cancer", recorded)
    assert points.shape == (20, 5)
    assert len(scores) == 20
    before = recorded.read_bytes()
    job_tables.record(recorded, 20, NAMES)
    assert recorded.read_bytes() == before
    job_tables.record(recorded, 30, NAMES)
    more, _ = job_tables.table("tree, cancer", recorded)
    assert np.array_equal(more[:20], points)
    assert len(more) == 30


def test_the_surrogate_knows_its_optimum_and_its_noise(recorded: Path) -> None:
    job, found = JOBS["tree, cancer"], job_tables.problem("tree, cancer", recorded)
    points, _ = job_tables.table("tree, cancer", recorded)
    values = [found.objective(job.space.decode(point)) for point in points]
    assert max(values) <= found.optimum <= 1.0
    rng = np.random.default_rng(0)
    assert job_tables.observed("SVM, wine", 0.7, rng, recorded) == 0.7  # which is exact
    assert len({job_tables.observed("tree, cancer", 0.9, rng, recorded) for _ in range(20)}) > 1


def test_noise_as_recorded_is_that_of_a_pair_as_good(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_tables, "_N_NEAR", 1)
    records = [each for each in read(recorded) if each["job"] == "tree, cancer"]
    a, b = np.array([pair for r in records for pair in zip(r["scores"], r["again"], strict=False)]).T
    worst = int(np.argmin(a + b))
    noise, most = abs(a - b)[worst] / np.sqrt(2.0), max(a[worst], b[worst])
    rng = np.random.default_rng(0)
    for value, above in ((0.1, 0.1 + noise), (most - noise / 2.0, most)):
        monkeypatch.setattr(job_tables, "_pairs", lambda *_: np.array([a, b])[:, [worst]])
        seen = {job_tables.observed("tree, cancer", value, rng, recorded) for _ in range(20)}
        assert sorted(seen) == pytest.approx(sorted({value - noise, above}))


def test_the_standard_error_is_that_of_the_folds_of_the_best_points(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "SVM, wine"
    monkeypatch.setattr(standard_errors, "JOBS", {name: JOBS[name]})
    monkeypatch.setattr(standard_errors, "table", lambda name: job_tables.table(name, recorded))
    monkeypatch.setattr(standard_errors, "_N_BEST", 1)
    path = tmp_path / "standard_errors.json"
    standard_errors.record(path)
    points, scores = job_tables.table(name, recorded)
    folds = JOBS[name].fold_scores(JOBS[name].space.decode(points[np.argmax(scores)]), 0)
    assert np.mean(folds) == pytest.approx(scores.max())
    # Five folds: √(1/5 + 1/4) times their deviation.
    assert json.loads(path.read_text()) == {name: pytest.approx(math.sqrt(0.45) * np.std(folds, ddof=1), rel=1e-3)}


@pytest.mark.parametrize(
    ("family", "name", "sampler"),
    [
        (families.SURROGATES, "SVM, wine", jobs.TPE),
        (families.BY_ERROR, "SVM, wine", jobs.OURS),
        (families.THEMSELVES, "SVM, wine", jobs.OURS),
        (families.TEXTBOOK, "Styblinski-Tang-4", jobs.OURS),
        (families.NOISY, "d = 2, noise ε", jobs.OURS),
    ],
)
def test_a_search_keeps_what_was_said_and_what_was_true(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, family: str, name: str, sampler: str
) -> None:
    monkeypatch.setattr(families, "problem", lambda name: job_tables.problem(name, recorded))
    searched_in = families.searched_in
    monkeypatch.setattr(families, "searched_in", lambda *args: replace(searched_in(*args), trials=31))
    record = jobs.run_search({"family": family, "problem": name, "sampler": sampler, "seed": 0})
    assert len(record["regrets"]) == len(record["values"]) == 31
    assert min(record["regrets"]) >= 0.0
    for rule, said in record["said"].items():
        last = said[-1][0]
        assert [n for n, *_ in said] == ([*range(10, last, 10), last] if rule == jobs.DEFAULT else [last])
        assert all(not stopped for _, _, stopped, *_ in said[:-1])
        _, bound, stopped, regret, *_ = said[-1]
        assert stopped or said[-1][0] == 31
        assert not stopped or bound < record["epsilon"]
        assert regret is None or regret in record["regrets"]
    assert len(record["terminator"]) == (4 if sampler == jobs.TPE else 0)
    assert (record["median_error"] is not None) is (sampler == jobs.TPE)


def record_of(values: list[float], **more: object) -> dict[str, Any]:
    """Return a record of a search of a draw, whose optimum is 1 and ε 0.1."""
    key = {"family": families.DRAWS, "problem": "priors, d = 2", "sampler": jobs.OURS, "seed": 0, "epsilon": 0.1}
    regrets = [1.0 - value for value in values]
    return key | {"values": values, "regrets": regrets, "said": {}, "terminator": [], "median_error": None} | more


def test_patience_counts_from_the_best_value_and_a_search_that_nothing_ends_has_all_evaluations() -> None:
    record = record_of([0.1, 0.95, 0.3, 0.2, 0.97, 0.1])
    assert section_of_jobs.patience(record, 2) == section_of_jobs.End(4, pytest.approx(0.5), True)
    assert section_of_jobs.patience(record, 3) == section_of_jobs.End(6, pytest.approx(0.3), False)
    assert section_of_jobs.budget(record) == section_of_jobs.End(6, pytest.approx(0.3), False)


def test_a_rule_ends_a_search_where_it_first_said_so() -> None:
    values = [0.1, 0.5, 0.95, 0.3]
    stopped = {jobs.DEFAULT: [[2, 0.3, False, 0.5], [3, 0.09, True, 0.05]]}
    end = section_of_jobs.by_certificate(record_of(values, said=stopped), jobs.DEFAULT)
    assert end == section_of_jobs.End(3, pytest.approx(0.5), True)
    open_ = {jobs.DEFAULT: [[4, 0.3, False, 0.05]]}
    assert section_of_jobs.by_certificate(record_of(values, said=open_), jobs.DEFAULT) == section_of_jobs.End(
        4, pytest.approx(0.5), False
    )
    assert section_of_jobs.by_certificate(record_of(values), jobs.DEFAULT) is None
    asked = record_of(values, terminator=[[2, 0.3], [3, 0.05], [4, 0.01]])
    assert section_of_jobs.terminator(asked, 0.1) == section_of_jobs.End(3, pytest.approx(0.5), True)
    assert section_of_jobs.terminator(asked, 0.001) == section_of_jobs.End(4, pytest.approx(0.5), False)
    assert section_of_jobs.terminator(asked, None) is None


def test_false_stops_and_searches_without_a_stop_are_counted() -> None:
    said = [{jobs.DEFAULT: [[3, bound, bound < 0.1, regret]]} for bound, regret in ((0.05, 0.3), (0.05, 0.05), (1, 0))]
    ends = section_of_jobs.ended([record_of([0.1, 0.5, 0.9], said=each, seed=i) for i, each in enumerate(said)])
    row = ends[ends["problem"].eq("all") & ends["rule"].eq("certificate (default)")].iloc[0]
    assert (row["searches"], row["stopped"], row["false"], row["median evaluations"]) == (3, 2, 1, 3.0)

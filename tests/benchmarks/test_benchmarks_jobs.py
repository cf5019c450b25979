"""Real tuning jobs: what is recorded of them, and what is searched in their place."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import job_tables, jobs
from benchmarks.records import read
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
    assert job_tables.relative_noise("SVM, wine", recorded) == 0.0
    rng = np.random.default_rng(0)
    seen = [job_tables.observed("tree, cancer", 0.9, rng, recorded) for _ in range(500)]
    expected = job_tables.relative_noise("tree, cancer", recorded) * np.sqrt(0.1)
    assert np.std(seen) == pytest.approx(expected, rel=0.15)
    assert max(seen) <= 1.0


def test_noise_as_recorded_is_that_of_a_pair_as_good(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_tables, "_N_NEAR", 1)
    records = [each for each in read(recorded) if each["job"] == "tree, cancer"]
    a, b = np.array([pair for r in records for pair in zip(r["scores"], r["again"], strict=False)]).T
    worst = int(np.argmin(a + b))
    noise, most = abs(a - b)[worst] / np.sqrt(2.0), max(a[worst], b[worst])
    rng = np.random.default_rng(0)
    for value, above in ((0.1, 0.1 + noise), (most - noise / 2.0, most)):
        monkeypatch.setattr(job_tables, "_pairs", lambda *_: np.array([a, b])[:, [worst]])
        seen = {job_tables.observed_as_recorded("tree, cancer", value, rng, recorded) for _ in range(20)}
        assert sorted(seen) == pytest.approx(sorted({value - noise, above}))


def test_a_search_keeps_what_was_said_and_what_was_true(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "problem", lambda name: job_tables.problem(name, recorded))
    monkeypatch.setattr(jobs, "observed", lambda *args: job_tables.observed(*args, recorded))
    monkeypatch.setattr(jobs, "_TRIALS", 12)
    record = jobs.run_search({"job": "SVM, wine", "sampler": "random", "seed": 0})
    assert len(record["regrets"]) == len(record["values"]) <= 12
    for said in record["said"].values():
        n, bound, _, _, _, _, regret = said[-1]
        assert n <= 12
        assert bound is None or bound >= 0.0
        assert regret is None or regret >= 0.0

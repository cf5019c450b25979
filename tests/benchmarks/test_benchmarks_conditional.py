"""The benchmark of conditional studies, on small tables and short searches."""

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from benchmarks import conditional, conditional_tables, job_tables, records
from benchmarks.conditional_jobs import CONDITIONAL_JOBS
from benchmarks.sections import conditional as section


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "conditional.jsonl.gz"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_BATCH", "_N_EVERYWHERE", "_N_AROUND"):
            patch.setattr(job_tables, name, 20)
        patch.setattr(conditional_tables, "_N_GRID", 11)
        patch.setattr(conditional_tables, "_N_AGAIN", 2)
        conditional_tables.record(path, 40)
        before = path.read_bytes()
        conditional_tables.record(path, 40)
        assert path.read_bytes() == before
        for name in conditional_tables.NAMES:
            conditional_tables.searched_in(name, path)  # cached with the small sizes
    return path


@pytest.mark.parametrize("name", CONDITIONAL_JOBS)
def test_a_job_scores_every_branch(name: str) -> None:
    space = CONDITIONAL_JOBS[name].space
    for branch in space.branches:
        params = space.decode((branch.low + branch.high) / 2.0)
        assert 0.0 <= CONDITIONAL_JOBS[name].score(params, 0) <= 1.0


def test_a_table_has_points_of_every_branch_and_trees_know_them(tables: Path) -> None:
    for name, job in CONDITIONAL_JOBS.items():
        points, scores = job_tables.table(name, tables)
        assert len(points) == 40
        assert np.allclose(job.space.snap(points), points, atol=1e-8)  # kept in eight digits
        assert set(job.space.branch_of(points)) == set(range(len(job.space.branches)))
        searched = conditional_tables.searched_in(name, tables)
        rng = np.random.default_rng(0)
        values = np.array([searched.evaluate(job.space.decode(point), rng)[0] for point in points])
        assert values.max() <= searched.optimum <= 1.0
        assert np.corrcoef(values, scores)[0, 1] > 0.5  # leaves of five points


def test_the_example_is_looked_up(tables: Path) -> None:
    svc, forest = conditional_tables.example_table(tables)
    assert svc.shape == (11,)
    assert forest.shape == (31, 2)
    searched = conditional_tables.searched_in(conditional_tables.CLASSIFIER, tables)
    rng = np.random.default_rng(0)
    for i, exponent in enumerate(range(-10, 11, 2)):
        params = {"classifier": "SVC", "svc_c": 10.0**exponent}
        assert searched.evaluate(params, rng) == (svc[i], svc[i])
    params = {"classifier": "RandomForest", "rf_max_depth": 4}
    true, score = searched.evaluate(params, rng)
    assert true == forest[2].mean()
    assert score in forest[2]
    assert searched.optimum == max(svc.max(), forest.mean(axis=1).max())


@pytest.mark.parametrize("name", conditional_tables.NAMES)
def test_an_objective_asks_for_what_its_branch_has(name: str, tables: Path) -> None:
    space = conditional_tables.searched_in(name, tables).space
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(10):
        params = conditional.suggested(study.ask(), space)
        assert space.decode(space.encode(params)).keys() == params.keys()


@pytest.mark.parametrize("sampler", conditional.SAMPLERS)
def test_a_search_keeps_what_was_certified_and_goes_on(
    sampler: str, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditional, "TRIALS", 12)
    monkeypatch.setattr(conditional, "COMPARED", 14)
    key = {"study": "classifier", "sampler": sampler, "seed": 0}
    record = conditional.run_search(key, tables)
    assert record == conditional.run_search(key, tables) | {"cpu_s": record["cpu_s"]}
    assert len(record["regrets"]) == len(record["values"]) == len(record["branches"]) == 14
    assert min(record["regrets"]) >= 0.0
    if sampler in conditional.CERTIFIED:
        assert len(record["bounds"]) == record["last"]["n"] <= 12
        trial = record["last"]["trial"]
        assert record["last"]["regret"] == (None if trial is None else record["regrets"][trial])
    else:
        assert record["last"] is None


def searched(sampler: str, seed: int, regrets: list[float], stop: tuple[int, float] | None = None) -> dict[str, Any]:
    last: dict[str, Any] | None = None
    if sampler in conditional.CERTIFIED:
        n, regret = stop or (100, None)
        last = {"stop": stop is not None, "n": n, "regret": regret, "noise_std": 0.001}
        last |= {"bound": 0.005 if stop else None, "reason": "", "terms": {}}
    values = [1.0 - regret for regret in regrets]
    key = {"study": "classifier", "sampler": sampler, "seed": seed}
    same = {"epsilon": 0.01, "branches": [0] * len(regrets), "ran_on": "Optuna 5, a machine", "cpu_s": 1.0}
    return key | same | {"regrets": regrets, "values": values, "last": last}


def test_the_section_by_hand(tmp_path: Path) -> None:
    """Ours stops rightly, falsely and never; of the two pairs with TPE it is better once, and equal once."""
    assert section.section(tmp_path) is None
    for one in (
        searched("regretstop", 0, [0.5] + [0.0] * 59, (20, 0.0)),
        searched("regretstop", 1, [0.5] + [0.2] * 59, (30, 0.2)),
        searched("regretstop", 2, [0.5] * 59 + [0.1] + [0.0] * 40),
        searched("TPE", 0, [0.1] * 60, (60, 0.005)),
        searched("TPE", 1, [0.2] * 60),
    ):
        records.append(tmp_path / conditional.PATH.name, one)
    found = section.section(tmp_path)
    assert found is not None
    stops, quality = (
        table[table["study"].eq("classifier")].set_index("sampler")
        for table in (found.tables["conditional"], found.tables["conditional-quality"])
    )
    assert stops.loc["regretstop", ["searches", "stopped", "false"]].tolist() == [3, 2, 1]
    assert stops.loc["regretstop", "median evaluations"] == 30.0
    assert stops.loc["regretstop", "largest false regret"] == 0.2
    assert stops.loc["TPE", "false"] == 0
    assert quality.loc["regretstop", "median regret"] == pytest.approx(0.1)  # that after 60, not the last
    assert quality.loc["TPE", ["better", "equal", "worse"]].tolist() == [1, 1, 0]
    assert "1 of 2" in found.result

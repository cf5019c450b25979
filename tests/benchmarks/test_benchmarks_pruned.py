"""The benchmark of pruned trials: curves, what is imputed, and a study of a few trials."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import curve_jobs, job_tables, pruned, records, report
from benchmarks.imputed import PartlyImputed, chain, last_value, nothing, optimistic, regression
from benchmarks.sections import pruned as section
from regretstop import GPUCB, Float, GaussianProcess, Observation, OptimalityGap, Space


@pytest.mark.parametrize("name", curve_jobs.JOBS)
def test_a_curve_has_a_score_after_each_step(name: str) -> None:
    job = curve_jobs.JOBS[name]
    params = job.space.decode(job.space.snap(np.full((1, job.space.dim), 0.5))[0])
    curve = job.run(params)
    assert curve.shape == (curve_jobs.N_STEPS,)
    sign = 1.0 if job.direction == "maximize" else -1.0
    assert np.all(sign * curve <= sign * job.best_possible)


def test_tables_go_on_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_jobs, "_BATCH", 5)
    for name in ("_N_EVERYWHERE", "_N_AROUND"):
        monkeypatch.setattr(job_tables, name, 10)
    monkeypatch.setattr(curve_jobs, "JOBS", {"boosting, diabetes": curve_jobs.JOBS["boosting, diabetes"]})
    path = tmp_path / "curves.jsonl.gz"
    curve_jobs.record(path, 5)
    points, curves = curve_jobs.table("boosting, diabetes", path)
    assert (points.shape, curves.shape) == ((5, 4), (5, curve_jobs.N_STEPS))
    curve_jobs.record(path, 10)
    more, _ = curve_jobs.table("boosting, diabetes", path)
    assert len(more) == 10
    assert np.array_equal(more[:5], points)
    job = curve_jobs.curves_of("boosting, diabetes", 0, path)
    assert all(job.curve(job.space.decode(point))[-1] >= job.optimum for point in more)


@pytest.mark.parametrize("name", [curve_jobs.DRAWN, curve_jobs.SLOW])
def test_a_drawn_curve_ends_at_its_draw(name: str) -> None:
    job = curve_jobs.curves_of(name, 3)
    ends = [job.curve({"x0": x, "x1": 0.3, "x2": 0.8})[[0, -1]] for x in np.linspace(0, 1, 5)]
    assert all(first < last <= job.optimum for first, last in ends)


def test_what_is_imputed() -> None:
    """Curves that rise by the same: nothing is unknown. With one that rises by more, the deviation says so."""
    base = np.linspace(0.0, 1.0, 4)
    curves = [base + shift for shift in (0.0, 0.1, 0.3, 0.4, 0.9)]
    shown = base[:1] - 0.5
    trials = [*curves, shown]
    for way in (regression, chain):
        assert way(shown, trials) == pytest.approx((0.5, 0.0), abs=1e-12)
    assert optimistic(shown, trials) == pytest.approx((0.5, 0.0))
    assert optimistic(base[:1] + 2.0, trials) is None  # it would be better than the best
    assert last_value(shown, trials) == (-0.5, 0.0)
    assert nothing(shown, trials) is None
    assert regression(shown, curves[1:]) is None
    value, deviation = regression(shown, [*curves, base * 2.0]) or (0.0, 0.0)
    x, y = np.array([c[0] for c in [*curves, base * 2.0]]), np.array([c[-1] for c in [*curves, base * 2.0]])
    slope, start = np.polyfit(x, y, 1)
    assert value == pytest.approx(start - 0.5 * slope)
    residual = np.sqrt(np.sum((y - start - slope * x) ** 2) / 4)
    assert deviation > residual


def test_a_chain_uses_trials_that_were_pruned_later() -> None:
    curves = [np.array([shift, 1.0 + shift, 2.0, 3.0]) for shift in (0.0, 0.1, 0.2, 0.3, 0.4)]
    later = [np.array([-1.0, -5.0])] * 20
    alone, among = (chain(np.array([-1.0]), [*curves, *more]) for more in ((), later))
    assert alone is not None
    assert among is not None
    assert among[1] > alone[1]


def _told(surrogate: GaussianProcess, n: int, imputed: float | None) -> GPUCB:
    model = GPUCB(Space({"x": Float(0, 1)}), surrogate=surrogate, best_possible=2.0, seed=0)
    points = np.linspace(0.0, 0.7, n)
    history = [Observation({"x": x}, float(np.sin(5 * x)), i) for i, x in enumerate(points)]
    if imputed is not None:
        history.append(Observation({"x": 0.95}, imputed, n, feasible=False))
    model.replace_history(history)
    return model


def test_an_imputed_value_with_its_deviation_lies_between_none_and_an_observed_one() -> None:
    stds: list[float] = []
    for deviation in (None, 1e3, 0.3, 1e-6):
        surrogate = PartlyImputed()
        value = float(np.sin(5 * 0.95))
        if deviation is not None:
            surrogate.imputed = {np.array([0.95]).tobytes(): (value, deviation)}
        model = _told(surrogate, 8, None if deviation is None else value)
        (posterior,) = model.snapshot().model.posteriors
        stds.append(float(posterior.mean_std(np.array([[0.95]]))[1][0]))
        certificate = model.certificate(OptimalityGap(epsilon=0.1))
        assert certificate.incumbent != 8
    assert stds[1] == pytest.approx(stds[0], rel=1e-3)
    assert stds[0] > stds[2] > stds[3]


def test_hyperparameters_are_those_of_the_completed_trials() -> None:
    surrogate = PartlyImputed()
    surrogate.imputed = {np.array([0.95]).tobytes(): (-50.0, 1.0)}
    with_it, without = (
        _told(each, 8, value).snapshot().model.posteriors[0]
        for each, value in ((surrogate, -50.0), (PartlyImputed(), None))
    )
    assert np.array_equal(with_it.lengthscales, without.lengthscales)
    assert (with_it.prior_std, with_it.noise_std) == (without.prior_std, without.noise_std)


def test_a_study_keeps_what_each_model_said() -> None:
    key = {"job": curve_jobs.DRAWN, "sampler": "TPE", "pruner": "median", "seed": 0, "trials": 24}
    record = pruned.run_study(key)
    assert json.loads(json.dumps(record)) == record
    assert record == pruned.run_study(key) | {"cpu_s": record["cpu_s"]}
    n = len(record["steps"])
    assert n <= 24
    assert min(record["steps"]) < curve_jobs.N_STEPS
    for said in record["said"].values():
        for at, bound, regret, _ in said:
            assert at <= n
            assert bound is None or bound > 0.0
            assert regret in [r for r, s in zip(record["regrets"], record["steps"], strict=True) if s == 27]
    assert all(len(row) == 7 and row[0] < curve_jobs.N_STEPS for row in record["imputed"])


def test_the_section_by_hand(tmp_path: Path) -> None:
    assert section.section(tmp_path) is None

    def record(pruner: str, said: dict[str, list[list[float | None]]]) -> dict[str, object]:
        return {
            "job": "a job",
            "sampler": "TPE",
            "pruner": pruner,
            "seed": 0,
            "trials": 90,
            "epsilon": 0.1,
            "steps": [27, 9, 27],
            "said": said,
            "best": 0.5,
            "imputed": [[9, 0.4, 1.0, 0.2, None, None, 0]] if pruner == "median" else [],
        }

    said: dict[str, list[list[float | None]]] = {name: [[3, None, 0.0, None]] for name in pruned.ORDINARY}
    said |= {name: [[2, 0.2, 0.5, 0.1], [3, 0.05, 0.5, 0.0]] for name in pruned.NOISY}
    for each in (record(pruned.NO_PRUNER, {pruned.NOTHING: [[2, 0.05, 0.0, 0.0]]}), record("median", said)):
        records.append(tmp_path / pruned.PATH.name, each)
    found = section.section(tmp_path)
    assert found is not None
    stops = found.tables["pruned"].set_index("told")
    assert stops.loc["no trial pruned", "median steps"] == 36
    assert stops.loc[pruned.MAIN, ["stopped", "false", "median steps"]].tolist() == [1, 1, 63]
    assert stops.loc[pruned.NOTHING, "stopped"] == 0
    (off,) = found.tables["pruned-imputed"].to_dict("records")
    assert off["mean"] == pytest.approx(3.0)
    assert (off["excluded"], off["wrong"]) == (1, 1)
    assert "a job, TPE 1/1, 0/1, 1/1" in found.found[0]
    # A stop after 63 steps is one before the 63 steps of a study without one, and later than one after 36.
    assert "a regression against nothing 1 and 0 of 1, against no trial pruned 0 and 1 of 1" in found.found[1]
    texts = report.texts([found])["RESULTS.md"]
    assert "1/1, 1, 63" in texts

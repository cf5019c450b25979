"""The coverage benchmark: its draws are those it speaks of, its counts can fail, and its report says what they are."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks import coverage, records
from benchmarks.draws import cube_draw, lattice_draw
from benchmarks.sections import coverage as section
from regretstop import GPUCB, GaussianProcess, Matern52


def test_draws_stay_below_their_maximum_and_have_unit_variance() -> None:
    values: list[float] = []
    for seed in range(30):
        lattice = lattice_draw(21, np.array([0.2]), np.random.default_rng(seed))
        cube = cube_draw(np.array([0.2]), np.random.default_rng(seed))
        for draw, grid in ((lattice, range(21)), (cube, np.linspace(0.0, 1.0, 21))):
            along = [draw.objective({"x0": x}) for x in grid]
            assert max(along) <= draw.find_maximum() + 1e-9
            assert draw.spread == pytest.approx(np.std(along), rel=0.15)
            values += along
    assert 0.7 < np.var(values) < 1.4


@pytest.mark.parametrize(
    "lengthscales", [[0.2], pytest.param([0.12, 0.42], marks=pytest.mark.slow), [2.0, 2.0, 2.0, 2.0]]
)
def test_four_times_the_effort_finds_no_higher_maximum(lengthscales: list[float]) -> None:
    for seed in range(2):
        once = cube_draw(np.array(lengthscales), np.random.default_rng(seed))
        again = cube_draw(np.array(lengthscales), np.random.default_rng(seed), effort=2)
        assert once.find_maximum() == pytest.approx(again.find_maximum(), abs=1e-9)


def test_draws_for_an_unknown_kernel_are_weighed_by_the_prior_of_their_scale() -> None:
    """Against importance weights: E w(g) log spread(g) / E w(g), with s = 1 / spread standard log-normal."""
    rng = np.random.default_rng(0)
    spreads = [lattice_draw(51, np.array([0.5 * math.exp(rng.standard_normal())]), rng).spread for _ in range(2000)]
    logs = np.log(spreads)
    weights = np.exp(-0.5 * logs**2)
    expected = float(weights @ logs / weights.sum())
    drawn = [coverage.objective_of("unknown", "finite", 1, number) for number in range(600)]
    kept = np.log([draw.spread for draw, _, _ in drawn])
    error = math.hypot(np.std(kept) / math.sqrt(len(kept)), np.std(logs) / math.sqrt(len(logs)))
    assert abs(np.mean(kept) - expected) < 3.0 * error
    assert abs(np.mean(kept) - np.mean(logs)) > 3.0 * error  # without the weights it would be seen

    noise = np.array([noise_std / draw.spread for draw, _, noise_std in drawn])
    assert np.all((noise >= 1e-4) & (noise <= 0.1))
    # Of LogNormal(−4, 2) below 0.1 the median is at Φ⁻¹(Φ(0.8487) / 2) = −0.2535 deviations.
    assert binomtest(int(np.sum(np.log(noise) < -4.0 - 0.2535 * 2.0)), len(noise), 0.5).pvalue > 1e-3


def test_a_lengthscale_ten_times_too_long_fails() -> None:
    """The negative control: the same count, where the declared kernel is not that of the draws."""
    false = {0.2: 0, 2.0: 0}
    for lengthscale in false:
        for number in range(30):
            draw, _, noise_std = coverage.objective_of("known", "finite", 1, number)
            noise = np.random.default_rng(number).normal(0.0, noise_std, 25)
            kernel = Matern52([lengthscale], 1.0)
            known = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=noise_std)
            model = GPUCB(draw.space, beta="matched", surrogate=known, seed=number)
            tallies, _ = coverage.follow(draw, noise, {"fixed": model}, range(3, 26))
            tally = tallies["fixed"]["OptimalityGap"]
            false[lengthscale] += tally.regret is not None and tally.regret > coverage.EPSILON
    assert binomtest(false[0.2], 30, coverage.DELTA, alternative="greater").pvalue > 0.05
    assert binomtest(false[2.0], 30, coverage.DELTA, alternative="greater").pvalue < 1e-3


def test_a_path_under_an_unknown_kernel_tests_both_treatments_on_the_same_data() -> None:
    key = {"kernel": "unknown", "space": "finite", "dim": 1, "beta": "theory", "draw": 3, "trials": 20}
    record = coverage.run_path(key)
    assert record.items() >= key.items()
    assert list(record["rules"]) == ["map", "posterior"]
    for tallies in record["rules"].values():
        gap, ucb = tallies["OptimalityGap"], tallies["UCBbr"]
        assert gap["stop"] in coverage.TESTS["unknown"]
        assert ucb["stop"] is None or ucb["stop"] >= gap["stop"]
        assert gap["tests"] == coverage.TESTS["unknown"].index(gap["stop"]) + 1


def test_ucbbr_does_not_stop_where_it_is_not_asked() -> None:
    for number in range(10):
        draw, lengthscales, noise_std = coverage.objective_of("known", "finite", 2, number)
        noise = np.random.default_rng(number).normal(0.0, noise_std, 30)
        kernel = Matern52(lengthscales.tolist(), 1.0)
        known = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=noise_std)
        model = GPUCB(draw.space, beta="theory", surrogate=known, seed=number)
        for error in noise:
            params = model.ask()
            model.tell(params, draw.objective(params) + error)
            certificate = model.certificate(coverage.UCBbr(coverage.EPSILON, coverage.DELTA))
            assert not (certificate.stop and certificate.optimality_gap >= coverage.EPSILON)


@pytest.mark.slow
def test_a_run_with_two_processes_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "TRIALS", {1: 6})
    monkeypatch.setattr(coverage, "KERNELS", ("known",))
    path = tmp_path / "coverage.jsonl.gz"
    coverage.run(1, 2, path)
    first = records.read(path)
    coverage.run(2, 1, path)
    done = records.read(path)
    assert done[: len(first)] == first
    assert sorted((r["space"], r["beta"], r["draw"]) for r in done) == sorted(
        (space, beta, draw) for space in coverage.SPACES for beta in coverage.BETAS for draw in (0, 1)
    )
    # Another process comes to the same result.
    alone = coverage.run_path({name: done[0][name] for name in ("kernel", "space", "dim", "beta", "draw", "trials")})
    assert all(alone[name] == done[0][name] for name in alone if name != "cpu_s")


def test_the_cells_above_the_risk_are_counted(tmp_path: Path) -> None:
    """With 12 of 100 the exact interval is 6.4–20.0 %, all above δ = 5 %; with none of 100 it ends at 3.6 %."""

    def record(beta: str, draw: int, regret: float) -> dict[str, Any]:
        tally = {"tests": 1, "violated": int(regret > 0.1), "stop": 8, "regret": regret}
        return {
            "kernel": "unknown",
            "space": "finite",
            "dim": 1,
            "beta": beta,
            "draw": draw,
            "rules": {"map": {"UCBbr": tally}},
            "version": "0",
            "source": "f",
        }

    for beta in ("matched", "theory"):
        for i in range(100):
            records.append(
                tmp_path / "coverage.jsonl.gz", record(beta, i, 0.2 if beta == "matched" and i < 12 else 0.0)
            )
    found = section.section(tmp_path)
    assert found is not None
    assert found.shown.to_dict("records") == [
        {
            "hyperparameters": "mode",
            "runs": "200",
            "certificates": "200",
            "false": 12,
            "false: cells above δ beyond chance": "1 of 2",
            "bound too small: cells above δ beyond chance": "1 of 2",
            "which": "finite d = 1",
        }
    ]
    cells = found.tables["coverage"].set_index("beta")
    assert list(cells.index) == ["theory", "matched"]
    assert list(cells["false"]) == list(cells["too small"]) == [0, 12]
    assert cells.loc["matched", ["false from %", "false to %"]].tolist() == pytest.approx([6.36, 20.02], abs=0.01)
    assert cells.loc["theory", "false to %"] == pytest.approx(3.62, abs=0.01)
    assert list(cells["median evaluations"]) == [8.0, 8.0]
    assert "12 of 200 were false at the mode" in found.result

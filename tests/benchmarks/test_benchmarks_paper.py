"""The benchmark of the paper's tables, ablations and times: on the smallest sizes, and definitions by hand."""

import gzip
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats.qmc import Sobol

from benchmarks import ablations, paper, paper_data, records, runtime
from benchmarks.draws import cube_draw
from benchmarks.outcomes import NOSTOP, ORACLE, counted, outcomes
from benchmarks.paper_problems import CNN, NOISES, ROWS, problem_of
from benchmarks.paths import KERNELS, Moments, run_path
from benchmarks.sections import draws, times
from benchmarks.sections import paper as section
from regretstop import Kernel, Matern52, SquaredExponential

_DRAWS = [name for name, row in ROWS.items() if row.noise is not None]


def _key(name: str, kernel: str = "Matérn-5/2", seed: int = 0) -> dict[str, Any]:
    return {"problem": name, "kernel": kernel, "seed": seed}


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if name != CNN and not row.known])
def test_no_point_beats_the_optimum_of_a_row(name: str, kernel: str) -> None:
    problem = problem_of(_key(name, kernel))
    sign = 1.0 if problem.direction == "maximize" else -1.0
    points = Sobol(problem.space.dim, rng=np.random.default_rng(1)).random_base2(11)
    best = max(sign * problem.objective(problem.space.decode(x)) for x in points)
    assert best <= sign * problem.optimum + 1e-6


def test_the_optimum_of_the_functions_is_attained() -> None:
    branin, rosenbrock, levy = (problem_of(_key(name)) for name in ("Branin", "Rosenbrock-4", "Levy-4"))
    assert branin.objective({"x0": math.pi, "x1": 2.275}) == pytest.approx(branin.optimum, abs=1e-6)
    ones = {f"x{j}": 1.0 for j in range(4)}
    assert rosenbrock.objective(ones) == rosenbrock.optimum
    assert levy.objective(ones) == pytest.approx(levy.optimum, abs=1e-12)


@pytest.mark.parametrize("name", _DRAWS)
def test_the_noise_is_that_of_the_row(name: str) -> None:
    problem = problem_of(_key(name))
    rng = np.random.default_rng(0)
    found = float(np.std([problem.noise(rng) for _ in range(4000)]))
    # Four deviations of the estimate.
    assert found == pytest.approx(NOISES[str(ROWS[name].noise)], rel=4 / math.sqrt(2 * 4000))


def test_a_draw_depends_on_seed_noise_and_kernel_and_not_on_what_is_known() -> None:
    known, unknown = problem_of(_key("GP-known 3e-3, d = 2")), problem_of(_key("GP 3e-3, d = 2"))
    assert known.optimum == unknown.optimum
    assert (unknown.declared, known.declared["noise_std"]) == ({}, 3e-3)
    assert known.declared["kernel"] == KERNELS["Matérn-5/2"]([0.33, 0.33], 1.0)
    others = [
        problem_of(_key("GP 3e-3, d = 2", seed=1)),
        problem_of(_key("GP 5e-3, d = 2")),
        problem_of(_key("GP 3e-3, d = 2", "SE")),
    ]
    assert len({known.optimum, *(other.optimum for other in others)}) == 4


@pytest.mark.parametrize("kernel", [Matern52, SquaredExponential])
def test_draws_are_as_steep_as_their_kernel_says(kernel: type[Kernel]) -> None:
    # E (∂f/∂x)² = curvature / ℓ²: 5/3 and 1. 800 slopes two lengthscales apart have a deviation of about √(2 / 800).
    lengthscale, step = 0.05, 5e-4
    squares: list[float] = []
    for seed in range(8):
        draw = cube_draw(np.full(2, lengthscale), np.random.default_rng(seed), kernel=kernel)
        for x, y in itertools.product(np.linspace(0.02, 0.92, 10), repeat=2):
            rise = draw.objective({"x0": x + step, "x1": y}) - draw.objective({"x0": x, "x1": y})
            squares.append((rise * lengthscale / step) ** 2)
    assert float(np.mean(squares)) == pytest.approx(kernel.curvature, rel=4 * math.sqrt(2 / 800))


def test_every_cell_of_the_paper_has_a_row_and_a_rule_here() -> None:
    for kernel in KERNELS:
        found = paper_data.results(kernel)
        assert {row for row, _ in found} == {name for name, row in ROWS.items() if row.paper}
        assert {rule for _, rule in found} == {*paper_data.RULES.values()}
        assert len(found) == 12 * 7
    for ablation, settings in (("B", {"B=1", "B=2", "B=5"}), ("delta", {"delta=0.01", "delta=0.05", "delta=0.2"})):
        cells = paper_data.ablation(ablation)
        assert {row for row, _ in cells} == set(ablations.NAMES)
        assert {setting for _, setting in cells} == settings
    assert paper_data.results("SE")["Branin", "UCBbr"] == paper_data.Cell(47.2, 0.78, 1.8682)
    assert paper_data.results("Matérn-5/2")["GP-known 5e-3, d = 6", "DeltaCB"] == paper_data.Cell(45.0, 1.0, 0.00909)


def test_rules_are_asked_often_at_first() -> None:
    moments = Moments(first=5, each_until=7)
    assert moments.up_to(17) == [5, 6, 7, 8, 12, 16]
    assert [n for n in moments.up_to(17) if moments.include_prb(n)] == [5, 6, 7, 8, 16]
    assert Moments().up_to(17) == [8, 12, 16]


def test_every_beginning_of_a_run_is_balanced() -> None:
    keys = paper.keys_of(3, list(ROWS), ["√β = 2", "matched"])
    assert [key["seed"] for key in keys] == sorted(key["seed"] for key in keys)
    of_a_seed = [key for key in keys if key["seed"] == 0]
    assert 3 * len(of_a_seed) == len(keys)
    known = sum(row.known for row in ROWS.values())
    assert len(of_a_seed) == 2 * 2 * (known + 2 * (len(ROWS) - known))
    # The treatments of one path follow each other, so that it is followed once.
    paths = [tuple(v for k, v in key.items() if k != "treatment") for key in keys]
    assert len(set(paths)) == 1 + sum(a != b for a, b in itertools.pairwise(paths))
    at_the_mode = paper.keys_of(3, list(ROWS), ["√β = 2", "matched"], unknown=("map",))
    assert at_the_mode == [key for key in keys if key["treatment"] != "posterior"]


def _record(regrets: list[float], bounds: list[float | None], named: list[float | None], **key: Any) -> dict[str, Any]:
    """Return a record of a path on which UCBbr was asked at every second evaluation."""
    return {
        "problem": "Branin",
        "kernel": "SE",
        "sampler": "√β = 2",
        "treatment": "map",
        "seed": 0,
        "trials": len(regrets),
        "epsilons": [0.1],
        "regrets": regrets,
        "tests": list(range(2, len(regrets) + 1, 2)),
        "rules": {"UCBbr": {"bounds": bounds, "regrets": named}},
        "cpu_s": 1.0,
        "version": "0",
        "source": "0",
    } | key


# It names a bad trial while a good one is there; it stops too early; it never stops, with and without a good one.
_MISTOLD = _record([1.0, 0.05, 2.0, 0.02], [0.3, 0.09], [1.0, 1.0])
_EARLY = _record([1.0, 0.5, 2.0, 0.02], [0.09, 0.01], [0.5, 0.02], seed=1)
_NEVER = _record([1.0, 0.5, 0.08, 2.0], [None, 0.1], [None, 0.08], seed=2)
_HOPELESS = _record([1.0, 0.5, 0.4, 2.0], [None, None], [None, None], seed=3)


def test_success_and_false_stops_by_hand() -> None:
    found = outcomes([_MISTOLD, _EARLY, _NEVER, _HOPELESS], ["UCBbr"])
    assert found["stop"].tolist() == [4, 2, math.inf, math.inf]
    assert found["end"].tolist() == [4, 2, 4, 4]
    assert found["best"].tolist() == [0.02, 0.5, 0.08, 0.4]
    assert found["success"].tolist() == [True, False, True, False]
    assert found["false"].tolist() == [True, True, False, False]
    (row,) = counted(found, ["rule"]).to_dict("records")
    assert (row["searches"], row["stopped"], row["false"], row["success %"]) == (4, 2, 2, 50.0)
    assert (row["mean stop"], row["median stop"], row["named regret"]) == (3.5, math.inf, 0.75)
    assert (row["false from %"], row["false to %"]) == pytest.approx((15.0, 85.0), abs=0.01)
    assert row["regret"] == pytest.approx(0.25)
    assert counted(found[:3], ["rule"])["median stop"].tolist() == [4.0]
    assert counted(found[2:], ["rule"])["named regret"].isna().all()


def test_groups_are_counted_apart_in_their_order() -> None:
    found = outcomes([_NEVER, _MISTOLD | {"problem": "A"}, _EARLY], ["UCBbr"])
    counts = counted(found, ["problem", "rule"])
    assert counts["problem"].tolist() == ["Branin", "A"]
    assert counts[["searches", "stopped", "false"]].values.tolist() == [[2, 1, 1], [1, 1, 1]]
    assert counts["mean stop"].tolist() == [3.0, 4.0]


def test_the_references_by_hand() -> None:
    found = outcomes([_MISTOLD, _HOPELESS, _EARLY], [ORACLE, NOSTOP])
    oracle, nostop = found[found["rule"].eq(ORACLE)], found[found["rule"].eq(NOSTOP)]
    assert oracle["stop"].tolist() == [2, math.inf, 4]
    assert oracle["named"].tolist()[0] == 0.05
    assert oracle["success"].tolist() == [True, False, True]
    assert nostop["end"].tolist() == [4, 4, 4]
    assert nostop["best"].tolist() == [0.02, 0.4, 0.02]


def test_answers_without_the_model_check_count_where_they_differ() -> None:
    record = _NEVER | {"rules without check": {"UCBbr": {"bounds": [0.01, 0.01], "regrets": [0.5, 0.08]}}}
    assert outcomes([record], ["UCBbr"])["stop"].tolist() == [math.inf]
    unchecked = outcomes([record], ["UCBbr"], "without")
    assert (unchecked["stop"].tolist(), unchecked["false"].tolist()) == ([2], [True])
    assert outcomes([_NEVER], ["UCBbr"], "without")["stop"].tolist() == [math.inf]


def test_a_rule_may_be_told_to_wait() -> None:
    assert outcomes([_EARLY], ["UCBbr"], least=3)["stop"].tolist() == [4]


def test_the_section_counts_whatever_is_there(tmp_path: Path) -> None:
    assert section.section(tmp_path) is None
    path = tmp_path / "paper.jsonl.gz"
    for record in (_MISTOLD, _EARLY, _NEVER, _HOPELESS):
        records.append(path, record)
    # A shortened path does not count beside longer ones, and it is said.
    records.append(path, _record([0.0, 0.0], [0.0], [0.0], seed=4))
    found = section.section(tmp_path)
    assert found is not None
    assert found.found[0].startswith("1 records of shortened searches are left out")
    (row,) = found.shown[found.shown["rule"].eq("UCBbr")].to_dict("records")
    assert row["paper: stop (success)"] == "47.2 (78 %)"
    assert row["as the paper: stop (success)"] == "3.5 (50 %)"
    assert row["as the paper: false"] == "50 %"
    counts = found.tables["paper"]
    (row,) = counts[counts["rule"].eq("UCBbr") & counts["check"].eq("without")].to_dict("records")
    assert (row["searches"], row["stopped"], row["false"], row["median stop"]) == (4, 2, 2, math.inf)
    assert (row["paper's stop"], row["paper's success %"]) == (47.2, 78.0)


def test_the_gap_over_the_bound_by_hand(tmp_path: Path) -> None:
    for seed, (gap, bound) in enumerate(((0.05, 0.2), (0.3, 0.6), (None, 0.5), (0.09, None))):
        record = {"problem": "GP-known 3e-3, d = 2", "sampler": "matched", "treatment": "fixed", "seed": seed}
        record |= {"trials": 16, "tests": [16], "epsilons": [0.1], "regrets": [1.0] * 15 + [0.05]}
        series = {"UCBbr": (bound, 0.05), "certified gap": (gap, 1.0)}
        rules = {name: {"bounds": [value], "regrets": [regret]} for name, (value, regret) in series.items()}
        records.append(tmp_path / "paper.jsonl.gz", _record([], [], []) | record | {"rules": rules})
    found = section.section(tmp_path)
    assert found is not None
    (row,) = found.tables["paper-gap-over-bound"].to_dict("records")
    assert (row["searches"], row["gap / bound at 16"]) == (4, 0.375)
    assert math.isnan(row["gap / bound at 32"])
    assert [row[f"bound: {name}"] for name in ("stopped", "false", "median stop")] == [0, 0, math.inf]
    assert [row[f"gap: {name}"] for name in ("stopped", "false", "median stop")] == [2, 2, math.inf]


def test_draws_are_counted_by_dimension_and_kernel(tmp_path: Path) -> None:
    assert draws.section(tmp_path) is None
    default = {"problem": "GP 3e-3, d = 6", "sampler": "exceedance"}
    for record in (_MISTOLD | default, _EARLY | default, _NEVER | default | {"kernel": "Matérn-5/2"}):
        records.append(tmp_path / "paper.jsonl.gz", record)
    found = draws.section(tmp_path)
    assert found is not None
    counts = found.tables["draws"]
    counts = counts[counts["rule"].eq("UCBbr")].set_index(["d", "kernel"])
    assert counts["searches"].to_dict() == {("all", "all"): 3, (6, "all"): 3, (6, "SE"): 2, (6, "Matérn-5/2"): 1}
    assert counts["false"].tolist() == [2, 2, 2, 0]
    assert "stopped 2 of 3 searches, 2 falsely (21–94 %)" in found.result
    assert "In d = 6 under SE UCBbr with √β = 2 was false in 2/2 (34–100 %), elsewhere in 0 of 1" in found.found[1]


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    path = tmp_path / "paper.jsonl.gz"
    names, samplers = ["GP-known 3e-3, d = 2"], ["matched"]
    paper.run(1, 1, names, samplers, 8, path=path)
    first = records.read(path)
    path.write_bytes(path.read_bytes() + gzip.compress(b'{"problem":"GP')[:-9])
    paper.run(2, 1, names, samplers, 8, path=path)
    done = records.read(path)
    assert done[: len(first)] == first
    assert sorted((r["seed"], r["kernel"]) for r in done) == [(s, k) for s in (0, 1) for k in sorted(KERNELS)]
    assert all(r["treatment"] == "fixed" and r["tests"] == [5, 6, 7, 8] for r in done)
    assert all("PRB 0.1" in r["rules"] and r["inflations"] == [1.0] * 4 for r in done)
    assert len(paper.costs(done)) == 1


def test_the_treatments_of_a_row_are_asked_on_one_path() -> None:
    keys = paper.keys_of(1, ["GP 3e-3, d = 2"], ["√β = 2"], 9)[:2]
    mode, samples = (run_path(key, problem_of, paper.MOMENTS) for key in keys)
    assert (mode["treatment"], samples["treatment"]) == ("map", "posterior")
    assert mode["regrets"] == samples["regrets"]
    assert mode["rules"]["UCBbr"] != samples["rules"]["UCBbr"]


def test_the_ablations_run_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "ablations.jsonl.gz"
    ablations.run(1, 1, ["GP 3e-3, d = 2"], 8, path)
    done = records.read(path)
    assert [r["sampler"] for r in done] == list(ablations.SAMPLERS)
    for record in done:
        assert list(record["rules"]) == ["δ = 0.01", "δ = 0.05", "δ = 0.2", "n_L = 4", "n_L = 40", "a = b = 1"]
        assert ablations.in_order(record)
    records.append(tmp_path / "paper.jsonl.gz", _MISTOLD)
    found = section.section(tmp_path)
    assert found is not None
    counts = found.tables["ablations"].set_index("setting")
    assert counts.loc["B = 5", ["searches", "paper's stop", "paper's success"]].tolist() == [1, 7.5, 0.84]
    assert counts.loc["δ = 0.01", ["searches", "paper's stop", "paper's success"]].tolist() == [1, 128.0, 0.96]
    # Within eight evaluations none stops.
    assert set(counts["mean stop"]) == {8.0}
    assert "A larger δ stopped later on 0 of 3 paths" in found.found[-1]


def test_a_larger_delta_that_stops_later_is_reported() -> None:
    bounds = {"δ = 0.01": [0.05, 0.05], "δ = 0.05": [0.2, 0.05], "δ = 0.2": [0.01, 0.01]}
    record = _MISTOLD | {"rules": {name: {"bounds": b, "regrets": [1.0, 1.0]} for name, b in bounds.items()}}
    assert not ablations.in_order(record)
    record["rules"]["δ = 0.01"]["bounds"] = [0.2, None]
    assert ablations.in_order(record)


@pytest.mark.slow
def test_the_times_are_taken_and_reported(tmp_path: Path) -> None:
    assert times.section(tmp_path) is None
    runtime.run(1, (12,), ("Rosenbrock-4",), tmp_path / "runtime.json")
    found = times.section(tmp_path)
    assert found is not None
    ours = (runtime.FIT, runtime.NEXT, runtime.EXCEEDING, runtime.FORMULA, "UCBbr", "PRB")
    assert {*ours, runtime.OPTUNA, runtime.TERMINATOR, runtime.SKOPT} <= set(found.tables["runtime"]["who"])
    assert list(found.shown["what"]) == [f"{what}, Rosenbrock-4 12" for what in runtime.TARGETS]
    assert "a trial by default (fit, next point, UCBbr) takes" in found.result


def test_pieces_are_compared_with_the_others_times(tmp_path: Path) -> None:
    """Ours in 4 of 20 ms is a fifth where a tenth is wanted; a suggestion in half of the other's time is in time."""

    def time(ms: float) -> dict[str, Any]:
        quartiles = {f"{kind}_quartiles_ms": [ms, ms] for kind in ("cpu", "wall")}
        return {"repetitions": 1, "cpu_ms": ms, "wall_ms": ms} | quartiles

    whats = (runtime.FIT, runtime.NEXT, runtime.EXCEEDING, runtime.OPTUNA, runtime.SKOPT, *runtime.TARGETS)
    machine = {"hardware": "h", "threads": "one", "python": "3"}
    results = {"machine": machine, "results": {"Levy-4 100": {what: time(0.1) for what in whats}}}
    (tmp_path / "runtime.json").write_text(json.dumps(results))
    agreement = {"cases": 1, "slsqp_within_1e-6": 1, "slsqp_smallest_excess": 0.0}
    speed = {
        "bound": {"ours": time(0.1), "SLSQP": time(10.0), "agreement": agreement},
        "import": {"import regretstop": {"repetitions": 1, "cpu_ms": 20.0}},
        "fit 100": {"ours, running study": time(4.0), "BoTorch": time(20.0)},
        "suggest Branin 100": {"ours, in Optuna": time(5.0), "GPSampler": time(10.0)},
    }
    (tmp_path / "speed.json").write_text(json.dumps({"results": speed}))
    found = times.section(tmp_path)
    assert found is not None
    targets = dict(zip(found.shown["what"], found.shown["target"], strict=True))
    assert targets["bound: ours"] == "0.02: met"
    assert targets["fit 100: ours, running study"] == "0.1: missed"
    assert targets["suggest Branin 100: ours, in Optuna"] == "1: met"
    assert targets["UCBbr, Levy-4 100"] == "0.2 ms: met"
    assert found.result.endswith(f"1 of {len(targets)} targets are missed.")

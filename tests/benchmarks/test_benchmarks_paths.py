"""The engine that asks every rule along a path: its records say what the rules say, on the smallest sizes."""

import gzip
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks import misspecified, misspecified_problems, paths, records
from regretstop import PRB, AcquisitionThreshold, DeltaCB, DeltaES, OptimalityGap, UCBbr

pytestmark = pytest.mark.xdist_group("paths")  # a path serves several tests

# Paths on "SVM" on which the model check says nothing, and to which it objects so that no rule stops at the smaller ε.
TRUSTED, OBJECTED = 1, 39


def key_of(problem: str, treatment: str, trials: int, seed: int = 0) -> dict[str, Any]:
    names = {"problem": problem, "kernel": "Matérn-5/2", "sampler": "exceedance", "treatment": treatment}
    return names | {"seed": seed, "trials": trials}


@cache
def path_of(problem: str, treatment: str, trials: int, seed: int = 0) -> dict[str, Any]:
    return paths.run_path(key_of(problem, treatment, trials, seed), misspecified.problem_of)


@pytest.mark.parametrize("seed", [TRUSTED, pytest.param(OBJECTED, marks=pytest.mark.slow)])
def test_a_path_has_the_stops_of_the_rules(seed: int) -> None:
    """Each rule is asked on its own about the same data."""
    record, key = path_of("SVM", "map", 24, seed), key_of("SVM", "map", 24, seed)
    assert record.items() >= key.items()
    problem = misspecified_problems.problem("SVM")
    history, regrets = paths.follow(problem, key)
    assert regrets == [o.value - problem.optimum for o in history if o.value is not None]
    assert record["regrets"] == pytest.approx(regrets, rel=1e-3)
    assert record["tests"] == [8, 12, 16, 20, 24]
    gaps = [bound for _, bound, _ in paths.answers_of(record, "certified gap", 0.0)]
    for epsilon in problem.epsilons:
        rules = {
            "UCBbr": UCBbr(epsilon, paths.DELTA),
            "calibrated gap": OptimalityGap(epsilon, paths.DELTA, beta=4.0),
            "PRB": PRB(epsilon, paths.DELTA),
            "DeltaCB": DeltaCB(epsilon, paths.DELTA),
            "DeltaES": DeltaES(epsilon, paths.DELTA),
            "AcquisitionThreshold": AcquisitionThreshold(),
        }
        expected: dict[str, tuple[int, float]] = {}
        model = paths.optimizer(problem, key, "map")
        for n, gap in zip(record["tests"], gaps, strict=True):
            model.replace_history(history[:n])
            together = model.certificate(OptimalityGap(epsilon, paths.DELTA, simultaneous=True, beta="grid"))
            assert gap == pytest.approx(together.bound, rel=1e-3)
            for name, rule in rules.items():
                if name in expected or (name == "PRB" and n % 8):
                    continue
                certificate = model.certificate(rule)
                if certificate.stop and certificate.incumbent is not None:
                    expected[name] = n, pytest.approx(regrets[certificate.incumbent], rel=1e-3)
        assert {name: stop for name in rules if (stop := paths.stop_of(record, name, epsilon))} == expected
        assert bool(expected) == (seed == TRUSTED or epsilon > min(problem.epsilons))


def test_rules_without_the_check_are_recorded_where_it_changes_them() -> None:
    objected, trusted = path_of("SVM", "map", 24, OBJECTED), path_of("SVM", "map", 24, TRUSTED)
    assert max(trusted["inflations"]) == 1.0
    assert "rules without check" not in trusted
    assert max(objected["inflations"]) > 1.0
    inflated = paths.answers_of(objected, "UCBbr", 0.0)
    without = paths.answers_of(objected, "UCBbr", 0.0, "without")
    for inflation, (_, bound, _), (_, smaller, _) in zip(objected["inflations"], inflated, without, strict=True):
        assert (bound > smaller) if inflation > 1.0 else (bound == smaller)


def test_prb_is_not_asked_again_once_it_has_stopped() -> None:
    record = path_of("boosting", "map", 40)
    n_stopped = 0
    for epsilon in record["epsilons"]:
        series = record["rules"][f"PRB {epsilon:.6g}"]
        asked = [n for n, regret in zip(record["tests"], series["regrets"], strict=True) if regret is not None]
        stop = paths.stop_of(record, "PRB", epsilon)
        assert asked == list(range(8, (40 if stop is None else stop[0]) + 1, 8))
        n_stopped += stop is not None and stop[0] < 40
    assert n_stopped > 0


def test_samples_of_the_hyperparameters_are_asked_about_the_same_path() -> None:
    record, at_mode = path_of("boosting", "posterior", 12), path_of("boosting", "map", 40)
    assert record["regrets"] == at_mode["regrets"][:12]
    assert record["tests"] == [8, 12]
    bounds = record["rules"]["UCBbr"]["bounds"]
    assert all(bound > 0.0 for bound in bounds)
    assert bounds != at_mode["rules"]["UCBbr"]["bounds"][:2]


def test_the_terminator_names_the_best_trial() -> None:
    record = path_of("boosting", paths.TERMINATOR, 12)
    assert list(record["rules"]) == [paths.TERMINATOR]
    series = record["rules"][paths.TERMINATOR]
    assert series["regrets"] == [min(record["regrets"][:n]) for n in (8, 12)]
    assert all(math.isfinite(bound) for bound in series["bounds"])


def test_what_a_record_says_of_a_stop() -> None:
    record = {
        "tests": [8, 12, 16, 20],
        "inflations": [1.0, 3.0, 1.0, 1.0],
        "rules": {
            "UCBbr": {"bounds": [None, 0.6, 0.2, 0.1], "regrets": [0.5, 0.4, 0.3, 0.0]},
            "PRB 0.5": {"bounds": [None, None, 0.4, None], "regrets": [0.5, None, 0.3, None]},
            "AcquisitionThreshold": {"bounds": [0.3, 0.2, 0.2, 1e-9], "regrets": [0.5, 0.4, 0.3, 0.0]},
        },
        "rules without check": {"UCBbr": {"bounds": [None, 0.2, 0.2, 0.1], "regrets": [0.5, 0.4, 0.3, 0.0]}},
    }
    assert paths.stop_of(record, "UCBbr", 0.7) == (12, 0.4)
    assert paths.stop_of(record, "UCBbr", 0.5) == (16, 0.3)
    assert paths.stop_of(record, "UCBbr", 0.5, "without") == (12, 0.4)
    assert paths.stop_of(record, "UCBbr", 0.1) is None  # the bound has to be below ε
    assert paths.stop_of(record, "PRB", 0.5) == (16, 0.3)
    assert paths.stop_of(record, "PRB", 0.25) is None
    assert paths.stop_of(record, "AcquisitionThreshold", 0.25) == (20, 0.0)
    assert paths.answers_of(record, "PRB", 0.5) == [(8, math.inf, 0.5), (16, 0.4, 0.3)]


@pytest.mark.slow
def test_a_killed_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misspecified, "PATH", tmp_path / "misspecified.jsonl.gz")
    monkeypatch.setattr(misspecified, "NAMES", ("boosting",))
    monkeypatch.setattr(misspecified, "SAMPLERS", ("exceedance",))
    monkeypatch.setattr(misspecified, "TREATMENTS", ("map", "posterior"))
    misspecified.run(1, 8, 1)
    first = records.read(misspecified.PATH)
    misspecified.PATH.write_bytes(misspecified.PATH.read_bytes() + gzip.compress(b'{"problem":"boos')[:-9])
    misspecified.run(2, 8, 1)
    done = records.read(misspecified.PATH)
    assert done[: len(first)] == first
    assert [(r["seed"], r["treatment"]) for r in done] == [(s, t) for s in (0, 1) for t in misspecified.TREATMENTS]
    # Another process comes to the same result.
    alone = path_of("boosting", "map", 8)
    assert all(alone[name] == done[0][name] for name in alone if name != "cpu_s")

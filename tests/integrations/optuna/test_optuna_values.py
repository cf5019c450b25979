"""Values as people have them: penalties, deterministic tables, odd numbers."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of

from regretstop import Every, GaussianProcess, OptimalityGap, UCBbr


@pytest.mark.parametrize(
    "options", [{}, {"beta": "matched"}, {"exceedance": 0.2}], ids=["number", "matched", "exceedance"]
)
def test_without_noise_nothing_is_tried_twice(options: dict[str, Any]) -> None:
    """Pruned and failed trials, given and running ones count as well."""
    study = optuna.create_study(
        sampler=GPUCBSampler(seed=0, surrogate=GaussianProcess(noise_std=0.0), n_startup_trials=3, **options)
    )
    study.enqueue_trial({"a": "x", "b": 1})

    def objective(trial: optuna.Trial) -> float:
        a, b = trial.suggest_categorical("a", ["x", "y", "z"]), trial.suggest_int("b", 0, 4)
        if trial.number == 5:
            raise optuna.TrialPruned
        return math.nan if trial.number in (4, 9) else float("xyz".index(a) + 0.3 * b)

    distributions = {"a": CategoricalDistribution(["x", "y", "z"]), "b": IntDistribution(0, 4)}
    study.ask(distributions)
    study.optimize(objective, n_trials=14)
    # The trial that was asked for first had no model to keep it apart from the given one.
    tried = Counter((t.params["a"], t.params["b"]) for t in study.trials[1:])
    assert max(tried.values()) == 1


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_penalty_is_named_and_left(direction: str) -> None:
    sign = 1.0 if direction == "minimize" else -1.0

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
        return sign * (1e30 if abs(x) + abs(y) > 0.8 else x * x + y * y)

    study = optuna.create_study(direction=direction, sampler=GPUCBSampler(seed=0))
    study.optimize(objective, n_trials=24)
    low = [t.value for t in study.trials if abs(t.value or 0.0) == 1e30]
    assert 3 <= len(low) <= 15
    assert abs(study.best_value) < 0.01
    certificate = certificate_of(study, OptimalityGap(1e-9, beta="grid"))
    assert certificate.bound < 20.0
    assert f"{len(low)} of 24 values are the same worst value {sign * 1e30:.4g}" in certificate.reason
    assert "return NaN or prune" in certificate.reason


def numbers(trial: optuna.Trial, shift: float = 0.0, noise: float = 0.0) -> float:
    x, n = trial.suggest_float("x", 0.1, 0.3), trial.suggest_int("n", 1, 5)
    return 50.0 * (x - 0.17) ** 2 + 0.02 * (n - 3) ** 2 + noise + shift


def trials_of(value: Any, n: int = 14) -> optuna.Study:
    study = optuna.create_study(sampler=GPUCBSampler(seed=3))
    study.optimize(
        lambda t: value(numbers(t)), n_trials=n, callbacks=[RegretBoundCallback(rule=UCBbr(1e-7, schedule=Every(7)))]
    )
    return study


def test_a_shift_changes_no_decision() -> None:
    one, other = trials_of(lambda v: v), trials_of(lambda v: v + 1e4)
    assert np.allclose([t.params["x"] for t in one.trials], [t.params["x"] for t in other.trials], atol=1e-5)
    assert [t.params["n"] for t in one.trials] == [t.params["n"] for t in other.trials]
    here, there = (
        certificate_of(one, OptimalityGap(0.1, beta="grid")),
        certificate_of(other, OptimalityGap(0.1, beta="grid")),
    )
    assert here.incumbent == there.incumbent
    assert here.bound == pytest.approx(there.bound, rel=1e-3)


@pytest.mark.parametrize("value", [lambda v: 72.0 + 0.1 * v, np.float32, lambda v: np.float32(72.0 + 0.1 * v)])
def test_values_of_few_digits_or_a_small_spread(value: Any) -> None:
    study = trials_of(value, n=16)
    certificate = certificate_of(study, UCBbr(1e-2))
    assert certificate.stop
    assert study.best_params["n"] == 3


@pytest.mark.filterwarnings("ignore:Fixed parameter:UserWarning")
def test_given_points_at_odds_with_rounding(tmp_path: Path) -> None:
    """Nearly the same point, one a hair above the range, float32 numbers: data like any other, in a storage too."""
    study = optuna.create_study(sampler=GPUCBSampler(seed=0), storage=f"sqlite:///{tmp_path / 'a.db'}")
    above = math.nextafter(0.3, 1.0)
    for x in (0.2, 0.2 + 1e-9, 0.2 - 1e-9, 0.2, above, float(np.float32(0.3)), float(np.float32(0.1))):
        study.enqueue_trial({"x": x, "n": 2})
    study.optimize(numbers, n_trials=14, callbacks=[RegretBoundCallback(epsilon=1e-9)])
    certificate = certificate_of(study, UCBbr(0.05))
    assert certificate.n_observations == 14
    assert certificate.stop

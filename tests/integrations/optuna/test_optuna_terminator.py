"""A script that used Optuna's terminator runs to its stop with another import."""

import warnings
from typing import Any

import optuna
import pytest
from regretstop_optuna import certificate_of
from regretstop_optuna.terminator import Terminator, TerminatorCallback, report_cross_validation_scores

SCRIPT = """
import numpy as np
import optuna
from optuna.terminator import TerminatorCallback, report_cross_validation_scores


def objective(trial):
    depth = trial.suggest_int("depth", 2, 12)
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    score = 0.95 - 0.002 * (depth - 6) ** 2 - 0.02 * np.log10(rate / 0.1) ** 2
    scores = score + np.array([-0.03, 0.02, 0.01, -0.02, 0.02])
    report_cross_validation_scores(trial, scores.tolist())
    return scores.mean()


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=100, callbacks=[TerminatorCallback()])
"""


def run(script: str) -> optuna.Study:
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's is deprecated, and experimental
        exec(compile(script, "script", "exec"), names)
    return names["study"]


def test_only_the_import_changes() -> None:
    changed = SCRIPT.replace("from optuna.terminator", "from regretstop_optuna.terminator")
    assert changed != SCRIPT
    study = run(changed)
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert 20 <= len(study.trials) < 100
    assert certificate.epsilon == pytest.approx((1 / 5 + 1 / 4) ** 0.5 * 0.0234521, rel=1e-3)
    assert certificate.asked.epsilon_trial == certificate.incumbent == study.best_trial.number


def test_before_the_change_it_runs_as_well() -> None:
    pytest.importorskip("optuna.terminator")
    pytest.importorskip("torch")  # which Optuna's own needs
    assert len(run(SCRIPT).trials) <= 100


def test_it_waits_for_as_many_trials() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", -1.0, 1.0) ** 2
        report_cross_validation_scores(trial, [value - 1.0, value + 1.0])
        return value

    terminator = Terminator(min_n_trials=25)
    study.optimize(objective, n_trials=24, callbacks=[TerminatorCallback(terminator)])
    assert certificate_of(study) is None
    assert not terminator.should_terminate(study)
    study.optimize(objective, n_trials=30, callbacks=[TerminatorCallback(terminator)])
    assert len(study.trials) == 25
    assert terminator.should_terminate(study)


def test_what_has_no_counterpart_is_named() -> None:
    with pytest.raises(ValueError, match="give RegretBoundCallback a rule"):
        Terminator(improvement_evaluator=object())  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="terminator must be one of"):
        TerminatorCallback(object())  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="min_n_trials"):
        Terminator(min_n_trials=0)

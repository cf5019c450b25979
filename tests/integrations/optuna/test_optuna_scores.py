"""ε from the noise: the standard error of the best trial's cross-validation scores, as Optuna keeps them."""

import math
import warnings

import numpy as np
import optuna
import pytest
from regretstop_optuna import (
    GPUCBSampler,
    RegretBoundCallback,
    certificate_of,
    replay,
    report_cross_validation_scores,
    should_stop,
)
from regretstop_optuna._attributes import latest_epsilon
from regretstop_optuna.versions import journal

from regretstop import GPUCB, Certificate, Float, Int, Observation, OptimalityGap, Patience, Space, UCBbr, minimize
from regretstop.rules import standard_error

FOLDS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def folds_of(x: float) -> np.ndarray:
    """Five scores whose mean is a parabola, and whose spread is the larger the farther x is from the best."""
    return 1.0 - (x - 0.5) ** 2 + (0.1 + abs(x - 0.5)) * FOLDS


def objective(trial: optuna.Trial) -> float:
    scores = folds_of(trial.suggest_float("x", -1.0, 2.0))
    report_cross_validation_scores(trial, scores)
    return float(np.mean(scores))


def error_of(trial) -> float:
    """By hand: the deviations are (0.1 + |x − 0.5|) · (−1, −½, 0, ½, 1), with squares that add up to 2.5."""
    return (0.1 + abs(trial.params["x"] - 0.5)) * math.sqrt((1 / 5 + 1 / 4) * 2.5 / 4)


def test_the_standard_error_by_hand() -> None:
    # Squares of ±3/2 and ±1/2 add up to 5, so s² = 5/3; with four folds 1/4 + 1/3 of it.
    assert standard_error([1.0, 2.0, 3.0, 4.0]) == pytest.approx(math.sqrt((1 / 4 + 1 / 3) * 5 / 3), rel=1e-12)
    assert standard_error([0.25, 0.25]) == 0.0
    assert math.isnan(standard_error([0.25, math.nan, 0.25]))
    assert math.isnan(standard_error([0.25]))


def test_it_is_optunas_but_for_the_divisor_of_the_squares() -> None:
    """Their evaluator divides them by k, as if the mean were known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from optuna.terminator import CrossValidationErrorEvaluator
        from optuna.terminator import report_cross_validation_scores as optunas

        study = optuna.create_study(direction="maximize")

        def reports(trial):
            scores = list(folds_of(trial.suggest_float("x", -1.0, 2.0)))
            optunas(trial, scores)
            return float(np.mean(scores))

        study.optimize(reports, n_trials=6)
        theirs = CrossValidationErrorEvaluator().evaluate(study.trials, study.direction)
    certificate = certificate_of(study, UCBbr("standard error"))
    assert certificate is not None
    assert certificate.asked.epsilon_trial == study.best_trial.number
    assert certificate.epsilon == pytest.approx(theirs * math.sqrt(5 / 4), rel=1e-12)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_a_study_stops_at_the_standard_error_of_its_best_trial(kind, tmp_path) -> None:
    storage = {
        "memory": lambda: None,
        "sqlite": lambda: f"sqlite:///{tmp_path}/study.db",
        "journal": lambda: journal(tmp_path / "study.log"),
    }[kind]()
    study = optuna.create_study(
        direction="maximize", sampler=GPUCBSampler(seed=0), storage=storage, study_name="scores"
    )
    study.optimize(objective, n_trials=60, callbacks=[RegretBoundCallback(epsilon="standard error")])
    n = len(study.trials)
    assert n < 60
    if storage is not None:
        study = optuna.load_study(study_name="scores", storage=storage, sampler=GPUCBSampler(seed=0))
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.stop, certificate.asked.epsilon_trial) == (True, study.best_trial.number)
    assert certificate.epsilon == pytest.approx(error_of(study.best_trial), rel=1e-9)
    said = (
        f"Stop (UCBbr, ε = {certificate.epsilon:.4g}, the standard error of trial {study.best_trial.number}'s score):"
    )
    assert str(certificate).startswith(said)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    # The decision stands, for whoever asks for the same or for more.
    assert should_stop(study, "standard error")
    assert should_stop(study, 2.0 * certificate.epsilon)
    assert should_stop(study, rule=UCBbr("standard error") | Patience(99))
    assert not should_stop(study, certificate.bound)
    assert latest_epsilon(study.user_attrs) == pytest.approx(certificate.bound)
    found = replay(study, epsilon="standard error")
    assert found.stop == n
    best = 0
    for k, each in enumerate(found.certificates):
        best = max(best, k, key=lambda i: study.trials[i].value)
        if each.asked.epsilon_trial is not None:
            assert each.asked.epsilon_trial == best


def test_the_sampler_is_told_what_was_found() -> None:
    study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))
    study.optimize(objective, n_trials=7, callbacks=[RegretBoundCallback(rule=OptimalityGap("standard error"))])
    assert latest_epsilon(study.user_attrs) == pytest.approx(error_of(study.best_trial), rel=1e-9)


def test_other_spellings_of_an_epsilon_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be a positive number, got 'standard-error'$"):
        RegretBoundCallback(epsilon="standard-error")


SILENT = {
    "no scores": (None, "has reported no cross-validation scores"),
    "equal scores": ([0.5, 0.5, 0.5], "do not differ: ε is 0"),
    "a fold that failed": ([0.5, math.nan, 0.5], "are not all finite"),
}


@pytest.mark.parametrize("case", SILENT)
def test_without_an_epsilon_the_search_goes_on_and_says_why(case, log) -> None:
    scores, words = SILENT[case]

    def silent(trial):
        x = trial.suggest_float("x", -1.0, 2.0)
        if scores is not None:
            report_cross_validation_scores(trial, scores)
        return -(x**2)

    study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))
    rule = UCBbr("standard error") | Patience(8)
    study.optimize(silent, n_trials=40, callbacks=[RegretBoundCallback(rule=rule)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.rule, certificate.stop) == ("Patience", True)
    (other,) = certificate.others
    assert f"trial {study.best_trial.number}, the best so far" in other.reason
    assert words in other.reason
    assert (other.bound, other.epsilon) == (math.inf, 0.0)
    assert f"Beside it UCBbr, ε the standard error of the best trial's says go on: {other.reason}." in str(certificate)


@pytest.mark.parametrize("scores", [[], [1.0], np.array([1.0]), ["0.1", "0.2"], [None, 0.1]])
def test_scores_are_those_of_folds(scores) -> None:
    trial = optuna.create_study().ask()
    with pytest.raises(ValueError, match=r"^scores must be .*, got "):
        report_cross_validation_scores(trial, scores)


def test_a_trial_of_no_study_keeps_nothing() -> None:
    assert objective(optuna.trial.FixedTrial({"x": 0.5})) == pytest.approx(1.0)


def test_numpys_numbers_are_kept_as_pythons() -> None:
    trial = optuna.create_study(storage="sqlite:///:memory:").ask()
    report_cross_validation_scores(trial, np.array([0.5, 0.25], dtype=np.float32))
    assert trial.study.get_trials()[0].system_attrs["terminator:cv_scores"] == [0.5, 0.25]


def test_where_nobody_reports_scores_it_is_refused_at_once() -> None:
    message = "^epsilon must be a positive number here, got 'standard error'"
    with pytest.raises(ValueError, match=message):
        minimize(
            lambda p: 0.0, Space({"x": Int(0, 3)}), rule=Patience(3) | UCBbr("standard error"), max_trials=3, seed=0
        )
    for module in ("regretstop_skopt", "regretstop_ray"):
        stopper = pytest.importorskip(module, exc_type=ImportError).RegretBoundStopper
        with pytest.raises(ValueError, match=message):
            stopper(epsilon="standard error")


def test_a_history_may_bring_its_own_standard_errors() -> None:
    model = GPUCB(Space({"x": Float(0.0, 1.0)}), seed=0)
    values = [math.sin(5.0 * i / 9.0) for i in range(10)]
    told = [Observation({"x": i / 9.0}, v, i, standard_error=0.01 * (i + 1)) for i, v in enumerate(values)]
    model.replace_history(told)
    best = int(np.argmax(values))
    certificate = model.certificate(OptimalityGap("standard error"))
    assert (certificate.epsilon, certificate.asked.epsilon_trial) == (0.01 * (best + 1), best)
    assert certificate == certificate.from_dict(certificate.to_dict())
    same = model.certificate(OptimalityGap(0.01 * (best + 1)))
    assert (certificate.bound, certificate.stop) == (same.bound, same.stop)
    # What is known of an evaluation may come later than its value.
    model.replace_history([Observation(o.params, o.value, o.number, standard_error=0.5) for o in told])
    assert model.certificate(OptimalityGap("standard error")).epsilon == 0.5

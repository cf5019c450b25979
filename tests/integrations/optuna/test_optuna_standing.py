"""What becomes of a decision when the study goes on, and its trials show more."""

import datetime

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop

from regretstop import Deadline, Every, ExpectedRegret, Geometric, OptimalityGap, Patience, Target, UCBbr
from tests.integrations.optuna.objectives import parabola

UNIT = optuna.distributions.FloatDistribution(0.0, 1.0)
CLIFF = -5.0


def cliff(trial: optuna.Trial) -> float:
    """A bowl with a hole that no search finds by itself."""
    x = trial.suggest_float("x", 0.0, 1.0)
    return (x - 0.5) ** 2 if x < 0.97 else CLIFF


def decided(rule, **options) -> optuna.Study:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0), **options)
    study.optimize(cliff, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    assert should_stop(study, rule=rule)
    assert study.best_value > -1.0
    return study


def at(x: float, value: float, **options) -> optuna.trial.FrozenTrial:
    return create_trial(params={"x": x}, distributions={"x": UNIT}, value=value, **options)


RULES = [
    UCBbr(0.01),
    UCBbr(0.01, schedule=Geometric(4, 3.0)),
    OptimalityGap(0.05),
    ExpectedRegret(0.01),
    UCBbr(0.01) | Patience(50),
    UCBbr(0.01) & Target(0.1),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_a_decision_falls_when_a_trial_is_better_than_it_allows(rule, storage, tmp_path) -> None:
    study = decided(rule, storage=None if storage is None else f"sqlite:///{tmp_path}/study.db")
    study.enqueue_trial({"x": 0.99})
    study.optimize(cliff, n_trials=1)
    assert not should_stop(study)
    assert not should_stop(study, rule=rule)
    study.optimize(cliff, n_trials=2, callbacks=[RegretBoundCallback(rule=rule)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.incumbent_value == CLIFF or not certificate.stop


def test_what_no_test_was_due_for_is_named_and_seen_by_the_next() -> None:
    rule = UCBbr(0.01, schedule=Every(20))
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.5) ** 2, 60, callbacks=[RegretBoundCallback(rule=rule)])
    assert len(study.trials) == 20
    study.add_trial(at(0.99, CLIFF))
    certificate = certificate_of(study, rule)
    assert certificate is not None
    assert not certificate.stop
    assert "trial 20 is better" in certificate.reason
    assert "first 20 observations" in certificate.reason


@pytest.mark.parametrize(
    "trial",
    [
        at(0.6, 0.0),  # better by less than the bound
        at(0.6, CLIFF, state=optuna.trial.TrialState.PRUNED),
        at(0.6, CLIFF, system_attrs={"constraints": (1.0,)}),
    ],
    ids=["hardly better", "pruned", "infeasible"],
)
def test_a_decision_stands_where_nothing_speaks_against_it(trial) -> None:
    rule = UCBbr(0.01)
    study = decided(rule)
    study.add_trial(trial)
    assert should_stop(study)
    assert should_stop(study, rule=rule)


def test_a_trial_outside_the_range_speaks_against_no_bound() -> None:
    study = decided(UCBbr(0.01))
    study.enqueue_trial({"x": 2.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(cliff, n_trials=1)
    assert study.best_value == CLIFF
    assert should_stop(study)


def test_lucky_scores_do_not_reopen_a_search() -> None:
    """The best of many noisy scores is better than any bound on the mean, and says nothing new."""
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    noise = iter(np.random.default_rng(0).normal(0.0, 0.1, 1000).tolist())
    study.optimize(
        lambda t: t.suggest_float("x", 0, 1) + next(noise), n_trials=200, callbacks=[RegretBoundCallback(epsilon=0.15)]
    )
    assert should_stop(study)
    certificate = certificate_of(study)
    assert certificate is not None
    for _ in range(300):
        study.add_trial(at(0.0, next(noise)))
    assert study.best_value < certificate.incumbent_value - certificate.bound - 0.1
    assert should_stop(study)
    assert certificate_of(study) == certificate
    study.add_trial(at(0.0, -2.0))
    assert not should_stop(study)


def test_patience_begins_again() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    values = iter([1.0] * 6 + [0.9] + [2.0] * 20)

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0.0, 1.0)
        return next(values)

    callback = RegretBoundCallback(rule=Patience(5))
    study.optimize(objective, n_trials=9, callbacks=[callback])
    assert len(study.trials) == 6
    study.optimize(objective, n_trials=1)
    assert not should_stop(study)
    assert not should_stop(study, rule=Patience(5))
    study.optimize(objective, n_trials=20, callbacks=[callback])
    assert len(study.trials) == 12
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.incumbent == 6
    assert should_stop(study)


@pytest.mark.parametrize("rule", [Target(20.0), Deadline(1e-9)], ids=str)
def test_what_was_met_stays_met(rule) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(parabola, n_trials=20, callbacks=[RegretBoundCallback(rule=rule)])
    n = len(study.trials)
    study.enqueue_trial({"x": 1.0})
    study.optimize(parabola, n_trials=1)
    assert study.best_trial.number == n
    assert should_stop(study)
    assert should_stop(study, rule=rule)
    study.optimize(parabola, n_trials=5, callbacks=[RegretBoundCallback(rule=rule)])
    assert len(study.trials) == n + 2


def test_a_trial_that_was_running_and_ends_later_counts() -> None:
    rule = UCBbr(0.01)
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.enqueue_trial({"x": 0.99})
    slow = study.ask({"x": UNIT})
    study.optimize(cliff, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    assert should_stop(study, rule=rule)
    study.tell(slow, CLIFF)
    assert not should_stop(study, rule=rule)
    assert not should_stop(study)


@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_a_decision_about_a_trial_that_is_not_there_does_not_stand(storage, tmp_path) -> None:
    """Attributes were copied to a study with fewer trials; or another process decided between the two reads."""
    url = None if storage is None else f"sqlite:///{tmp_path}/study.db"
    old = decided(UCBbr(0.01), storage=url, study_name="old")
    new = optuna.create_study(sampler=GPUCBSampler(seed=0), storage=url, study_name="new")
    new.add_trials(old.trials[:3])
    for key, value in old.user_attrs.items():
        new.set_user_attr(key, value)
    assert not should_stop(new)
    assert not should_stop(new, epsilon=1e-6)
    new.optimize(cliff, n_trials=2, callbacks=[RegretBoundCallback(epsilon=1e-6)])
    assert len(new.trials) == 5


def test_imported_trials_may_have_a_time_zone() -> None:
    """As those of other trackers do, where Optuna's own times have none."""
    choice = optuna.distributions.CategoricalDistribution(["a", "b"])

    def imported(i: int) -> optuna.trial.FrozenTrial:
        branch, name, x = "ab"[i % 2], "xy"[i % 2], (0.37 * i) % 1.0
        trial = create_trial(
            params={"branch": branch, name: x},
            distributions={"branch": choice, name: UNIT},
            value=(x - 0.4) ** 2 + 0.1 * (branch == "a"),
        )
        trial.datetime_start = datetime.datetime(2024, 1, 1, 0, i, tzinfo=datetime.timezone.utc)
        trial.datetime_complete = trial.datetime_start + datetime.timedelta(seconds=30)
        return trial

    def objective(trial: optuna.Trial) -> float:
        branch = trial.suggest_categorical("branch", ["a", "b"])
        x = trial.suggest_float("x" if branch == "a" else "y", 0.0, 1.0)
        return (x - 0.4) ** 2 + 0.1 * (branch == "a")

    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.add_trials([imported(i) for i in range(14)])
    study.optimize(objective, n_trials=40, callbacks=[RegretBoundCallback(epsilon=0.05)])
    assert len(study.trials) < 54
    assert should_stop(study)
    assert certificate_of(study).stop

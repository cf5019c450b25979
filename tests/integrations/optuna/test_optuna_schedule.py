"""Tests that are not made after every trial: which trials they see, and what a finished study gets."""

import datetime

import optuna
import pytest
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop

from regretstop import Every, Float, OptimalityGap, UCBbr
from regretstop.optimizer import GPUCB
from regretstop.spaces import Space
from tests.integrations.optuna.objectives import parabola
from tests.integrations.optuna.test_optuna_callback import new_study, stored

X = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
NOON = datetime.datetime(2024, 1, 1, 12)


def test_a_finished_study_is_certified_by_one_call():
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(
        parabola, n_trials=20, callbacks=[RegretBoundCallback(rule=OptimalityGap(epsilon=1e-6, beta="grid"))]
    )
    before = dict(study.user_attrs)
    certificate = certificate_of(study, OptimalityGap(epsilon=1.0, schedule=Every(), beta="grid"))
    assert certificate.n_observations == 20
    assert certificate.risk.spent == pytest.approx(0.05)
    assert certificate.bound == certificate_of(study).bound
    assert certificate == certificate_of(study, OptimalityGap(epsilon=1.0, schedule=Every(), beta="grid"))
    assert study.user_attrs == before


def test_wrong_use_is_named():
    study, rule = new_study(), UCBbr(epsilon=0.1)
    with pytest.raises(ValueError, match="rule must be a stopping rule"):
        certificate_of(study, UCBbr)
    two = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="2"):
        certificate_of(two, rule)


def test_a_study_stops_at_a_test():
    study = new_study()
    rule = OptimalityGap(epsilon=1.0, schedule=Every(5), beta="grid")
    study.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    assert certificate_of(study).stop
    assert len(study.trials) == certificate_of(study).n_observations
    assert len(study.trials) % 5 == 0
    # Between two tests nothing is new; before the first one the number of trials is.
    seen = [n for _, n, *_ in stored(study, "OptimalityGap")]
    assert seen == [1, 2, 3, 4, *range(5, len(study.trials) + 1, 5)]
    # The next worker, or the next day, sees the same decision, and another schedule is another rule.
    assert should_stop(study, rule=rule)
    assert not should_stop(study, rule=OptimalityGap(epsilon=1e-6, schedule=Every(5), beta="grid"))


def finished(number: int, minute: int) -> optuna.trial.FrozenTrial:
    x = (0.37 * number) % 1.0
    trial = optuna.trial.create_trial(params={"x": x}, distributions=X, value=(x - 0.3) ** 2)
    trial.datetime_complete = NOON + datetime.timedelta(minutes=minute)
    return trial


def test_a_trial_that_ends_late_does_not_change_a_test_that_was_made():
    """Six trials at once, of which the first takes longest; the test at five sees the other five."""
    rule = OptimalityGap(epsilon=0.1, schedule=Every(5), beta="grid")
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    for number, minute in enumerate([60, 1, 2, 3, 4, 5]):
        study.add_trial(finished(number, minute))
    core = GPUCB(Space({"x": Float(0.0, 1.0)}), direction="minimize", seed=0)
    for number in range(1, 6):
        trial = study.trials[number]
        core.tell(trial.params, trial.value)
    certificate, alone = certificate_of(study, rule), core.certificate(rule)
    assert alone.terms
    assert (certificate.bound, certificate.terms) == (alone.bound, alone.terms)
    assert certificate.incumbent == alone.incumbent + 1

"""A study that is over, replayed."""

import datetime

import optuna
import pytest
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, replay

from regretstop import Every, OptimalityGap, UCBbr
from tests.integrations.optuna.objectives import parabola


def test_it_stops_where_the_callback_would_have():
    rule = OptimalityGap(epsilon=1.0, beta="grid")
    stopped = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    stopped.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    whole = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    whole.optimize(parabola, n_trials=60)
    before = dict(whole.user_attrs)
    found = replay(whole, rule)
    assert found.stop == len(stopped.trials) < 60
    assert found.certificates[found.stop - 1] == certificate_of(stopped)
    assert found.certificates[-1] == certificate_of(whole, rule)
    assert found.n_saved == 60 - found.stop
    assert found.found_later == stopped.best_value - whole.best_value >= 0.0
    assert dict(whole.user_attrs) == before


def test_durations_and_what_failed():
    study = optuna.create_study()
    noon = datetime.datetime(2024, 1, 1, 12)
    line = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for i in range(12):
        x = (0.37 * i) % 1.0
        state = optuna.trial.TrialState.FAIL if i == 3 else optuna.trial.TrialState.COMPLETE
        trial = optuna.trial.create_trial(
            state=state, params={"x": x}, distributions=line, value=None if i == 3 else (x - 0.3) ** 2
        )
        trial.datetime_start = noon + datetime.timedelta(minutes=i)
        trial.datetime_complete = trial.datetime_start + datetime.timedelta(seconds=10 + i)
        study.add_trial(trial)
    found = replay(study, UCBbr(epsilon=1e-9, schedule=Every()))
    assert found.seconds == tuple(10.0 + i for i in range(12))
    assert found.certificates[-1].n_excluded == 1
    assert (found.stop, found.seconds_saved) == (None, 0.0)


def test_what_cannot_be_replayed_says_why():
    with pytest.raises(ValueError, match="cannot be replayed: too few observations: none yet"):
        replay(optuna.create_study(), epsilon=0.1)
    with pytest.raises(ValueError, match="one objective, the study has 2"):
        replay(optuna.create_study(directions=["minimize", "minimize"]), epsilon=0.1)
    with pytest.raises(ValueError, match="epsilon"):
        replay(optuna.create_study())

    def conditional(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        return trial.suggest_float("a" if x < 0.5 else "b", 0.0, 1.0)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(conditional, n_trials=8)
    with pytest.raises(ValueError, match="cannot be replayed: 'a', 'b' are not in every trial"):
        replay(study, epsilon=0.1)


def _sphere(trial):
    x, y = trial.suggest_float("x", -2.0, 2.0), trial.suggest_float("y", 1e-3, 1.0, log=True)
    if trial.number == 4:
        raise optuna.TrialPruned
    return float("nan") if trial.number == 6 else (x - 0.3) ** 2 + (y - 0.1) ** 2


def _score(trial):
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    return {"a": 0.2, "b": 0.9, "c": 0.5}[kind] - 0.1 * abs(trial.suggest_int("n", 0, 5) - 3)


@pytest.mark.parametrize(
    ("objective", "direction", "sampler", "rule"),
    [
        (parabola, "minimize", optuna.samplers.TPESampler(seed=1), UCBbr(0.5)),
        (_sphere, "minimize", optuna.samplers.RandomSampler(seed=2), OptimalityGap(0.5)),
        (_score, "maximize", optuna.samplers.TPESampler(seed=3), UCBbr(0.05, schedule=Every(3))),
        (_sphere, "minimize", GPUCBSampler(seed=4), UCBbr(0.01)),
        (_score, "maximize", GPUCBSampler(beta="matched", seed=5), OptimalityGap(0.05)),
    ],
    ids=["TPE", "random, with failures", "a schedule", "GP-UCB", "GP-UCB, matched"],
)
def test_it_agrees_with_what_the_callback_decided_certificate_by_certificate(objective, direction, sampler, rule):
    study = optuna.create_study(direction=direction, sampler=sampler)
    live = {}

    def note(study, trial):
        live[trial.number] = certificate_of(study)

    study.optimize(objective, n_trials=30, callbacks=[RegretBoundCallback(rule=rule), note])
    found = replay(study, rule)
    assert found.stop == (len(study.trials) if certificate_of(study).stop else None)
    assert len(live) > 8
    for number, certificate in live.items():
        assert found.certificates[number] == certificate, number

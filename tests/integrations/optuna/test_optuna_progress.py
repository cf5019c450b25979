"""Where a study stands: in the log now and then, and when somebody asks."""

import logging
import re

import optuna
import pytest
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, forecast_of, replay, should_stop

from regretstop import UCBbr, forecast


def bowl(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", -2.0, 2.0) ** 2 + trial.suggest_float("y", -2.0, 2.0) ** 2


def wild(trial: optuna.Trial) -> float:
    return bowl(trial) if trial.number % 2 else bowl(trial) + trial.suggest_float("z", 0.0, 1.0)


@pytest.mark.parametrize("sampler", [GPUCBSampler(seed=0), optuna.samplers.RandomSampler(seed=0)], ids=["own", "other"])
def test_the_log_says_it_now_and_then(sampler, log):
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=17, callbacks=[RegretBoundCallback(epsilon=1e-6)])
    lines = log.at(logging.INFO)
    assert [int(n) for n in re.findall(r"UCBbr after (\d+) trials: bound ", "\n".join(lines))] == [10, 13, 17]
    assert len(lines) == 3
    assert all("≥ ε = 1e-06, probability left " in line for line in lines)
    assert lines[-1].endswith(str(forecast_of(study)))
    # Four digits are stored of earlier bounds, rounded up.
    again = replay(study, epsilon=1e-6)
    assert again.forecast == forecast_of(study)
    assert again.own_points == isinstance(sampler, GPUCBSampler)
    assert again.forecast == forecast(again.certificates, own_points=again.own_points)


def test_it_is_above_the_progress_bar(log):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(bowl, n_trials=10, callbacks=[RegretBoundCallback(epsilon=1e-6)], show_progress_bar=True)
    assert len(log.at(logging.INFO)) == 1


def test_who_asks_and_tells_hears_it_too(log):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(11):
        assert not should_stop(study, epsilon=1e-6)
        trial = study.ask()
        study.tell(trial, bowl(trial))
    assert should_stop(study, epsilon=1e-6) is False
    assert len(log.at(logging.INFO)) == 1


def test_where_there_is_none(log):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    assert forecast_of(study) is None
    study.optimize(wild, n_trials=12, callbacks=[RegretBoundCallback(epsilon=0.1)])
    assert forecast_of(study) is None
    assert log.at(logging.INFO) == []  # a warning has said why
    stopped = optuna.create_study(sampler=GPUCBSampler(seed=0))
    stopped.optimize(bowl, n_trials=60, callbacks=[RegretBoundCallback(rule=UCBbr(1.0))])
    assert len(stopped.trials) < 60
    assert forecast_of(stopped) is None
    with pytest.raises(ValueError, match="one objective"):
        forecast_of(optuna.create_study(directions=["minimize", "minimize"]))

"""The best value that an objective could ever have, declared in Optuna."""

import logging
import math

import optuna
import pytest
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, replay, should_stop
from regretstop_optuna.decision import models_of

from regretstop import GaussianProcess, UCBbr

EXACT = GaussianProcess(noise_std=0.0)


def accuracy(trial):
    return 1.0 - 0.5 * (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2


@pytest.mark.parametrize("sampler", [optuna.samplers.TPESampler, GPUCBSampler])
def test_it_ends_a_study_at_the_ceiling_and_replay_agrees(sampler):
    ours = sampler is GPUCBSampler
    known = {"best_possible": 1.0, "surrogate": EXACT}
    study = optuna.create_study(direction="maximize", sampler=sampler(seed=0, **(known if ours else {})))
    study.optimize(accuracy, n_trials=60, callbacks=[RegretBoundCallback(epsilon=0.01, **({} if ours else known))])
    certificate = certificate_of(study)
    assert certificate.stop
    assert certificate.maximum == "declared"
    assert certificate.bound == pytest.approx(1.0 - study.best_value)
    assert certificate.incumbent == study.best_trial.number
    found = replay(study, epsilon=0.01, **({} if ours else known))
    assert found.stop == len(study.trials) < 20
    assert found.certificates[-1] == certificate
    if ours:
        assert should_stop(study, rule=UCBbr(0.02))  # which the sampler's model knows, too


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("depth", [1, 2])
def test_a_sampler_inside_others_lends_its_model_as_it_does_alone(depth):
    sampler = own = GPUCBSampler(seed=0, best_possible=1.0, surrogate=EXACT)
    for _ in range(depth):
        sampler = optuna.samplers.PartialFixedSampler({"y": 0.5}, sampler)

    def objective(trial):
        return accuracy(trial) - 0.1 * (trial.suggest_float("y", 0.0, 1.0) - 0.5) ** 2

    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=30, callbacks=[RegretBoundCallback(epsilon=0.01)])
    assert models_of(study) is own.models
    certificate = certificate_of(study)
    assert certificate.maximum == "declared"
    assert certificate == replay(study, epsilon=0.01).certificates[-1]
    assert should_stop(study, rule=UCBbr(0.02))


def test_it_belongs_to_the_sampler_that_lends_the_model():
    study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))
    with pytest.raises(ValueError, match=r"best_possible is 1\.0 here and None in the GPUCBSampler"):
        study.optimize(accuracy, n_trials=3, callbacks=[RegretBoundCallback(epsilon=0.1, best_possible=1.0)])


def test_a_value_beyond_it_stops_nothing_and_is_named(log):
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(accuracy, n_trials=8, callbacks=[RegretBoundCallback(epsilon=1e-3, best_possible=0.9)])
    assert len(study.trials) == 8
    certificate = certificate_of(study)
    assert certificate.bound == math.inf
    first = next(trial for trial in study.trials if trial.value > 0.9)
    assert f"best_possible is 0.9, but trial {first.number} has the better value" in certificate.reason
    assert any("best_possible is 0.9" in said for said in log.at(logging.WARNING))


@pytest.mark.parametrize("make", [GPUCBSampler, lambda **options: RegretBoundCallback(epsilon=0.1, **options)])
def test_it_has_to_be_a_number(make):
    with pytest.raises(ValueError, match=r"best_possible must be .* got nan"):
        make(best_possible=math.nan)

"""What a stopper without a searcher is told of trials, by their results and as a callback."""

import logging
import math
import pickle

import pytest
from ray import tune
from ray.tune.experiment import Trial
from regretstop_ray import RegretBoundStopper, certificate_of

from regretstop import Target
from tests.integrations.ray import objectives
from tests.integrations.ray.objectives import space, value
from tests.integrations.ray.test_ray_experiments import experiment
from tests.integrations.ray.test_ray_stopper import ALONE, configs, nested


class Net:
    """An object without an equality, of which Tune and the worker make copies."""

    def __init__(self, bias):
        self.bias = bias


def trial_of(trial_id, config):
    return Trial("regretstop_test", config=config, trial_id=trial_id, stub=True)


def starts(stopper, trial_id, config):
    """Tell the stopper that a trial begins, and return Tune's trial."""
    trial = trial_of(trial_id, config)
    stopper.on_trial_start(0, [trial], trial)
    return trial


def values(stopper):
    return [o.value for o in stopper.log.observations()]


@pytest.mark.parametrize("is_callback", [True, False])
def test_a_trial_that_changes_its_configuration_is_not_certified(is_callback, log):
    """As population-based training has it, or a trainable that stops a parameter's decay."""
    stopper = RegretBoundStopper(**ALONE, epsilon=10.0, max_t=2)
    many = configs(8)
    for i, config in enumerate(many):
        trial = starts(stopper, f"trial-{i}", config) if is_callback else None
        stopper(f"trial-{i}", nested(config, value(config), done=False))
        other = {**config, "x": config["x"] / 2} if i == 7 else config
        if trial is not None:
            trial.set_config(other)
        stopper(f"trial-{i}", nested(other, value(other), done=False, step=2))
    assert not stopper.stop_all()
    certificate = certificate_of(stopper)
    assert certificate.bound == math.inf
    assert "trial trial-7 changed its configuration while it ran" in certificate.reason
    assert len(log.at(logging.WARNING)) == 1
    restored = pickle.loads(pickle.dumps(stopper))
    assert "trial-7 changed" in certificate_of(restored, restored.rule).reason


@pytest.mark.parametrize("change", [{}, {"x": 0.9}], ids=["taken out", "another value"])
def test_a_callback_knows_what_the_trainable_was_given(change):
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    many = configs(8)
    for i, config in enumerate(many):
        starts(stopper, f"trial-{i}", config)
        stopper(f"trial-{i}", nested({"model": config["model"], **change}, value(config)))
    stopper.stop_all()
    assert [o.params["x"] for o in stopper.log.observations()] == [c["x"] for c in many]
    assert certificate_of(stopper).bound < math.inf


def test_copies_of_objects_and_functions_of_no_name_are_the_choices_that_they_are_of(log):
    spec = {"x": tune.uniform(0, 1), "net": tune.choice([Net(0.0), Net(0.1), lambda: 0.2])}
    stopper = RegretBoundStopper(space=spec, metric="loss", mode="min", epsilon=1e-9)
    choices = spec["net"].categories
    for i in range(6):
        given = {"x": i / 6, "net": pickle.loads(pickle.dumps(choices[i % 2])) if i % 3 else choices[2]}
        starts(stopper, f"trial-{i}", given)
        stopper(f"trial-{i}", nested({"x": i / 6, "net": object()}, i / 6))
    assert [o.params["net"] for o in stopper.log.observations()] == [choices[i % 2 if i % 3 else 2] for i in range(6)]
    assert log.at(logging.WARNING) == []


def test_what_is_none_of_the_choices_is_said_once(log):
    spec = {"x": tune.uniform(0, 1), "net": tune.choice([lambda: 0.0, lambda: 0.1])}
    stopper = RegretBoundStopper(space=spec, metric="loss", mode="min", epsilon=1e-9)
    for i in range(6):
        stopper(f"trial-{i}", nested({"x": i / 6, "net": lambda: 0.3}, i / 6))
        stopper.stop_all()
    (said,) = log.at(logging.WARNING)
    assert "for 'net', which is none of its values" in said
    assert "among the callbacks" in said


def test_a_parameter_that_every_trial_lacks_is_said_once(log):
    """No trial is ever recorded then."""
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    for i in range(6):
        stopper(f"trial-{i}", nested({"model": {"k": 1}}, i / 6))
        assert not stopper.stop_all()
    (said,) = log.at(logging.WARNING)
    assert "trial trial-0 has no value for some parameter" in said
    assert "among the callbacks" in said
    assert "no value for some parameter" in certificate_of(stopper).reason


def test_failed_trials_are_counted_whatever_they_reported():
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9, max_t=1)
    many = configs(9)
    for i, config in enumerate(many):
        trial = starts(stopper, f"trial-{i}", config)
        if i != 8:
            stopper(f"trial-{i}", nested(config, value(config), done=False))
        if i >= 7:
            stopper.on_trial_error(0, [trial], trial)
    stopper.stop_all()
    certificate = certificate_of(stopper)
    assert (certificate.n_observations, certificate.n_excluded) == (7, 2)
    # Tune may run one again, under its own id.
    starts(stopper, "trial-8", many[8])
    stopper("trial-8", nested(many[8], value(many[8]), done=False))
    assert values(stopper)[8] == value(many[8])
    assert math.isnan(values(stopper)[7])


def test_a_trial_that_tune_ended_is_known_for_one(log):
    """By its last result a stopper cannot tell it from one that goes on."""
    stopper = RegretBoundStopper(**ALONE, epsilon=10.0)
    for i, config in enumerate(configs(8)):
        trial = starts(stopper, f"trial-{i}", config)
        stopper(f"trial-{i}", nested(config, value(config), done=i < 7))
        stopper.on_trial_complete(0, [trial], trial)
    assert not stopper.stop_all()
    assert "trial trial-7 was ended by a scheduler or a stop criterion" in certificate_of(stopper).reason
    assert len(log.at(logging.WARNING)) == 1


def test_a_metric_that_no_result_has_is_said_once_with_those_that_they_have(log):
    stopper = RegretBoundStopper(**{**ALONE, "metric": "los"}, epsilon=1e-9)
    for i, config in enumerate(configs(4)):
        stopper(f"trial-{i}", {**nested(config, 1.0), "eval": {"acc": 0.5}, "time_total_s": 1.0})
    (said,) = log.at(logging.WARNING)
    assert "no metric 'los', but 'loss', 'eval/acc'" in said


def test_a_metric_that_is_missing_now_and_then_is_nothing_to_say(log):
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    for i, config in enumerate(configs(4)):
        stopper(f"trial-{i}", nested(config, value(config)) if i == 0 else {"config": config, "done": True})
    assert log.at(logging.WARNING) == []


@pytest.mark.parametrize("ended_by", ["themselves", "a scheduler"])
def test_a_length_that_no_trial_comes_to_is_said_once(ended_by, log):
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9, max_t=10)
    for i, config in enumerate(configs(25)):
        trial = starts(stopper, f"trial-{i}", config)
        for step in (1, 2, 3):
            stopper(f"trial-{i}", nested(config, value(config), done=ended_by == "themselves" and step == 3, step=step))
        stopper.on_trial_complete(0, [trial], trial)
        stopper.stop_all()
    (said,) = log.at(logging.WARNING)
    assert said.startswith("None of 20 trials that have ended has come to training_iteration 10")
    assert stopper.log.pending() == []


@pytest.mark.parametrize("time", ["3", None, math.nan, [3], {}])
def test_a_time_that_is_no_number_is_none(time):
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9, max_t=3, time_attr="epoch")
    for i, config in enumerate(configs(4)):
        assert stopper(f"trial-{i}", {**nested(config, value(config)), "epoch": time}) is False
        assert not stopper.stop_all()
    assert values(stopper) == 4 * [None]


@pytest.mark.usefixtures("cluster")
@pytest.mark.xdist_group("ray")
def test_in_tune_itself_it_is_told_of_objects_and_of_failures(tmp_path, log):
    spec = {"x": tune.uniform(0, 1), "net": tune.choice([Net(0.0), Net(0.1)])}
    stopper = RegretBoundStopper(space=spec, metric="loss", mode="min", epsilon=1e-9)
    results = experiment(
        tmp_path, objectives.takes_apart, None, stopper, param_space=spec, callbacks=[stopper], num_samples=8
    )
    assert not any("none of its values" in said for said in log.at(logging.WARNING))
    certificate = certificate_of(results)
    assert certificate.n_excluded == results.num_errors
    assert certificate.n_observations == 8 - results.num_errors > 0


@pytest.mark.usefixtures("cluster")
@pytest.mark.xdist_group("ray")
def test_a_stopper_that_is_used_again_says_why_it_ends_the_experiment(tmp_path, log):
    stopper = RegretBoundStopper(**ALONE, rule=Target(1.0))
    for path in (tmp_path / "first", tmp_path / "second"):
        experiment(path, objectives.one_report, None, stopper, param_space=space(), callbacks=[stopper], num_samples=3)
    assert stopper.stop_all()
    assert [said.split(",")[0] for said in log.at(logging.WARNING)] == ["The stopper has ended an experiment before"]
    assert [said.split(".")[0] for said in log.at(logging.INFO)] == 2 * ["The experiment stops"]

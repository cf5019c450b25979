"""Experiments that are over and hold what a replay could take for something else; and searches without a value."""

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")

from ray import tune
from ray.tune.search.optuna import OptunaSearch
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of, replay

from regretstop import UCBbr
from tests.integrations.ray.forms import RunConfig, report

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.usefixtures("cluster")]
SPACE = {"x": tune.uniform(0.0, 1.0)}
RULE = UCBbr(epsilon=0.01)


def run(trainable: Any, path: Path, search: Any, n: int, at_once: int = 1, space: Any = None, **options: Any) -> Any:
    tuner = tune.Tuner(
        trainable,
        param_space=space or SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=n, max_concurrent_trials=at_once
        ),
        run_config=RunConfig(verbose=0, storage_path=str(path), name="over", **options),
    )
    return tuner.fit()


def bowl(config: dict[str, Any]) -> None:
    report({"loss": (config["x"] - 0.4) ** 2})


def slow_bowl(config: dict[str, Any]) -> None:
    time.sleep(0.5)
    bowl(config)


class Odd(tune.Trainable):
    """Reports an array now and then."""

    def setup(self, config: dict[str, Any]) -> None:
        self.x = config["x"]

    def step(self) -> dict[str, Any]:
        loss = (self.x - 0.4) ** 2
        return {"loss": np.array([loss, loss]) if self.x > 0.5 else loss, "done": True}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Nothing is worth keeping."""


def test_another_searchers_state_is_none_of_ours(tmp_path: Path) -> None:
    stopper = RegretBoundStopper(space=SPACE, metric="loss", mode="min", rule=RULE)
    results = run(bowl, tmp_path, OptunaSearch(seed=0), 8, stop=stopper, callbacks=[stopper])
    with pytest.raises(ValueError, match="space must be given for an experiment without a GPUCBSearch"):
        replay(results, RULE)
    assert len(replay(results, RULE, space=SPACE).observations) == len(results)
    with pytest.raises(ValueError, match="the saved state is that of another searcher"):
        GPUCBSearch(seed=0).restore_from_dir(results.experiment_path)
    pytest.importorskip("typer")
    from regretstop_cli._sources import open_search

    options: dict[str, Any] = {"value": "loss", "direction": "minimize"}
    assert open_search(results.experiment_path, None, ranges=["x=0:1"], **options).n_trials == len(results)


def test_trials_that_ran_when_the_experiment_ended_are_no_failures(tmp_path: Path) -> None:
    search = GPUCBSearch(seed=0)
    trainable = tune.with_resources(slow_bowl, {"cpu": 0.5})
    results = run(trainable, tmp_path, search, -1, at_once=4, stop=RegretBoundStopper(search, rule=RULE))
    certificate = certificate_of(results)
    assert certificate is not None
    assert certificate.stop
    n = certificate.n_observations
    assert n < len(results)
    found = replay(results, RULE, space=SPACE)
    assert len(found.observations) < len(results)
    assert found.certificates[n - 1].n_observations == n
    assert all(each.n_excluded == 0 for each in found.certificates)


def test_an_array_is_no_value_and_ends_no_replay(tmp_path: Path) -> None:
    search = GPUCBSearch(seed=0)
    results = run(Odd, tmp_path, search, 10)
    for found in (replay(results, RULE), replay(results, RULE, space=SPACE)):
        values = {o.params["x"]: o.value for o in found.observations}
        assert len(values) == 10
        assert all(np.isfinite(value) == (x <= 0.5) for x, value in values.items())
        assert 0 < sum(map(np.isfinite, values.values())) < 10


def test_a_directory_does_not_tell_on_what_a_parameter_depends(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from regretstop_cli._sources import open_search

    branches = [{"kind": "svc", "C": tune.uniform(0.0, 1.0)}, {"kind": "forest", "depth": tune.randint(1, 9)}]

    def train(config: dict[str, Any]) -> None:
        report({"loss": config["m"].get("C", 1.0) ** 2})

    results = run(train, tmp_path, None, 8, space={"m": tune.choice(branches)})
    with pytest.raises(ValueError, match=r"no trial .* has all of 'm/C', 'm/depth', 'm/kind'.*space=param_space"):
        open_search(results.experiment_path, None, value="loss", direction="minimize", ranges=[])


@pytest.mark.parametrize(
    ("result", "said", "after"),
    [
        ({"accuracy": 0.5}, "has no metric 'loss', but 'accuracy'", 1),
        ({}, "has no metric 'loss', but none", 1),
        ({"loss": "0.5"}, "has '0.5' as 'loss', which is no finite number", 3),
        ({"loss": float("nan")}, "has nan as 'loss', which is no finite number", 3),
    ],
)
def test_a_search_in_which_no_trial_has_a_value_is_warned_of_once(
    result: dict[str, Any], said: str, after: int, log: Any
) -> None:
    search = GPUCBSearch(space=SPACE, metric="loss", mode="min", seed=0)
    for i in range(6):
        config = search.suggest(str(i))
        search.on_trial_complete(str(i), {**result, "config": config, "training_iteration": 1})
        assert len(log.at(logging.WARNING)) == (i + 1 >= after)
    assert said in log.at(logging.WARNING)[0]


def test_one_trial_without_a_value_is_an_accident(log: Any) -> None:
    search = GPUCBSearch(space=SPACE, metric="loss", mode="min", seed=0)
    for i, value in enumerate([float("nan"), float("nan"), 1.0, float("nan"), float("nan")]):
        config = search.suggest(str(i))
        search.on_trial_complete(str(i), {"loss": value, "config": config, "training_iteration": 1})
    search.on_trial_complete("5", {"config": search.suggest("5")}, error=True)
    assert not log.at(logging.WARNING)

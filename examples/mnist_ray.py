"""Tune the network of `mnist_task.py` with Ray Tune, two trainings at a time, and stop when the search is good enough.

python examples/mnist_ray.py      # a few minutes on two cores
"""

import sys
from pathlib import Path

import ray
from mnist_task import SMALL, validation_accuracy
from ray import tune
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

SIZE = SMALL
EPSILON = 0.03
TRIALS = 100


def train(config: dict) -> None:
    tune.report({"accuracy": validation_accuracy(config, size=SIZE)})


def main() -> None:
    # The workers import `mnist_task` too.
    ray.init("local", num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": sys.path[0]}})
    space = {
        "filters": tune.randint(SIZE.filters[0], SIZE.filters[1] + 1),  # Tune excludes the upper bound
        "epochs": tune.randint(SIZE.epochs[0], SIZE.epochs[1] + 1),
        "lr": tune.loguniform(*SIZE.lr),
        "dropout": tune.uniform(*SIZE.dropout),
    }
    search = GPUCBSearch(seed=0)
    tuner = tune.Tuner(
        train,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="accuracy", mode="max", search_alg=search, num_samples=TRIALS, reuse_actors=True
        ),
        run_config=tune.RunConfig(stop=RegretBoundStopper(search, epsilon=EPSILON), verbose=1),
    )
    results = tuner.fit()
    print(f"{len(results)} of {TRIALS} trainings; results in {Path(results.experiment_path)}")
    print(certificate_of(results))


if __name__ == "__main__":
    main()

"""Stop a Ray Tune experiment: on all machines of a Ray cluster if one is running, else on this one.

python examples/ray_tune.py [--storage DIRECTORY]      # one that all machines of a cluster can reach
"""

import argparse

import ray
from ray import tune
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of


def train(config: dict) -> None:
    width, count = config["width"], config["model"]["count"]
    tune.report({"loss": (width - 0.7) ** 2 + 0.3 * (count - 1) ** 2})


parser = argparse.ArgumentParser()
parser.add_argument("--storage")
args = parser.parse_args()
try:
    ray.init(address="auto")
except ConnectionError:
    ray.init("local", num_cpus=2, include_dashboard=False)

space = {"width": tune.uniform(-2.0, 2.0), "model": {"count": tune.randint(-3, 4), "kind": "small"}}
search = GPUCBSearch(seed=0)
tuner = tune.Tuner(
    train,
    param_space=space,
    tune_config=tune.TuneConfig(metric="loss", mode="min", search_alg=search, num_samples=-1, reuse_actors=True),
    run_config=tune.RunConfig(stop=RegretBoundStopper(search, epsilon=0.1), storage_path=args.storage, verbose=1),
)
results = tuner.fit()

print(f"{len(results)} trials, results in {results.experiment_path}")
print(certificate_of(results))

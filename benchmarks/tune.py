"""What the Ray Tune adapter costs: a suggestion, a question, and a whole experiment beside Optuna's searcher."""

import json
import logging
import os
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch
from regretstop_ray import GPUCBSearch, RegretBoundStopper

from benchmarks.progress import track
from benchmarks.records import RESULTS, provenance
from benchmarks.timing import interleaved, machine

PATH = RESULTS / "tune.json"
N_TRIALS = 30
_N, _DIM = 1000, 6
# Far below what the noise lets a bound reach: an experiment that stops early would skip the work that is to be timed.
_NOISE_STD = 0.05
_EPSILON = 1e-3


def run(repetitions: int) -> None:
    """Time everything and write the file."""
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    result: dict[str, Any] = {"machine": machine(), **provenance(), "ray": ray.__version__, "results": {}}
    sections: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("suggest", lambda: _suggest(repetitions)),
        ("whole run", lambda: _whole_run(repetitions)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, section in track(sections, "tune"):
            result["results"][name] = section()
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(json.dumps(result, indent=1))


def _suggest(repetitions: int) -> dict[str, Any]:
    """Time the calls after the thousandth trial of a six-dimensional experiment."""
    rng = np.random.default_rng(0)
    points = rng.random((_N + repetitions, _DIM))
    values = np.sum((points - 0.3) ** 2, axis=1) + _NOISE_STD * rng.standard_normal(len(points))
    search = GPUCBSearch(seed=0)
    search.set_search_properties("loss", "min", {f"x{j}": tune.uniform(0, 1) for j in range(_DIM)})
    stopper = RegretBoundStopper(search, epsilon=_EPSILON)
    trials = [({f"x{j}": float(v) for j, v in enumerate(x)}, float(y)) for x, y in zip(points, values, strict=True)]
    for config, value in trials[: _N - 1]:
        search.add_evaluated_point(config, value)
    search.suggest("first")  # what a new process computes once: the earlier checkpoints of the fit

    def after_a_trial(repetition: int) -> None:
        search.add_evaluated_point(*trials[_N - 1 + repetition])

    def suggestion(repetition: int) -> Callable[[], object]:
        after_a_trial(repetition)
        stopper.stop_all()
        return lambda: search.suggest(f"timed {len(search.log.trials)}")

    def decision(repetition: int) -> Callable[[], object]:
        after_a_trial(repetition)
        return stopper.stop_all

    times = interleaved(
        {"stop_all after a trial, with the fit": decision, "suggest, after it": suggestion}, repetitions
    )
    return times | interleaved({"stop_all, nothing new": lambda _: stopper.stop_all}, repetitions, number=1000)


def _whole_run(repetitions: int) -> dict[str, Any]:
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)

    def train(config: dict[str, Any]) -> None:
        noise = np.random.default_rng(int(1e9 * config["x"])).standard_normal()
        tune.report({"loss": (config["x"] - 0.3) ** 2 + (config["y"] - 0.6) ** 2 + _NOISE_STD * noise})

    def experiment(search: Any, stop: Any, directory: str) -> None:
        tune.Tuner(
            train,
            param_space={"x": tune.uniform(0, 1), "y": tune.uniform(0, 1)},
            tune_config=tune.TuneConfig(
                metric="loss", mode="min", search_alg=search, num_samples=N_TRIALS, reuse_actors=True
            ),
            run_config=tune.RunConfig(storage_path=directory, stop=stop, verbose=0),
        ).fit()

    with tempfile.TemporaryDirectory() as directory:

        def ours(repetition: int) -> Callable[[], object]:
            search = GPUCBSearch(seed=repetition)
            stopper = RegretBoundStopper(search, epsilon=_EPSILON)
            return lambda: experiment(search, stopper, directory)

        def theirs(repetition: int) -> Callable[[], object]:
            search = OptunaSearch(seed=repetition)
            return lambda: experiment(search, None, directory)

        times = interleaved({"ours, searcher and stopper": ours, "OptunaSearch": theirs}, repetitions)
    ray.shutdown()
    return times

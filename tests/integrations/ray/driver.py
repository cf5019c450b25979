"""A process of its own that runs an experiment, and leaves its certificate in DIRECTORY/certificates.json.

run      in a local Ray; with --kill-after N it kills itself by SIGKILL after N trials
restore  the experiment of such a run, and once more when it has ended: two certificates
client   through Ray Client
nodes    on three nodes, one of which is killed
"""

import argparse
import json
import logging
import os
import signal
import socket
import time
from pathlib import Path

import ray
from ray import tune
from ray.cluster_utils import Cluster
from ray.tune.search.optuna import OptunaSearch
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from tests.integrations.ray.forms import FailureConfig, RunConfig
from tests.integrations.ray.objectives import EPSILON, one_report, slow_report, space
from tests.integrations.ray.restorable import is_restorable

TRAINABLES = {"run": one_report, "restore": one_report, "client": one_report, "nodes": slow_report}


def n_ended(trials) -> int:
    return sum(trial.status == "TERMINATED" for trial in trials)


class KillAfter(tune.Callback):
    """Kills the process that made it, not one that restores it."""

    def __init__(self, n: int, directory: str) -> None:
        self.n = n
        self.directory = directory
        self.process = os.getpid()

    def on_step_end(self, iteration, trials, **info) -> None:
        if os.getpid() == self.process and n_ended(trials) >= self.n and is_restorable(Path(self.directory)):
            os.kill(os.getpid(), signal.SIGKILL)


class RemoveNode(tune.Callback):
    """Kills a node once four trials have ended, before the experiment makes its next step."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.node = cluster.add_node(num_cpus=1)
        self.killed = False

    def on_step_end(self, iteration, trials, **info) -> None:
        if not self.killed and n_ended(trials) >= 4:
            self.cluster.remove_node(self.node, allow_graceful=False)
            self.killed = True

    def __getstate__(self) -> dict:
        return {}  # Tune writes it down with the experiment, and a cluster cannot be


def tuner_for(command: str, directory: str, kind: str, callback: tune.Callback | None) -> tune.Tuner:
    if kind == "search":
        search = GPUCBSearch(seed=0)
        stopper, callbacks = RegretBoundStopper(search, epsilon=EPSILON), []
    else:
        search = OptunaSearch(seed=0)
        stopper = RegretBoundStopper(space=space(), metric="loss", mode="min", epsilon=EPSILON)
        callbacks = [stopper]
    if callback is not None:
        callbacks.append(callback)
    return tune.Tuner(
        TRAINABLES[command],
        param_space=space(),
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=60, reuse_actors=command != "nodes"
        ),
        run_config=RunConfig(
            name="experiment",
            storage_path=directory,
            stop=stopper,
            callbacks=callbacks,
            verbose=0,
            failure_config=FailureConfig(max_failures=3),
        ),
    )


def main(command: str, directory: str, kind: str, kill_after: int | None) -> None:
    cluster = None
    callback = None if kill_after is None else KillAfter(kill_after, directory)
    if command == "client":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        head = {"num_cpus": 2, "include_dashboard": False, "ray_client_server_port": port}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        for attempt in range(300):
            try:
                ray.init(f"ray://127.0.0.1:{port}", log_to_driver=False)
                break
            except ConnectionError:
                if attempt == 299:
                    raise
                time.sleep(1)
    elif command == "nodes":
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
        callback = RemoveNode(cluster)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        cluster.wait_for_nodes()
    else:
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)

    certificates = []
    for _ in range(2 if command == "restore" else 1):
        if command == "restore":
            tuner = tune.Tuner.restore(os.path.join(directory, "experiment"), TRAINABLES[command])
        else:
            tuner = tuner_for(command, directory, kind, callback)
        results = tuner.fit()
        assert command != "nodes" or callback.killed
        certificate = certificate_of(results)
        assert certificate is not None
        certificates.append({"n": len(results), **certificate.to_dict()})
    # Not on the standard output, where Ray reports its dead nodes whenever it hears of them.
    Path(directory, "certificates.json").write_text(json.dumps(certificates))
    ray.shutdown()
    if cluster is not None:
        cluster.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=TRAINABLES)
    parser.add_argument("directory")
    parser.add_argument("kind", choices=["search", "alone"], nargs="?", default="search")
    parser.add_argument("--kill-after", type=int)
    main(**vars(parser.parse_args()))

"""What a user does around one experiment: starts from what is known, limits its time, and goes on with more trials."""

import numpy as np
import pytest
from ray import tune
from ray.tune.stopper import CombinedStopper, TimeoutStopper
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from tests.integrations.ray import objectives
from tests.integrations.ray.objectives import space
from tests.integrations.ray.test_ray_experiments import experiment

pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.xdist_group("ray")]


def test_trainables_get_given_points_as_tune_would_have_sampled_them(tmp_path):
    """Numbers of a table, a list for a list and constants, one of which Tune hides from searchers."""
    spec = {
        **space(),
        "n": tune.qlograndint(10, 1000, 10),
        "lr": tune.qloguniform(1e-4, 1e-1, 1e-4),
        "sizes": tune.choice([[32], [64, 64]]),
        "seed": 0,
        "weights": np.ones(3),
    }
    pasted = {"x": 0.25, "model": {"k": 1, "width": 64}, "n": 100, "lr": 0.01, "sizes": [64, 64], "seed": 0}
    table = {"n": np.int64(100), "lr": np.float32(0.01), "model/k": np.float64(2), "sizes": np.array([32])}
    points = [{**pasted, "weights": np.ones(3)}, table]
    search = GPUCBSearch(seed=0, points_to_evaluate=points)
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    results = experiment(tmp_path, objectives.one_report, search, stopper, param_space=spec, num_samples=3)
    assert results.num_errors == 0
    first, second = (next(r.config for r in results if r.metrics["trial_id"] == i) for i in list(search.log.trials)[:2])
    assert {k: v for k, v in first.items() if k != "weights"} == pasted
    assert (second["n"], second["lr"], second["model"], second["sizes"]) == (100, 0.01, {"k": 2, "width": 64}, [32])
    for config in (first, second):
        assert [type(config[name]) for name in ("n", "lr", "x")] == [int, float, float]
        assert type(config["model"]["k"]) is int
    assert [o.params["n"] for o in search.log.observations()][:2] == [10, 10]
    assert certificate_of(results).n_observations == 3


def test_trials_run_side_by_side(tmp_path):
    """Each ends once another one has begun: a search that waits for results would have none that met another."""
    (tmp_path / "meeting").mkdir()
    search = GPUCBSearch(seed=0)
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    spec = {**space(), "meeting": str(tmp_path / "meeting")}
    results = experiment(tmp_path, objectives.needs_company, search, stopper, param_space=spec, num_samples=3)
    assert all(result.metrics["met"] for result in results)


def test_a_time_limit_beside_ours_and_more_trials_later(tmp_path):
    """Whenever the limit strikes, it is no decision of ours; what was running then is not waited for for ever."""
    search = GPUCBSearch(seed=0)
    stopper = CombinedStopper(RegretBoundStopper(search, epsilon=1e-9), TimeoutStopper(2))
    results = experiment(tmp_path, objectives.slow_report, search, stopper, num_samples=-1)
    known = len(search.log.observations())
    certificate = certificate_of(results)
    assert certificate is None or not certificate.stop
    assert known <= sum("loss" in (result.metrics or {}) for result in results)
    further = GPUCBSearch(seed=0)
    further.restore_from_dir(results.experiment_path)
    stopper = RegretBoundStopper(further, epsilon=1e-9)
    more = experiment(tmp_path / "more", objectives.one_report, further, stopper, num_samples=2)
    assert len(more) == 2
    assert further.log.pending() == []
    assert certificate_of(more).n_observations == known + 2

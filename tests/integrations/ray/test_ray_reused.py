"""Trials that Tune ends or restarts out of turn, and a search that serves more than one experiment."""

import math
import pickle

import pytest
from ray import tune
from ray.tune.search import Searcher
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of, replay

from regretstop import OptimalityGap, Target, UCBbr
from tests.integrations.ray.objectives import space, value
from tests.integrations.ray.test_ray_search import result, run, searcher

LOOSE = OptimalityGap(10.0, beta="grid")


def flat(config, loss, step, **more):
    """A result of a trial with its whole configuration, as Tune hands it to a searcher."""
    names = {"config/x": config["x"], "config/model/k": config["model"]["k"]}
    return {"loss": loss, "training_iteration": step, **names, **more}


def report(search, stopper, trial_id, config, n, *, done_with_last):
    """Report n results as Tune does: to the stopper first, and to the searcher what does not end the trial."""
    for step in range(1, n + 1):
        last = step == n and done_with_last
        reported = flat(config, value(config), step, done=last)
        if stopper is not None:
            stopper(trial_id, reported)
        if not last:
            search.on_trial_result(trial_id, reported)
    search.on_trial_complete(trial_id, flat(config, value(config), n, done=True))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("done_with_last", [True, False], ids=["class", "function"])
def test_trials_that_tune_restarts_under_new_ids_are_whole(n, done_with_last):
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    for i in range(8):
        config = search.suggest(f"trial-{i}")
        trial_id = f"trial-{i}"
        if i % 2:
            search.on_trial_complete(trial_id, error=True)
            trial_id = f"again-{i}"
        report(search, stopper, trial_id, config, n, done_with_last=done_with_last)
    stopper.stop_all()
    certificate = certificate_of(stopper)
    assert (certificate.n_observations, certificate.n_excluded) == (8, 4)
    assert certificate.bound < math.inf
    assert search.log.pending() == []


def test_a_restarted_trial_keeps_others_away_while_it_runs():
    search = searcher()
    run(search, 6)
    search.on_trial_result("again", flat({"x": 0.5, "model": {"k": 2}}, 0.1, 1))
    assert search.log.pending() == [{"x": 0.5, "model/k": 2}]


def test_a_trial_that_changes_its_configuration_is_not_certified():
    search = searcher()
    stopper = RegretBoundStopper(search, rule=LOOSE, max_t=2)
    run(search, 6)
    config = search.suggest("exploits")
    search.on_trial_result("exploits", flat(config, 0.1, 1))
    search.on_trial_complete("exploits", flat({**config, "x": config["x"] / 2}, 0.05, 2))
    assert not stopper.stop_all()
    assert "trial exploits changed its configuration while it ran" in certificate_of(stopper).reason


def test_trials_that_are_paused_and_then_ended_are_remembered():
    """As HyperBand does: what ran is cut short, and its point is not suggested again."""
    search = searcher()
    stopper = RegretBoundStopper(search, rule=LOOSE, max_t=9)
    configs = []
    for i in range(3):
        configs.append(search.suggest(f"paused-{i}"))
        search.on_trial_result(f"paused-{i}", flat(configs[i], 9.0, 3))
        search.on_trial_complete(f"paused-{i}")
    assert [o.value for o in search.log.observations()] == 3 * [None]
    assert search.log.pending() == []
    assert search.suggest("next") not in configs
    again = GPUCBSearch(seed=0)
    again.set_state(pickle.loads(pickle.dumps(search.get_state())))
    assert [o.value for o in again.log.observations()] == 3 * [None]
    assert not stopper.stop_all()


def test_a_trial_that_is_ended_at_its_full_length_has_its_last_value():
    search = searcher()
    stopper = RegretBoundStopper(search, rule=LOOSE, max_t=3)
    config = search.suggest("whole")
    for step in (1, 2, 3):
        search.on_trial_result("whole", flat(config, 1 / step, step))
    search.on_trial_complete("whole")
    assert [o.value for o in stopper.log.observations()] == [1 / 3]


def test_where_no_stopper_watched_the_longest_trials_are_whole(tmp_path):
    """Class trainables say that they are done to a stopper only."""
    search = searcher()
    for i in range(8):
        report(search, None, f"trial-{i}", search.suggest(f"trial-{i}"), 1 if i == 7 else 2, done_with_last=True)
    search.save(str(tmp_path / "state"))
    restored = GPUCBSearch()
    restored.restore(str(tmp_path / "state"))
    for source in (search, restored):
        certificate = certificate_of(source, UCBbr(0.01))
        assert certificate.bound < math.inf
        assert certificate.n_observations == 7
        assert len(replay(source, UCBbr(0.01)).certificates) == 8
    # A stopper that watches from now on knows what those before were.
    stopper = RegretBoundStopper(restored, epsilon=1e-9)
    report(restored, stopper, "later", restored.suggest("later"), 2, done_with_last=True)
    stopper.stop_all()
    assert certificate_of(stopper).n_observations == 8


@pytest.mark.parametrize("on_stop", ["kill", "drain"])
@pytest.mark.parametrize("decided", [True, False])
def test_stoppers_of_an_earlier_experiment_do_not_end_the_next_one(on_stop, decided):
    search = searcher()
    first = RegretBoundStopper(search, rule=LOOSE if decided else Target(0.0), on_stop=on_stop)
    n = len(run(search, 6))
    assert first.stop_all() == (decided and on_stop == "kill")
    search.set_search_properties("loss", "min", space())
    second = RegretBoundStopper(search, epsilon=1e-9)
    assert search.log.watchers.epsilon == 1e-9
    for i in range(2):
        assert len(run(search, 1, first=n + i, f=lambda config: -1.0)) == 1
        assert not second.stop_all()
    assert certificate_of(second).n_observations == n + 2
    assert not certificate_of(second).stop
    assert certificate_of(second).epsilon == 1e-9
    assert certificate_of(first).stop == decided


def test_the_same_stopper_ends_the_next_experiment_and_says_so(log):
    search = searcher()
    for on_stop in ("kill", "drain"):
        stopper = RegretBoundStopper(search, rule=LOOSE, on_stop=on_stop)
        run(search, 6)
        stopper.stop_all()
        search.set_search_properties("loss", "min", space())
        first = search.suggest("before Tune has asked the stopper")
        assert first != Searcher.FINISHED
        assert stopper.stop_all() == (on_stop == "kill")
        if on_stop == "drain":
            assert search.suggest("after") == Searcher.FINISHED
        search.set_search_properties("loss", "min", space())
    assert sum("ended an experiment before" in record.getMessage() for record in log.records) == 2


@pytest.mark.parametrize(("metric", "mode"), [("acc", "min"), ("loss", "max")])
def test_two_objectives_are_not_mixed(metric, mode, tmp_path):
    search = searcher()
    run(search, 3)
    search.save(str(tmp_path / "state"))
    restored = GPUCBSearch()
    restored.restore(str(tmp_path / "state"))
    for known in (search, restored):
        with pytest.raises(ValueError, match=r"the trials that the search knows are of.*make a new search"):
            known.set_search_properties(metric, mode, space())
        assert (known.metric, known.mode, known.log.metric, known.log.mode) == ("loss", "min", "loss", "min")
    other = GPUCBSearch()
    other.set_search_properties(metric, mode, space())
    run(other, 1, f=lambda config: {"loss": 1.0, "acc": 1.0}[metric])
    with pytest.raises(ValueError, match="make a new search"):
        other.restore(str(tmp_path / "state"))
    fresh = searcher()
    assert fresh.set_search_properties(metric, mode, space())  # without trials there is nothing to mix


def test_constants_of_its_own_space_reach_the_trainable():
    svc = {"kind": "svc", "C": tune.uniform(0, 1), "fixed": [1, 2]}
    spec = {**space(), "epochs": 3, "deep": {"a": {"b": None}, "m": tune.choice([svc, {"kind": "mean"}])}}
    search = GPUCBSearch(space=spec, metric="loss", mode="min", seed=0)
    for i in range(6):
        config = search.suggest(f"trial-{i}")
        assert (config["epochs"], config["model"]["width"], config["deep"]["a"]) == (3, 64, {"b": None})
        assert config["deep"]["m"] == {"kind": "mean"} or config["deep"]["m"].keys() == svc.keys()
        assert config["deep"]["m"].get("fixed", [1, 2]) == [1, 2]
        search.on_trial_complete(f"trial-{i}", result(config, value(config)))
    assert all(record.config.keys() == {"x", "model", "deep"} for record in search.log.trials.values())


def test_without_a_metric_it_says_where_to_give_it():
    with pytest.raises(RuntimeError, match=r"param_space: give them to the search, GPUCBSearch\(space=\.\.\., metric="):
        GPUCBSearch(space=space()).suggest("a")

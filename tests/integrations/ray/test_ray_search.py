"""The searcher, called as Tune calls it."""

import copy
import math
import pickle

import numpy as np
import pytest
from ray import tune
from ray.tune.search import Searcher
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from regretstop import GPUCB, AcquisitionThreshold, GaussianProcess, Matern52, OptimalityGap
from tests.integrations.ray.objectives import EPSILON, space, value


def searcher(**arguments):
    search = GPUCBSearch(**{"seed": 0, **arguments})
    assert search.set_search_properties("loss", "min", space())
    return search


def result(config, loss, **more):
    """A result as Tune hands it to a searcher: flat."""
    return {"loss": loss, "done": True, "training_iteration": 1, "config/x": config.get("x"), **more}


def run(search, n, f=value, first=0):
    """Evaluate up to n suggestions one after the other, until the search is finished; return them."""
    configs = []
    for i in range(first, first + n):
        config = search.suggest(f"trial-{i}")
        if config == Searcher.FINISHED:
            break
        configs.append(config)
        search.on_trial_result(f"trial-{i}", result(configs[-1], f(configs[-1])))
        search.on_trial_complete(trial_id=f"trial-{i}", result=result(configs[-1], f(configs[-1])))
    return configs


@pytest.mark.parametrize(
    "options", [{}, {"exceedance": 0.1}, {"surrogate": GaussianProcess(hyperparameters="posterior"), "beta": "matched"}]
)
def test_it_suggests_what_the_core_would_ask(options):
    search = searcher(**options)
    optimizer = GPUCB(search.log.space.space, direction="minimize", seed=0, **options)
    for config in run(search, 9):
        params = optimizer.ask()
        assert search.log.space.params(config) == params
        optimizer.tell(params, value(config))


@pytest.mark.parametrize(
    ("rules", "options", "sought"),
    [
        ([OptimalityGap(EPSILON / 100, beta="grid")], {}, EPSILON / 100),
        ([OptimalityGap(EPSILON / 10, beta="grid"), OptimalityGap(EPSILON / 100, beta="grid")], {}, EPSILON / 100),
        ([OptimalityGap(EPSILON / 100, beta="grid")], {"exceedance": None}, None),
        ([OptimalityGap(EPSILON / 100, beta="grid")], {"beta": "theory"}, None),
        ([AcquisitionThreshold(1e-9)], {}, None),
    ],
)
def test_it_looks_for_what_its_stoppers_would_not_stop_for(rules, options, sought):
    search = searcher(**options)
    stoppers = [RegretBoundStopper(search, rule=rule) for rule in rules]
    assert len(search.log.watchers) == len(stoppers)
    optimizer = GPUCB(search.log.space.space, direction="minimize", seed=0, **options | {"exceedance": sought})
    for config in run(search, 9):
        params = optimizer.ask()
        assert search.log.space.params(config) == params
        optimizer.tell(params, value(config))


def test_it_maximises_the_mirrored_metric_alike():
    mirrored = GPUCBSearch(seed=0)
    assert mirrored.set_search_properties("loss", "max", space())
    assert run(searcher(), 9) == run(mirrored, 9, f=lambda config: -value(config))


def test_suggestions_are_native_and_hold_what_is_tunable_only():
    for config in run(searcher(), 8):
        assert set(config) == {"x", "model"}
        assert set(config["model"]) == {"k"}
        assert type(config["x"]) is float
        assert type(config["model"]["k"]) is int


def test_running_trials_keep_others_away():
    search = searcher(n_initial_points=1)
    run(search, 6)
    configs = [search.suggest(f"parallel-{i}") for i in range(6)]
    points = np.array([[c["x"], c["model"]["k"] / 3] for c in configs])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(6)
    assert distances.min() > 1e-5  # otherwise all six would be the same point


def test_a_trial_that_never_ran_frees_its_point():
    search = searcher()
    run(search, 6)
    wanted = search.suggest("a")
    assert search.suggest("b") != wanted
    for trial_id in "ab":
        search.on_trial_complete(trial_id)
    assert search.suggest("c") == wanted


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, None, "much", True, [1.0, 2.0], 10**400])
def test_a_value_that_is_no_number_is_not_fitted(loss):
    search = searcher()
    configs = run(search, 7)
    bad = search.suggest("bad")
    search.on_trial_complete(trial_id="bad", result=result(bad, loss))
    observations = search.log.observations()
    assert [o.value for o in observations[:7]] == [value(c) for c in configs]
    assert math.isnan(observations[7].value)
    # The search goes on elsewhere.
    assert search.suggest("next") != bad


def test_numpy_and_integer_values_are_numbers():
    search = searcher()
    for i, loss in enumerate([np.float32(0.5), np.int64(2), 3]):
        search.suggest(str(i))
        search.on_trial_complete(trial_id=str(i), result=result({"x": 0.5}, loss))
    assert [o.value for o in search.log.observations()] == [0.5, 2.0, 3.0]


def test_another_experiment_forgets_the_trials_that_the_last_one_left_running(tmp_path):
    """They were ended with it, and nobody evaluates their points any more."""
    search = searcher()
    run(search, 6)
    left = [search.suggest(f"left {i}") for i in range(2)]
    search.save(str(tmp_path / "state.pkl"))
    further = GPUCBSearch(seed=0)
    further.restore(str(tmp_path / "state.pkl"))
    assert len(further.log.pending()) == 2
    further.set_search_properties("loss", "min", space())
    assert further.log.pending() == []
    assert further.suggest("next") == left[0]


def test_the_same_experiment_goes_on_with_the_trials_that_it_left_running(tmp_path):
    """Tune sets the properties of a restored searcher first, and then its state."""
    search = searcher()
    run(search, 6)
    left = search.suggest("left")
    search.save(str(tmp_path / "state.pkl"))
    for restored in (GPUCBSearch(seed=0), search):  # in another process, and in this one
        restored.set_search_properties("loss", "min", space())
        restored.restore(str(tmp_path / "state.pkl"))
        assert restored.log.pending() == [restored.log.space.params(left)]
        restored.on_trial_complete(trial_id="left", result=result(left, 0.5))
        assert [o.value for o in restored.log.observations()][6] == 0.5


def test_errors_and_missing_metrics_are_failures():
    search = searcher()
    run(search, 6)
    for trial_id, arguments in {
        "errored": {"result": None, "error": True},
        "errored late": {"result": {"loss": -100.0}, "error": True},
        "silent": {"result": {"done": True, "training_iteration": 1}},
    }.items():
        search.suggest(trial_id)
        search.on_trial_complete(trial_id=trial_id, **arguments)
    assert all(math.isnan(o.value) for o in search.log.observations()[6:])
    assert isinstance(search.suggest("next"), dict)


def test_it_never_returns_none(log):
    search = searcher(
        surrogate=GaussianProcess(
            kernel=Matern52(lengthscales=[1.0], outputscale=1.0), hyperparameters="fixed", noise_std=0.1
        )
    )
    # One lengthscale for two parameters: only a look at the space shows that.
    assert all(isinstance(config, dict) for config in run(search, 8))
    assert len(log.records) == 1
    assert "lengthscales" in log.records[0].getMessage()


def test_the_constructors_space_is_kept():
    search = GPUCBSearch(space=space(), metric="loss", mode="min", seed=0)
    assert search.set_search_properties("loss", "min", {"constant": 3})
    assert not search.set_search_properties("loss", "min", space())  # Tune says then what is wrong
    # Tune itself adds the constants of its own space only.
    wanted = [{**config, "model": {**config["model"], "width": 64}} for config in run(searcher(), 3)]
    assert run(search, 3) == wanted


def test_the_same_space_can_be_set_again():
    search = searcher()
    run(search, 6)
    version = search.log.version
    assert search.set_search_properties("loss", "min", space())
    assert search.log.version == version


def test_a_widened_space_and_a_new_parameter_keep_the_data_that_still_count():
    search = searcher()
    run(search, 6)
    wide = {**space(), "x": tune.uniform(-5, 5)}
    assert search.set_search_properties("loss", "min", wide)
    assert all(set(o.params) == {"x", "model/k"} for o in search.log.observations())
    assert isinstance(search.suggest("wide"), dict)
    assert search.set_search_properties("loss", "min", {**wide, "z": tune.uniform(0, 1)})
    assert set(search.suggest("more")) == {"x", "model", "z"}


def test_points_to_evaluate_come_first():
    points = [{"x": 0.25, "model": {"k": 1}}, {"x": 7.0, "model": {"k": 0}}]
    search = searcher(points_to_evaluate=points)
    configs = run(search, 4)
    assert configs[:2] == points
    # 7 lies outside the range: data, but nothing to recommend.
    assert certificate_of_log(search).n_observations == 4


def certificate_of_log(search):
    stopper = RegretBoundStopper(search, rule=OptimalityGap(epsilon=1e-9, beta="grid"))
    stopper.stop_all()
    return certificate_of(stopper)


def test_evaluated_points_are_not_run_again():
    points = [{"x": x, "model": {"k": 0}} for x in (0.1, 0.5, 0.9)]
    search = searcher(points_to_evaluate=points, evaluated_rewards=[0.04, 0.04, math.nan])
    assert [o.value for o in search.log.observations()[:2]] == [0.04, 0.04]
    assert math.isnan(search.log.observations()[2].value)
    assert search.suggest("a") not in points


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"points_to_evaluate": [{"x": 0.1}], "evaluated_rewards": [0.5]},
            r"points_to_evaluate\[0\].*got none for model/k",
        ),
        ({"points_to_evaluate": [{"x": 0.1, "model": {"k": 0}, "y": 1}]}, "no such parameters: 'y'"),
        ({"points_to_evaluate": [{"x": "low", "model": {"k": 0}}]}, r"points_to_evaluate\[0\].*'low'"),
        ({"points_to_evaluate": [{"x": 0.1, "model": {"k": 0}}], "evaluated_rewards": []}, "evaluated_rewards"),
        ({"evaluated_rewards": [1.0]}, "evaluated_rewards must have one number for each of the 0"),
        ({"metric": ["a", "b"], "mode": ["min", "max"]}, "one objective"),
        ({"mode": "minimum"}, "mode must be 'min' or 'max', got 'minimum'"),
        ({"metric": 3}, "metric must be"),
        ({"beta": -1}, "beta.*-1"),
        ({"exceedance": -1}, "exceedance.*-1"),
        ({"seed": "zero"}, "seed.*'zero'"),
        ({"n_initial_points": 0}, "n_initial.*0"),
        ({"surrogate": GaussianProcess}, "surrogate must have guarantee, n_estimated and fit"),
    ],
)
def test_bad_arguments_are_named_before_the_first_trial(arguments, words):
    with pytest.raises(ValueError, match=words):
        searcher(**arguments)


def test_without_metric_mode_or_space_it_says_what_is_missing():
    with pytest.raises(ValueError, match="metric"):
        GPUCBSearch().set_search_properties(None, None, space())
    with pytest.raises(RuntimeError, match="no search space"):
        GPUCBSearch(metric="loss", mode="min").suggest("a")
    with pytest.raises(RuntimeError, match="metric"):
        GPUCBSearch(space=space()).suggest("a")


def test_a_mode_alone_means_the_returned_value():
    search = GPUCBSearch(seed=0)
    assert search.set_search_properties(None, "max", space())
    assert search.metric == "_metric"


def test_a_nested_metric():
    search = GPUCBSearch(seed=0)
    search.set_search_properties("eval/loss", "min", space())
    search.suggest("a")
    search.on_trial_complete(trial_id="a", result={"eval/loss": 0.5, "training_iteration": 1})
    assert [o.value for o in search.log.observations()] == [0.5]


def test_restarted_errored_trials_bring_their_parameters_with_their_results():
    search = searcher()
    run(search, 5)
    reported = {"loss": 0.125, "training_iteration": 1, "config/x": 0.5, "config/model/k": 2, "config/model/width": 64}
    search.on_trial_complete(trial_id="unknown", result=reported)
    last = search.log.observations()[-1]
    assert (last.params, last.value) == ({"x": 0.5, "model/k": 2}, 0.125)
    search.on_trial_complete(trial_id="nameless", result={"loss": 0.1})  # nothing says what it ran
    assert len(search.log.observations()) == 6


def test_a_trial_that_is_resumed_has_its_last_value():
    search = searcher()
    config = search.suggest("a")
    search.on_trial_complete(trial_id="a", error=True)
    search.on_trial_complete(trial_id="a", result=result(config, 0.25))
    assert [o.value for o in search.log.observations()] == [0.25]


def test_evaluations_from_elsewhere():
    search = searcher()
    search.add_evaluated_point({"x": 0.5, "model": {"k": 0, "width": 64}}, 0.04)
    search.add_evaluated_point({"x": 0.6, "model": {"k": 0}}, None, error=True)
    search.add_evaluated_point({"x": 0.7, "model": {"k": 0}}, 9.0, pruned=True)
    assert [o.params["x"] for o in search.log.observations()] == [0.5, 0.6]


def test_a_saved_searcher_goes_on_as_the_first_would_have(tmp_path):
    search = searcher(points_to_evaluate=[{"x": 0.25, "model": {"k": 1}}] * 7)
    run(search, 6)
    running = search.suggest("running")
    search.save(str(tmp_path / "state.pkl"))
    restored = GPUCBSearch(seed=0)  # Tune does not set the properties of a restored one
    restored.restore(str(tmp_path / "state.pkl"))
    assert restored.metric == "loss"
    assert restored.suggest("next") == search.suggest("next")
    restored.on_trial_complete(trial_id="running", result=result(running, 0.5))
    assert restored.log.observations()[6].value == 0.5


def test_a_state_is_plain_values_and_has_a_version(tmp_path):
    search = searcher()
    run(search, 3)
    search.save(str(tmp_path / "state.pkl"))

    class Loader(pickle.Unpickler):
        def find_class(self, module: str, name: str):
            assert not module.startswith("regretstop"), f"{module}.{name} can never be renamed"
            return super().find_class(module, name)

    with open(tmp_path / "state.pkl", "rb") as file:
        state = Loader(file).load()
    with pytest.raises(ValueError, match="version 1, got 99"):
        GPUCBSearch().set_state({**state, "version": 99})


def test_a_state_with_functions_of_no_name_is_saved(tmp_path):
    """In a `space=` of the searcher; those of a Tuner's space are hidden from it."""
    spec = {"x": tune.uniform(0, 1), "act": tune.choice([None, lambda x: max(x, 0)])}
    search = GPUCBSearch(space=spec, metric="loss", mode="min", seed=0)
    run(search, 6, f=lambda config: config["x"])
    search.save(str(tmp_path / "state.pkl"))
    restored = GPUCBSearch(seed=0)
    restored.restore(str(tmp_path / "state.pkl"))
    assert len(restored.log.observations()) == 6
    assert restored.suggest("next")["x"] == search.suggest("next")["x"]


def test_a_seedless_searcher_keeps_the_seed_it_drew():
    search = GPUCBSearch()
    search.set_search_properties("loss", "min", space())
    again = pickle.loads(pickle.dumps(search))
    assert again._seed == search._seed
    assert run(search, 1) != run(searcher(), 1)


def test_unpickling_meets_the_live_searcher_again_but_copying_makes_another():
    search = searcher()
    run(search, 2)
    assert pickle.loads(pickle.dumps(search)).log is search.log
    other = copy.deepcopy(search)
    run(other, 2, first=2)
    assert (len(search.log.trials), len(other.log.trials)) == (2, 4)


def test_files_of_different_age_complete_each_other():
    search = searcher()
    run(search, 3)
    search.suggest("trial-3")
    old = search.get_state()
    search.on_trial_complete(trial_id="trial-3", result=result({"x": 0.5}, 0.5))
    run(search, 1, first=4)
    for first, second in ((old, search.get_state()), (search.get_state(), old)):
        merged = GPUCBSearch(seed=0)
        merged.set_state(first)
        merged.set_state(second)
        assert merged.log.observations() == search.log.observations()
        assert merged.log.pending() == []


def test_a_finished_search_says_so_once():
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=EPSILON)
    assert len(run(search, 40)) < 40
    assert certificate_of(stopper).stop
    assert isinstance(search.suggest("of the next experiment"), dict)

"""Points to evaluate as users have them: pasted from another experiment, in part, or with lists and constants."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ray import tune
from ray.tune.utils import flatten_dict
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from tests.integrations.ray.test_ray_complaints import over
from tests.integrations.ray.test_ray_search import result, run


def spec():
    return {
        "x": tune.uniform(0, 1),
        "net": {"k": tune.randint(0, 4), "width": 64, "deep": {"act": tune.choice(["relu", "tanh"]), "bias": True}},
        "sizes": tune.choice([[32], [64, 64], (16,)]),
        "layers": [tune.randint(1, 3), 16, {"drop": tune.uniform(0, 1)}],
        "seed": 0,
        "data": {"path": "somewhere", "splits": [0.8, 0.2], "mean": math.nan},
        "nothing": None,
        "empty": {},
    }


def whole():
    """A configuration of an experiment, as its results have it."""
    return {
        "x": 0.25,
        "net": {"k": 2, "width": 64, "deep": {"act": "tanh", "bias": True}},
        "sizes": [64, 64],
        "layers": [2, 16, {"drop": 0.5}],
        "seed": 0,
        "data": {"path": "somewhere", "splits": [0.8, 0.2], "mean": math.nan},
        "nothing": None,
        "empty": {},
    }


TUNABLE = {
    "x": 0.25,
    "net": {"k": 2, "deep": {"act": "tanh"}},
    "sizes": [64, 64],
    "layers": [2, 16, {"drop": 0.5}],
}
PARAMS = {"x": 0.25, "net/k": 2, "net/deep/act": "tanh", "sizes": [64, 64], "layers/0": 2, "layers/2/drop": 0.5}
WAYS = {
    "nested": lambda config: config,
    "flat": lambda config: flatten_dict(config),
    "through JSON": lambda config: json.loads(json.dumps(config)),
    "with arrays": lambda config: {**config, "seed": np.int64(0), "sizes": np.array([64, 64]), "x": np.float64(0.25)},
    "with tuples": lambda config: {**config, "sizes": (64, 64), "layers": (2, 16, {"drop": 0.5})},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("own", ["none", "own space", "own space, constants with Tune"])
def test_a_pasted_configuration_is_run_as_it_was(way, own):
    point = WAYS[way](whole())
    expected = TUNABLE
    if own == "none":
        search = over(spec(), points_to_evaluate=[point])
    else:
        mine = spec() if own == "own space" else {k: spec()[k] for k in ("x", "net", "sizes", "layers")}
        expected = {name: whole()[name] for name in mine}
        search = GPUCBSearch(space=mine, metric="loss", mode="min", seed=0, points_to_evaluate=[point])
        constants = {"seed": 0, "data": spec()["data"], "nothing": None, "empty": {}, "net": {"width": 64}}
        assert search.set_search_properties("loss", "min", constants)
    config = search.suggest("a")
    assert config == expected
    assert search.log.pending() == [PARAMS]


def test_a_search_with_its_own_space_and_no_constants_in_the_tuner_takes_it_too():
    """Tune then says nothing to the search before it asks for the first trial."""
    options = {"space": spec(), "metric": "loss", "mode": "min", "seed": 0}
    search = GPUCBSearch(points_to_evaluate=[whole()], **options)
    assert search.suggest("a") == whole()
    assert search.log.pending() == [PARAMS]
    with pytest.raises(ValueError, match=r"points_to_evaluate\[0\] has no such parameters: 'y'"):
        GPUCBSearch(points_to_evaluate=[{**whole(), "y": 1}], **options).suggest("a")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "has 1 for 'seed', which is the constant 0 in the search space: leave it out"),
        ({"seed": np.int64(1)}, r"has (np.int64\(1\)|1) for 'seed', which is the constant 0"),
        ({"net": {"width": 32}}, "has 32 for 'net/width', which is the constant 64"),
        ({"net/width": 32}, "has 32 for 'net/width', which is the constant 64"),
        ({"data": {"splits": [0.7, 0.3]}}, r"has \[0.7, 0.3\] for 'data/splits', which is the constant \[0.8, 0.2\]"),
        ({"layers": [2, 32, {"drop": 0.5}]}, "has 32 for 'layers/1', which is the constant 16"),
        ({"nothing": 0}, "has 0 for 'nothing', which is the constant None"),
        ({"empty": {"a": 1}}, "no such parameters: 'empty/a'"),
        ({"sead": 0}, "no such parameters: 'sead'"),
        ({"net": {"with": 64}, "y": 1}, "no such parameters: 'net/with', 'y'"),
        ({"net": 3}, "must have 'net' nested as in the search space, got 3"),
        ({"layers": [2, 16]}, r"must have 'layers' nested as in the search space, got \[2, 16\]"),
        ({"sizes": [64]}, r"parameter 'sizes' cannot be \[64\]: it is none of the choices"),
        ({"sizes": 64}, "parameter 'sizes' cannot be 64"),
        ({"x": math.nan}, "parameter 'x' cannot be nan: it is not finite"),
    ],
)
@pytest.mark.parametrize("begin", ["with Tune's space", "with its own"])
@pytest.mark.parametrize("rewards", [None, [1.0]])
def test_what_differs_from_the_search_space_is_named_before_the_first_trial(change, words, begin, rewards):
    options = {"points_to_evaluate": [{**whole(), **change}], "evaluated_rewards": rewards}
    if rewards and (change.get("net") or change.get("layers") == [2, 16]):
        words = "must have a value for every parameter|" + words
    with pytest.raises(ValueError, match=rf"points_to_evaluate\[0\].*({words})"):
        begun(begin == "with its own", options)


def begun(own_space, options):
    if not own_space:
        return over(spec(), **options)
    search = GPUCBSearch(space=spec(), metric="loss", mode="min", **options)
    search.set_search_properties("loss", "min", {"seed": 0})
    return search


NAMES = ["x", "net/k", "net/deep/act", "sizes", "layers/0", "layers/2/drop"]


@settings(max_examples=25, deadline=None)
@given(st.sets(st.sampled_from(NAMES)), st.booleans(), st.integers(0, 7))
def test_a_partial_point_is_completed_by_the_search(names, constants, n_before):
    flat = {name: PARAMS[name] for name in names}
    search = over(spec(), n_initial_points=3)
    for i in range(n_before):
        config = search.suggest(f"before {i}")
        search.on_trial_result(f"before {i}", result({}, config["x"]))
        search.on_trial_complete(f"before {i}", result=result({}, config["x"]))
    search._to_evaluate = [flat | ({"seed": 0} if constants else {})]
    alone = pickle.loads(pickle.dumps(search.get_state()))
    completed = search.suggest("a")
    params = search.log.pending()[0]
    assert {name: params[name] for name in names} == flat
    assert search.log.space.space.contains(params)
    # The rest is what the search would have tried next.
    other = over(spec(), n_initial_points=3)
    other.set_state({**alone, "to_evaluate": []})
    proposed = other.log.space.params(other.suggest("a"))
    assert {k: v for k, v in params.items() if k not in names} == {k: v for k, v in proposed.items() if k not in names}
    assert search.log.space.params(completed) == params


def test_partial_points_of_one_kind_are_not_all_the_same():
    search = over(spec(), points_to_evaluate=[{"net": {"k": 1}}] * 4)
    configs = [search.suggest(str(i)) for i in range(4)]
    assert [config["net"]["k"] for config in configs] == [1] * 4
    assert len({config["x"] for config in configs}) == 4


def test_points_outlive_a_restoration_before_and_after_they_are_read(tmp_path):
    points = [whole(), {"seed": 0, "net": {"k": 3}}, whole()]
    before = pickle.loads(pickle.dumps(GPUCBSearch(space=spec(), metric="loss", mode="min", points_to_evaluate=points)))
    assert before.set_search_properties("loss", "min", {"seed": 0})
    assert {**before.suggest("a"), "data": None} == {**whole(), "data": None}  # NaN does not equal what it was
    before.save(str(tmp_path / "state.pkl"))
    after = GPUCBSearch(seed=0)
    assert after.set_search_properties("loss", "min", spec())
    after.restore(str(tmp_path / "state.pkl"))
    assert [after.suggest("b")["net"]["k"], after.suggest("c")] == [3, TUNABLE]


def test_evaluated_points_may_hold_constants_and_the_certificate_names_what_is_tunable():
    points = [{**whole(), "x": x} for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
    search = over(spec(), points_to_evaluate=points, evaluated_rewards=[(p["x"] - 0.3) ** 2 for p in points])
    run(search, 2, f=lambda config: 1.0)
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    stopper.stop_all()
    certificate = certificate_of(stopper)
    assert certificate.n_observations == 12
    assert certificate.config == {**TUNABLE, "x": 0.3}


def test_choices_that_are_lists_or_tuples_are_told_apart_where_they_are_given():
    search = over({"x": tune.uniform(0, 1), "a": tune.choice([(1, 2), [1, 2], [3]])})
    assert search.log.space.tunable({"a": (1, 2)})["a"] == (1, 2)
    assert search.log.space.tunable({"a": [1, 2]})["a"] == [1, 2]
    assert search.log.space.tunable({"a": (np.int64(3),)})["a"] == [3]


def test_what_tune_hides_from_a_searcher_is_said():
    """A Tuner shows its searcher placeholders for objects; the searcher cannot know which choice is meant."""
    hidden = {"x": tune.uniform(0, 1), "a": tune.choice([None, ("__ref_ph", "f2ab")]), "b": ("__ref_ph", "77c1")}
    assert over(hidden, points_to_evaluate=[{"a": None, "b": object()}]).suggest("a")["a"] is None
    with pytest.raises(ValueError, match=r"none of the choices.*GPUCBSearch\(space=\.\.\.\)"):
        over(hidden, points_to_evaluate=[{"a": abs}])
    search = GPUCBSearch(
        space={"a": tune.choice([None, abs])}, metric="loss", mode="min", points_to_evaluate=[{"a": abs}]
    )
    assert search.suggest("a")["a"] is abs

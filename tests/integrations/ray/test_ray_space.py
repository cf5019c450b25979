"""Every domain of Tune, with the values that Tune itself samples from it."""

import copy
import pickle

import numpy as np
import pytest
from ray import tune
from regretstop_ray import GPUCBSearch

from regretstop import Categorical, Float, Int

convert = GPUCBSearch.convert_search_space


class Odd:
    """A category that JSON cannot say and that equals nothing but itself."""


ODD = Odd()
# Tune's domain, what the model sees, and the smallest and the largest value that it can suggest.
DOMAINS = {
    "uniform": (tune.uniform(-1, 2), Float(-1, 2), -1.0, 2.0),
    "loguniform": (tune.loguniform(1e-4, 1), Float(1e-4, 1, log=True), 1e-4, 1.0),
    "quniform": (tune.quniform(0, 1, 0.1), Float(0, 1, step=0.1), 0.0, 1.0),
    "qloguniform": (tune.qloguniform(0.1, 10, 0.1), Int(1, 100, log=True), 0.1, 10.0),
    "randint": (tune.randint(2, 7), Int(2, 6), 2, 6),
    "qrandint": (tune.qrandint(0, 20, 5), Int(0, 20, step=5), 0, 20),
    "qrandint, bounds between": (tune.qrandint(3, 22, 5), Int(5, 20, step=5), 5, 20),
    "qrandint, q = 1": (tune.qrandint(2, 7, 1), Int(2, 6), 2, 6),
    "lograndint": (tune.lograndint(1, 9), Int(1, 8, log=True), 1, 8),
    "qlograndint": (tune.qlograndint(2, 32, 2), Int(1, 16, log=True), 2, 32),
    "qlograndint, q = 1": (tune.qlograndint(1, 9, 1), Int(1, 8, log=True), 1, 8),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain(name):
    domain, parameter, smallest, largest = DOMAINS[name]
    space = convert({"a": domain})
    assert space.space["a"] == parameter
    ends = [space.config(space.space.decode([u]))["a"] for u in (0.0, 1.0)]
    assert ends == [smallest, largest]
    assert [type(v) for v in ends] == 2 * [type(smallest)]


@pytest.mark.parametrize("name", DOMAINS)
def test_what_tune_samples_is_a_value_of_the_model(name):
    domain, _, smallest, largest = DOMAINS[name]
    space = convert({"a": domain})
    sampled = domain.sample(size=400, random_state=np.random.default_rng(0))
    assert min(sampled) >= smallest - 1e-12
    assert max(sampled) <= largest + 1e-12
    points = [space.params({"a": domain.cast(v)}) for v in sampled]
    assert all(map(space.space.contains, points))
    if np.isfinite(space.space.size):
        # Each value has one point, and every point is a value that Tune samples (400 draws of at most 100 values,
        # the rarest of which has a chance of 0.2 %, see them all but for a few).
        seen = {space.config(p)["a"] for p in points}
        assert len(seen) > 0.7 * space.space.size
        assert len({tuple(space.space.encode(p)) for p in points}) == len(seen)


def test_categories_come_back_as_given():
    categories = [None, True, 1.5, "a", (1, 2), [3], {"k": 4}, ODD]
    space = convert({"a": tune.choice(categories)})
    assert isinstance(space.space["a"], Categorical)
    for i, category in enumerate(categories):
        assert space.config(space.space.decode([i]))["a"] is category


def test_nested_dicts_and_lists_and_constants():
    spec = {
        "net": {"lr": tune.loguniform(1e-3, 1), "act": "relu", "deep": {"n": tune.randint(1, 4)}},
        "layers": [tune.randint(1, 3), 16, {"drop": tune.uniform(0, 1), "bias": True}],
        "pair": (tune.choice(["a", "b"]), 7),
        "data": {"path": "somewhere"},
    }
    space = convert(spec)
    params = {"layers/0": 2, "layers/2/drop": 0.5, "net/deep/n": 3, "net/lr": 0.1, "pair/0": "b"}
    assert set(space.space.names) == set(params)
    config = space.config(params)
    # Only what is tunable is suggested; Tune merges dicts, but takes lists whole.
    assert config == {
        "net": {"lr": 0.1, "deep": {"n": 3}},
        "layers": [2, 16, {"drop": 0.5, "bias": True}],
        "pair": ("b", 7),
    }
    assert space.params(config) == params
    flat = {"net/lr": 0.1, "net/deep/n": 3, "layers": config["layers"], "pair": ("b", 7)}
    assert space.params(flat) == params
    reported = {f"config/{key}": value for key, value in {**flat, "data/path": "somewhere"}.items()}
    assert space.nested(reported, ("config",)) == config
    assert space.nested({"config": config}, ("config",)) == config
    assert space.nested({"config": {"net": {"lr": 0.1}}}, ("config",)) == {}
    assert spec["layers"][1] == 16  # untouched


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"a": tune.grid_search([1, 2]), "b": tune.uniform(0, 1)}, "'a'.*use tune.choice"),
        ({"n": {"a": tune.sample_from(lambda _: 1)}}, "'n/a'.*Function"),
        ({"a": tune.randn(0, 1)}, "'a'.*Normal"),
        ({"a": tune.qrandn(0, 1, 0.5)}, "'a'.*Normal"),
        ({"a": 1, "b": {"c": "x"}}, "constants only"),
        ({}, "constants only"),
        ({"a": tune.randint(3, 4)}, "each has one possible value"),
        ({"a": tune.choice(["only"]), "b": tune.uniform(1, 1)}, "each has one possible value"),
        ({"a": tune.randint(5, 5)}, "'a'.*low=5, high=4"),
        ({"a": tune.uniform(2, 1)}, "'a'.*low=2.0, high=1.0"),
        ({"a": tune.qrandint(1, 3, 5)}, "'a'.*no multiple of q=5"),
        ({"a": tune.choice([])}, "'a'"),
        ({"a/b": tune.uniform(0, 1)}, "'a/b' contains '/'"),
    ],
)
def test_what_cannot_be_searched_is_said_early(spec, words):
    with pytest.raises(ValueError, match=words):
        convert(spec)
    with pytest.raises(ValueError, match=words):
        GPUCBSearch().set_search_properties("loss", "min", spec)


def test_huge_ranges_need_no_table():
    space = convert({"a": tune.randint(0, 10**9), "b": tune.quniform(0, 1, 1e-9)})
    assert space.config(space.space.decode([1.0, 1.0])) == {"a": 10**9 - 1, "b": 1.0}


def test_a_space_is_equal_to_its_copies_only():
    space = convert({"a": tune.quniform(0, 1, 0.1), "b": tune.choice([1, 2])})
    assert space == pickle.loads(pickle.dumps(space)) == copy.deepcopy(space)
    assert space != convert({"a": tune.quniform(0, 1, 0.1)})
    assert convert({"a": tune.qlograndint(2, 32, 2)}) != convert({"a": tune.lograndint(1, 17)})
    assert space != "a space"

"""Numbers of any type, as a table or a framework holds them, in every place where a configuration comes in."""

import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ray import tune
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of
from regretstop_ray._record import write_record

from regretstop import GaussianProcess, OptimalityGap
from tests.integrations.ray.test_ray_complaints import over
from tests.integrations.ray.test_ray_space import DOMAINS, convert

# Ways in which a number comes out of a table, an array or a tensor; the last two lost their type on the way.
FORMS = {
    "float64": np.float64,
    "float32": np.float32,
    "array": np.array,
    "array of float32": lambda v: np.array(v, dtype=np.float32),
    "int64": np.int64,
    "uint16": np.uint16,
    "float": float,
    "float32 as float": lambda v: float(np.float32(v)),
    "computed in float32": lambda v: float(np.float32(v) * np.float32(3) / np.float32(3)),
}
AS_INTEGER = {"int64", "uint16"}
examples = settings(max_examples=200, deadline=None)


@st.composite
def quantised(draw: st.DrawFn):
    """A domain with a q, one of its values, and what the model sees of it."""
    q = draw(st.sampled_from([0.0001, 0.005, 0.1, 0.25, 0.3, 7.5]))
    first, k, last = sorted(draw(st.lists(st.integers(1, 3000), min_size=3, max_size=3, unique=True)))
    kind = draw(st.sampled_from([tune.quniform, tune.qloguniform]))
    low, value, high = (float(Decimal(repr(q)) * m) for m in (first, k, last))
    return kind(low, high, q), value


@st.composite
def integers(draw: st.DrawFn):
    q = draw(st.integers(1, 50))
    first, k, last = sorted(draw(st.lists(st.integers(1, 1000), min_size=3, max_size=3, unique=True)))
    kind = draw(st.sampled_from([tune.qrandint, tune.qlograndint]))
    return kind(q * first, q * last, q), q * k


@examples
@given(st.one_of(quantised(), integers()), st.sampled_from(sorted(FORMS)))
def test_a_value_of_a_quantised_domain_is_the_multiple_that_is_meant(case, form):
    domain, value = case
    if form in AS_INTEGER and not isinstance(value, int):
        form = "float32"
    space = convert({"a": domain})
    written = FORMS[form](value)
    native = space.tunable({"a": written})["a"]
    assert (native, type(native)) == (value, type(value))
    assert np.array_equal(
        space.space.encode(space.params({"a": written})), space.space.encode(space.params({"a": value}))
    )
    assert space.space.contains(space.params({"a": written}))


@examples
@given(st.floats(1e-4, 0.1), st.sampled_from(sorted(FORMS.keys() - AS_INTEGER)), st.booleans())
def test_a_value_of_a_continuous_domain_keeps_its_size(value, form, log):
    space = convert({"a": (tune.loguniform if log else tune.uniform)(1e-4, 0.1)})
    native = space.tunable({"a": FORMS[form](value)})["a"]
    assert type(native) is float
    assert native == pytest.approx(value, rel=3e-7)
    if form in ("float64", "float", "array"):
        assert native == value


@pytest.mark.parametrize("bound", [1e-4, 0.1])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_a_bound_in_another_precision_is_inside(bound, kind):
    """In single precision 0.1 is larger than 0.1 in double precision."""
    for domain in (tune.uniform(1e-4, 0.1), tune.loguniform(1e-4, 0.1)):
        space = convert({"a": domain}).space
        assert space.inside([space.encode({"a": kind(bound)})]).all()


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("form", FORMS)
def test_every_domain_takes_them_for_what_tune_samples(name, form):
    domain, _, smallest, largest = DOMAINS[name]
    space = convert({"a": domain})
    for value in (smallest, largest):
        if form in AS_INTEGER and not (float(value).is_integer() and value >= 0):
            continue
        native = space.tunable({"a": FORMS[form](value)})["a"]
        assert type(native) is type(smallest)
        assert native == pytest.approx(value, rel=1e-6)


def test_a_quantum_may_be_one_as_well():
    spec = {
        "a": tune.qloguniform(1e-4, 1e-1, np.float64(1e-4)),
        "b": tune.quniform(0, 1, np.float32(0.25)),
        "c": tune.qlograndint(np.int64(2), np.int64(32), np.int64(2)),
        "d": tune.qrandint(0, 20, np.int64(5)),
    }
    space = convert(spec)
    config = {"a": 0.01, "b": 0.75, "c": 6, "d": 15}
    assert space.config(space.params(config)) == config


def test_choices_are_found_by_their_kind():
    """A row of a table has NumPy's truth values and numbers, which equal those of Python."""
    choices = [1, True, 1.0, 0.1, "a", False]
    space = convert({"a": tune.choice(choices), "x": tune.uniform(0, 1)})
    for given_value, choice in [
        (np.True_, True),
        (np.int64(1), 1),
        (np.float64(1), 1.0),
        (np.float32(0.1), 0.1),
        (np.array(0.1), 0.1),
        (np.str_("a"), "a"),
        (np.array("a"), "a"),
        (np.False_, False),
    ]:
        chosen = space.tunable({"a": given_value})["a"]
        assert (chosen, type(chosen)) == (choice, type(choice))
        seen = space.space.encode(space.params({"a": given_value, "x": 0.5}))[0]
        assert (choices[int(seen)], type(choices[int(seen)])) == (choice, type(choice))


SPEC = {
    "n": tune.qlograndint(10, 1000, 10),
    "lr": tune.qloguniform(1e-4, 1e-1, 1e-4),
    "flag": tune.choice([True, False]),
}
ROW = {"n": np.int64(100), "lr": np.float32(0.01), "flag": np.False_}
MEANT = {"n": 100, "lr": 0.01, "flag": False}
SEEN = {"n": 10, "lr": 100, "flag": False}


def end(search, trial_id, loss):
    result = {"loss": loss, "training_iteration": np.int64(1)}
    search.on_trial_result(trial_id, result)
    search.on_trial_complete(trial_id, result=result)


def to_run(search):
    assert search.suggest("a") == MEANT
    end(search, "a", np.float32(0.5))


def of_another_process(search):
    result = {f"config/{name}": value for name, value in ROW.items()}
    search.on_trial_complete("a", result={"loss": 0.5, "training_iteration": 1, **result})


@pytest.mark.parametrize(
    ("arguments", "bring"),
    [
        ({"points_to_evaluate": [ROW]}, to_run),
        ({"points_to_evaluate": [ROW], "evaluated_rewards": np.array([0.5], dtype=np.float32)}, lambda _: None),
        ({}, lambda search: search.add_evaluated_point(ROW, np.float32(0.5))),
        ({}, of_another_process),
    ],
    ids=["to run", "evaluated", "added", "of another process"],
)
@pytest.mark.parametrize("own_space", [False, True])
def test_wherever_a_row_of_a_table_comes_in(arguments, bring, own_space, tmp_path):
    if own_space:
        search = GPUCBSearch(space=SPEC, metric="loss", mode="min", seed=0, **arguments)
        search.set_search_properties("loss", "min", {"constant": 1})
    else:
        search = over(SPEC, **arguments)
    bring(search)
    (observation,) = search.log.observations()
    assert (observation.params, observation.value) == (SEEN, 0.5)
    assert [type(v) for v in observation.params.values()] == [int, int, bool]
    space = search.log.space.space
    assert space.contains(observation.params)
    write_record(search.log, str(tmp_path))
    stored = json.loads((tmp_path / "regret_bound.json").read_text())["trials"][0]["config"]
    assert stored.keys() == ROW.keys()
    assert not any(isinstance(value, str) for value in stored.values())


def test_a_row_in_the_results_of_another_search_algorithm():
    stopper = RegretBoundStopper(space=SPEC, metric="loss", mode="min", epsilon=0.1)
    stopper("a", {"loss": np.float64(0.5), "done": True, "training_iteration": 1, "config": {**ROW, "constant": 1}})
    (observation,) = stopper.log.observations()
    assert observation.params == SEEN
    stopper.stop_all()
    assert certificate_of(stopper).n_observations == 1


@pytest.mark.parametrize("loss", [np.True_, np.str_("0.5"), np.array([1.0, 2.0]), np.float32("nan"), np.complex64(1)])
def test_what_looks_like_a_number_is_no_value_of_the_metric(loss):
    search = over(SPEC)
    search.suggest("a")
    search.on_trial_complete("a", result={"loss": loss, "training_iteration": 1})
    assert math.isnan(search.log.observations()[0].value)


@pytest.mark.parametrize("value", [np.True_, np.str_("100"), np.array([100]), np.float32("inf"), np.datetime64("2020")])
def test_what_looks_like_a_number_is_no_value_of_a_parameter(value):
    with pytest.raises(ValueError, match=r"points_to_evaluate\[0\]: parameter 'n' cannot be"):
        over(SPEC, points_to_evaluate=[{**ROW, "n": value}])


@pytest.mark.parametrize(("value", "seen"), [(105, 10.5), (np.float32(2000.5), 200.05), (np.int64(5), 0.5)])
def test_a_value_that_is_none_of_the_domain_is_tried_as_it_is(value, seen):
    search = over(SPEC, points_to_evaluate=[{**ROW, "n": value}])
    tried = search.suggest("a")["n"]
    assert tried == value
    assert type(tried) in (int, float)
    assert search.log.pending()[0]["n"] == pytest.approx(seen)


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (tune.uniform(0, 1), math.nextafter(1, 2)),
        (tune.uniform(0, 1), -1e-17),
        (tune.loguniform(1e-4, 1e-1), math.nextafter(1e-1, 1)),
        (tune.quniform(0, 1, 0.1), math.nextafter(1, 2)),
        (tune.qloguniform(1e-4, 1e-1, 1e-4), math.nextafter(1e-1, 1)),
        (tune.randint(0, 9), math.nextafter(8, 9)),
        (tune.qrandint(0, 20, 5), math.nextafter(20, 21)),
    ],
)
def test_a_value_beyond_a_bound_by_rounding_counts_as_inside(domain, value):
    search = over({"a": domain}, points_to_evaluate=[{"a": value}], surrogate=GaussianProcess(noise_std=0.0))
    config = search.suggest("a")
    assert config["a"] == pytest.approx(value, rel=1e-15, abs=1e-15)
    end(search, "a", 0.0)
    for i, loss in enumerate([1.0, 2.0, 3.0, 4.0]):
        search.suggest(str(i))
        end(search, str(i), loss)
    stopper = RegretBoundStopper(search, rule=OptimalityGap(100.0, beta="grid"))
    stopper.stop_all()
    assert certificate_of(stopper).incumbent_value == 0.0
    assert certificate_of(stopper).config == config

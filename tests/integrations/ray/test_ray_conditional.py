"""A choice among dicts with domains in them: each is a branch of the space, with parameters of its own."""

import copy
import pickle

import numpy as np
import pytest
from ray import tune
from ray.tune.search import BasicVariantGenerator
from ray.tune.search.variant_generator import generate_variants
from ray.tune.utils import flatten_dict
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of, replay
from regretstop_ray._record import record_of

from regretstop import Categorical, Float, Int
from regretstop.spaces import sobol_points
from tests.integrations.ray import forms
from tests.integrations.ray.test_ray_complaints import over
from tests.integrations.ray.test_ray_experiments import experiment
from tests.integrations.ray.test_ray_search import run

convert = GPUCBSearch.convert_search_space
EPSILON = 0.02


def spec():
    """Three models, one of which has nothing to tune; one has a choice of its own, and a list."""
    optimizers = [
        {"name": "sgd", "lr": tune.loguniform(1e-3, 1), "momentum": tune.quniform(0, 0.9, 0.1)},
        {"name": "adam", "lr": tune.loguniform(1e-5, 0.1)},
    ]
    models = [
        {"kind": "svc", "C": tune.loguniform(1e-3, 1e3), "tol": 1e-3},
        {"kind": "net", "sizes": [tune.randint(1, 9), 16], "opt": tune.choice(optimizers)},
        {"kind": "mean"},
    ]
    return {"model": tune.choice(models), "scale": tune.choice([True, False]), "data": {"rows": 7}}


def small():
    """f = (x − 0.3)² on a line, 0.1 + 0.1 k on steps."""
    parts = [{"kind": "line", "x": tune.uniform(0, 1)}, {"kind": "steps", "k": tune.randint(0, 4), "n": 1}]
    return {"part": tune.choice(parts), "width": 64}


def value(config):
    part = config["part"]
    return (part["x"] - 0.3) ** 2 if part["kind"] == "line" else 0.1 + 0.1 * part["k"]


def report(config):
    forms.report({"loss": value(config)})


def sampled(space, n):
    """Configurations as Tune itself samples them."""
    rng = np.random.default_rng(0)
    return [next(generate_variants({"config": space}, random_state=rng))[1]["config"] for _ in range(n)]


def test_each_dict_is_a_branch():
    space = convert(spec()).space
    assert {name: type(parameter) for name, parameter in space.items()} == {
        "model": Categorical,
        "model/C": Float,
        "model/sizes/0": Int,
        "model/opt": Categorical,
        "model/opt/lr": Float,
        "model/opt/momentum": Float,
        "model/opt/lr [1, 1]": Float,  # of the net, which is number 1, and of its optimizer number 1
        "scale": Categorical,
    }
    active = [{space.names[j] for j in np.flatnonzero(branch.active)} - {"model", "scale"} for branch in space.branches]
    net = {"model/sizes/0", "model/opt"}
    branches = [{"model/C"}, net | {"model/opt/lr", "model/opt/momentum"}, net | {"model/opt/lr [1, 1]"}, set()]
    assert sorted(map(sorted, active)) == sorted(map(sorted, branches))
    assert list(map(str, space["model/opt"].choices)) == [
        "{'name': 'sgd', 'lr': …, 'momentum': …}",
        "{'name': 'adam', 'lr': …}",
    ]


def test_points_to_configurations_and_back():
    space = convert(spec())
    for x in sobol_points(space.space, 64, seed=0):
        params = space.space.decode(x)
        config = space.config(params)
        assert space.params(config) == params
        assert space.params(flatten_dict(config)) == params
        assert space.nested({"config": config}, ("config",)) == config
        assert space.nested(flatten_dict({"config": {**config, "data": {"rows": 7}}}), ("config",)) == config


def test_what_tune_samples_is_a_point_of_the_model():
    space = convert(spec())
    configs = sampled(spec(), 60)
    points = [space.params(config) for config in configs]
    assert all(map(space.space.contains, points))
    assert set(space.space.branch_of(np.array(list(map(space.space.encode, points))))) == {0, 1, 2, 3}
    for config, params in zip(configs, points, strict=True):
        back = {**space.config(params), "data": {"rows": 7}}
        assert flatten_dict(back, flatten_list=True) == pytest.approx(flatten_dict(config, flatten_list=True))


def test_the_same_domain_of_one_name_is_one_parameter():
    """As in Optuna, where a name with one range is a parameter wherever it is."""
    parts = [{"kind": k, "lr": tune.loguniform(1e-3, 1), "act": tune.choice(["relu", "tanh"])} for k in "abc"]
    parts[2]["act"] = tune.choice(["relu", "gelu"])
    space = convert({"net": tune.choice(parts)})
    assert list(space.space) == ["net", "net/lr", "net/act", "net/act [2]"]
    assert len(space.space.branches) == 2
    assert space.params({"net": {"kind": "c", "lr": 0.1, "act": "gelu"}})["net/act [2]"] == "gelu"
    # 1 and True are two choices, though Python calls them equal.
    parts = [{"kind": "a", "on": tune.choice([0, 1])}, {"kind": "b", "on": tune.choice([False, True])}]
    space = convert({"net": tune.choice(parts)})
    assert space.config(space.params({"net": {"kind": "b", "on": True}})) == {"net": {"kind": "b", "on": True}}


def test_categories_may_be_domains_lists_and_constants():
    space = convert(
        {"d": tune.choice([None, 0, tune.uniform(0.5, 1), [tune.randint(1, 5)], [tune.randint(1, 5)] * 2]), "e": "e"}
    )
    for x in sobol_points(space.space, 32, seed=0):
        config = space.config(space.space.decode(x))
        assert space.space.contains(space.params(config))
        assert space.config(space.params(config)) == config
    given = [None, 0, 0.75, [3], [3, 4]]
    assert [space.config(space.params({"d": each}))["d"] for each in given] == given
    assert not space.space.contains(space.params({"d": "x"}))
    assert not space.space.contains(space.params({"d": [1, 2, 3]}))


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ([{"a": tune.uniform(2, 1)}, {}], "'m/a': low must not exceed high"),
        ([{"a": {"b": tune.randn(0, 1)}}, {}], "'m/a/b': .*bounded range.*Normal"),
        ([{"a": tune.sample_from(lambda _: 1)}, {}], "'m/a': .*Function"),
        ([{"a": {"eval": "1"}}, {}], "'m/a': .*Function"),
        ([{"a": tune.grid_search([1, 2])}, {}], r"grid search \('m/a'\).*use tune.choice"),
        ([{"a": tune.choice([]), "b": 1}, {}], "'m/a': choices must not be empty"),
        ([{"a/b": tune.uniform(0, 1)}, {}], "'m/a/b' contains '/'"),
        ([tune.randn(0, 1), None], "'m': .*Normal"),
        ([{"a": tune.uniform(0, 1)}] * 2, "'m': {'a': …} and {'a': …} may lead to the same configuration"),
        ([{"a": tune.uniform(0, 1)}, {"a": 0.5}], "'m': {'a': …} and {'a': 0.5} may lead to the same"),
        ([{"a": tune.uniform(0, 1)}, {"a": tune.choice([2, 1])}], "may lead to the same configuration"),
        ([{"a": tune.choice([1, 2]), "b": [tune.randint(0, 3)]}, {"a": 2, "b": [2]}], "may lead to the same"),
        ([{"a": tune.choice([{"b": tune.uniform(0, 1)}, 3])}, {"a": 3}], "'m': .* may lead to the same"),
        ([{"a": tune.choice([{"b": tune.uniform(0, 1)}, {"b": 1}])}, 3], "'m/a': .* may lead to the same"),
        ([{"a": tune.choice([{"b": tune.uniform(i, i + 0.5)}, None])} for i in (0, 0.5)], "'m': .* may lead to the s"),
        ([tune.uniform(0, 1), tune.randint(1, 3)], "'m': … and … may lead to the same configuration"),
    ],
)
def test_what_cannot_be_searched_is_said_before_the_first_trial(categories, words):
    bad = {"m": tune.choice(categories), "x": tune.uniform(0, 1)}
    with pytest.raises(ValueError, match=words):
        GPUCBSearch(space=bad)
    with pytest.raises(ValueError, match=words):
        GPUCBSearch().set_search_properties("loss", "min", copy.deepcopy(bad))
    with pytest.raises(ValueError, match=words):
        RegretBoundStopper(space=bad, metric="loss", mode="min", epsilon=0.1)


@pytest.mark.parametrize(
    "categories",
    [
        [{"a": tune.uniform(0, 1)}, {"a": tune.uniform(2, 3)}, {"a": tune.choice([4, "b"])}, {"a": 5}, {"a": [1]}],
        [{"a": tune.uniform(0, 1)}, {"a": tune.uniform(0, 1), "b": tune.uniform(0, 1)}, {"a": 0.5, "c": None}, {}],
        [{"a": tune.randint(0, 3), "k": {"n": 1}}, {"a": tune.randint(0, 3), "k": {"n": 2}}],
        [{"a": tune.uniform(0, 1), 0: np.ones(2)}, {"a": tune.uniform(0, 1), 0: np.zeros(2)}, {"a": abs, 0: None}],
    ],
)
def test_what_tells_categories_apart(categories):
    space = convert({"m": tune.choice(categories)})
    found = [space.params(config)["m"].number for config in sampled({"m": tune.choice(categories)}, 50)]
    assert set(found) == set(range(len(categories)))


def test_a_choice_among_constant_dicts_is_what_it_was():
    categories = [{"kind": "svc", "C": 1}, {"kind": "svc", "C": 1}, {"kind": "mean"}]
    space = convert({"m": tune.choice(categories), "x": tune.uniform(0, 1)})
    assert space.space["m"] == Categorical(categories)
    assert space.config({"m": categories[0], "x": 0.5})["m"] is categories[0]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("way", [lambda point: point, flatten_dict])
@pytest.mark.parametrize(
    ("point", "fixed"),
    [
        ({"model": {"kind": "svc", "C": 2.0, "tol": 1e-3}, "scale": True, "data": {"rows": 7}}, {"model/C": 2.0}),
        ({"model": {"C": np.float32(0.1)}}, {"model/C": 0.1}),
        ({"model": {"kind": "mean"}, "scale": False}, {"scale": False}),
        ({"model": {"opt": {"name": "adam"}}}, {}),
        ({"model": {"opt": {"momentum": 0.3}, "sizes": [5, 16]}}, {"model/opt/momentum": 0.3, "model/sizes/0": 5}),
        ({"model": {"kind": "net", "opt": {"lr": 0.5}}}, {"model/opt/lr": 0.5}),  # out of the other one's range
        ({"model": {"C": 1e9}}, {"model/C": 1e9}),  # out of its range, but there is no doubt about what is meant
    ],
)
def test_points_to_evaluate(point, fixed, way, own):
    point = way(point)
    options = {"space": spec()} if own else {}
    search = GPUCBSearch(seed=0, metric="loss", mode="min", points_to_evaluate=[point] * 2, **options)
    assert search.set_search_properties("loss", "min", {} if own else spec())
    restored = GPUCBSearch(seed=0, metric="loss", mode="min", **options)
    assert restored.set_search_properties("loss", "min", {} if own else spec())
    restored.set_state(pickle.loads(pickle.dumps(search.get_state())))
    configs = [search.suggest("a"), restored.suggest("a"), search.suggest("b")]
    assert configs[0] == configs[1]
    for config, params in zip([configs[0], configs[2]], search.log.pending(), strict=True):
        assert params == search.log.space.params(config)
        assert {name: params[name] for name in fixed} == fixed
        assert search.log.space.missing(params) == []
    whole = {"kind", "C", "tol"} if "model/C" in fixed else {"kind"} if fixed == {"scale": False} else None
    assert whole in (None, set(configs[0]["model"]))


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"model": {"kind": "tree"}}, r"'model' cannot be {'kind': 'tree'}: it is none of the choices \({'kind': 's"),
        ({"model": {"kind": "svc", "D": 1}}, "'model' cannot be {'kind': 'svc', 'D': 1}"),
        ({"model/kind": "svc", "model/tol": 1.0}, "'model' cannot be"),
        ({"model": {"kind": "svc", "C": "much"}}, "'model' cannot be"),
        ({"model": 3}, "'model' cannot be 3"),
        ({"model": {"kind": "net", "sizes": [3]}}, "'model' cannot be"),
        ({"model": {}}, "'model' cannot be {}.*It could be {'kind': 'svc', .* or .*: give more of it"),
        ({"model": {"opt": {"lr": 0.01}}}, "'model/opt' cannot be .*It could be {'name': 'sgd'.* or .*: give more"),
        ({"model": {"opt": {"name": "rmsprop"}}}, "'model' cannot be"),
        ({"modle": {"kind": "svc"}}, "no such parameters: 'modle'"),
    ],
)
def test_points_that_are_of_no_branch_or_of_several_are_named(point, words):
    with pytest.raises(ValueError, match=rf"points_to_evaluate\[0\].*{words}"):
        over(spec(), points_to_evaluate=[point])
    with pytest.raises(ValueError, match=rf"points_to_evaluate\[0\].*{words}"):
        GPUCBSearch(space=spec(), metric="loss", mode="min", points_to_evaluate=[point]).suggest("a")


def test_points_with_rewards_need_what_is_in_their_branch_only():
    point = {"model": {"kind": "svc", "C": 2.0}, "scale": True}
    assert over(spec(), points_to_evaluate=[point], evaluated_rewards=[1.0]).log.n_ended == 1
    with pytest.raises(ValueError, match="every parameter, got none for model/C"):
        over(spec(), points_to_evaluate=[{"model": {"kind": "svc"}, "scale": True}], evaluated_rewards=[1.0])


def test_it_stops_by_the_certificate_of_all_branches():
    search = over(small())
    stopper = RegretBoundStopper(search, epsilon=EPSILON)
    configs = run(search, 60, f=value)
    certificate = certificate_of(stopper)
    assert certificate.stop
    assert len(configs) < 60
    assert value(certificate.config) < EPSILON
    assert {config["part"]["kind"] for config in configs} == {"line", "steps"}
    assert certificate.n_observations == len(configs)


def test_a_restored_search_goes_on_alike(tmp_path):
    search = over(small())
    run(search, 8, f=value)
    left = search.suggest("left")
    search.save(str(tmp_path / "state.pkl"))
    restored = over(small())
    restored.restore(str(tmp_path / "state.pkl"))
    assert restored.log.pending() == [restored.log.space.params(left)]
    assert restored.suggest("next") == search.suggest("next")
    fresh = GPUCBSearch(seed=0)
    fresh.restore(str(tmp_path / "state.pkl"))
    assert fresh.log.space == search.log.space


def test_spaces_are_equal_where_their_branches_are():
    one = convert(spec())
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one)
    domains = {"a": tune.uniform(0, 1)}, {"b": tune.uniform(0, 1)}
    assert convert({"m": tune.choice(domains)}) != convert({"m": tune.choice(domains[::-1])})
    kinds = [convert({"m": tune.choice([{"kind": k, **domains[0]}, None])}) for k in "ab"]
    assert kinds[0] != kinds[1]


def test_what_a_foreign_search_tries_outside_the_branches_is_left_out():
    stopper = RegretBoundStopper(space=small(), metric="loss", mode="min", epsilon=EPSILON)
    parts = [{"kind": "line", "x": x} for x in (0.1, 0.5, 0.9)] + [{"kind": "steps", "k": k, "n": 1} for k in range(4)]
    others = [{"kind": "tree"}, {"kind": "line", "x": 7.0}, None]
    for i, part in enumerate(parts + others):
        loss = value({"part": part}) if part in parts else 1.0
        stopper(str(i), {"loss": loss, "done": True, "config": {"part": part, "width": 64}})
        stopper.stop_all()
    certificate = certificate_of(stopper)
    # As elsewhere, a number out of its range is fitted, but is no point of the space.
    assert (certificate.n_observations, certificate.n_excluded) == (8, 2)
    # One that has not all that belongs to its category may be anything.
    stopper("lacks", {"loss": 0.0, "done": True, "config": {"part": {"kind": "line"}}})
    assert not stopper.stop_all()
    assert "lacks has no value for some parameter" in certificate_of(stopper).reason


class Model:
    """What Tune hides from a searcher."""


class Other(Model):
    pass


def hidden():
    own = tune.sample_from(lambda config: config["part"]["x"] + 1)
    parts = [{"of": Model, "x": tune.uniform(0, 1)}, {"of": Other, "x": tune.uniform(0, 1), "y": own}]
    return {"part": tune.choice(parts), "rows": np.ones(3)}


def report_hidden(config):
    forms.report({"loss": (config["part"]["x"] - 0.3) ** 2 + 0.1 * (config["part"]["of"].__name__ == "Other")})


@pytest.mark.usefixtures("cluster")
@pytest.mark.xdist_group("ray")
class TestInTune:
    def test_our_search(self, tmp_path):
        search = GPUCBSearch(seed=0, points_to_evaluate=[{"part": {"k": 2}}])
        stopper = RegretBoundStopper(search, epsilon=EPSILON)
        results = experiment(tmp_path, report, search, stopper, param_space=small())
        certificate = certificate_of(results)
        assert results.num_errors == 0
        assert certificate.stop
        assert certificate == certificate_of(stopper)
        assert value(certificate.config) < EPSILON
        ended = [result for result in results if result.config]  # of one that was killed nothing is known
        for result in ended:
            assert result.config == {**search.log.trials[result.metrics["trial_id"]].config, "width": 64}
        assert {"kind": "steps", "k": 2, "n": 1} in [result.config["part"] for result in ended]
        found = replay(results, epsilon=EPSILON)
        assert found.certificates[-1].bound == pytest.approx(certificate.bound)
        restored = GPUCBSearch(seed=0)
        restored.restore_from_dir(results.experiment_path)
        assert restored.log.observations() == search.log.observations()

    def test_tunes_own_random_search(self, tmp_path):
        stopper = RegretBoundStopper(space=small(), metric="loss", mode="min", epsilon=1e-9)
        results = experiment(
            tmp_path,
            report,
            BasicVariantGenerator(random_state=0),
            stopper,
            param_space=small(),
            num_samples=12,
            callbacks=[stopper],
        )
        certificate = certificate_of(results)
        assert (certificate.n_observations, certificate.n_excluded) == (12, 0)
        values = {trial["trial_id"]: trial["value"] for trial in record_of(stopper.log)["trials"]}
        assert values == {r.metrics["trial_id"]: pytest.approx(value(r.config)) for r in results}
        found = replay(results, epsilon=1e-9, space=small(), metric="loss", mode="min")
        assert found.certificates[-1].n_observations == 12

    def test_classes_that_tune_hides_and_functions_that_it_computes_tell_the_branches_apart(self, tmp_path):
        search = GPUCBSearch(seed=0)
        stopper = RegretBoundStopper(search, epsilon=1e-9)
        results = experiment(tmp_path, report_hidden, search, stopper, param_space=hidden(), num_samples=8)
        assert results.num_errors == 0
        assert certificate_of(results).n_observations == 8
        branches = [o.params["part"].number for o in search.log.observations()]
        parts = {result.metrics["trial_id"]: result.config["part"] for result in results}
        assert branches == [[Model, Other].index(parts[trial_id]["of"]) for trial_id in search.log.trials]
        assert set(branches) == {0, 1}
        assert [part.get("y") for part in parts.values()] == [
            part["x"] + 1 if part["of"] is Other else None for part in parts.values()
        ]

    def test_a_bad_domain_is_named_before_the_first_trial(self, tmp_path):
        bad = {"part": tune.choice([{"x": tune.randn(0, 1)}, {"y": 1}])}
        search = GPUCBSearch(seed=0)
        with pytest.raises(ValueError, match="'part/x': a regret bound needs a bounded range"):
            experiment(tmp_path, report, search, RegretBoundStopper(search, epsilon=0.1), param_space=bad)
        assert not list(tmp_path.glob("*/*/params.json"))

"""What users of Tune's searchers and stoppers have complained of, and what they get here; the numbers are issues."""

import inspect
import math
import time
from importlib.metadata import requires

import numpy as np
import pytest
from packaging.requirements import Requirement
from ray import tune
from ray.cloudpickle import dumps, loads
from ray.tune.search import BasicVariantGenerator, ConcurrencyLimiter, Repeater, Searcher
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from regretstop import OptimalityGap
from tests.integrations.ray import objectives
from tests.integrations.ray.forms import RunConfig
from tests.integrations.ray.objectives import space, value
from tests.integrations.ray.test_ray_search import result, run, searcher


def over(spec, **arguments):
    search = GPUCBSearch(**{"seed": 0, **arguments})
    search.set_search_properties("loss", "min", spec)
    return search


def test_the_package_says_which_ray_it_was_made_for():
    """49845: a newer version of what a searcher rests on breaks it, and nothing was pinned."""
    ours = [Requirement(r) for r in requires("regretstop") if "extra" in r]
    assert any(r.name == "ray" and r.specifier.contains("2.60.0") and not r.specifier.contains("2.9.0") for r in ours)


@pytest.mark.parametrize("before", [True, False])
def test_a_pickled_searcher_is_whole_before_and_after_its_properties_are_set(before, tmp_path):
    """30861: after a restoration another searcher, without the state, goes on."""
    search = GPUCBSearch(seed=0) if before else searcher(points_to_evaluate=[{"x": 0.5, "model": {"k": 1}}])
    again = loads(dumps(search))
    again.set_search_properties("loss", "min", space())
    configs = run(again, 7)
    again.save(str(tmp_path / "state.pkl"))
    blank = GPUCBSearch(seed=0)
    blank.restore(str(tmp_path / "state.pkl"))
    assert [o.value for o in blank.log.observations()] == [value(c) for c in configs]
    assert blank.suggest("next") == again.suggest("next")


@pytest.mark.parametrize("arguments", [{"result": {"loss": 1.0, "training_iteration": 1}}, {"error": True}, {}])
def test_an_unknown_trial_does_not_raise(arguments):
    """19113, 11918: after a resumption a trial completes that the searcher does not know."""
    search = searcher()
    run(search, 6)
    search.on_trial_result("8717c4de", {"loss": 1.0, "training_iteration": 1})
    search.on_trial_complete(trial_id="8717c4de", **arguments)
    assert len(search.log.observations()) == 6
    assert isinstance(search.suggest("next"), dict)


finished = pytest.mark.skipif("FINISHED" not in inspect.getsource(Repeater), reason="this Ray has the fault itself")


@pytest.mark.parametrize(
    "wrap", [pytest.param(lambda s: Repeater(s, 2), marks=finished), lambda s: ConcurrencyLimiter(s, 2)]
)
def test_wrappers_pass_on_that_the_search_is_finished(wrap):
    """43489: a wrapper takes FINISHED for a configuration and dies."""
    search = searcher()
    stopper = RegretBoundStopper(search, rule=OptimalityGap(10.0, beta="grid"))
    wrapped = wrap(search)
    run(search, 6)
    assert wrapped.suggest("next") == Searcher.FINISHED
    assert stopper.stop_all()


def test_a_search_that_has_converged_goes_on_with_other_points():
    """28062: an easy problem, repeats, and the search ends without a word after a few of a thousand trials."""
    search = over({"x": tune.uniform(0, 1)})
    configs = run(search, 40, f=lambda config: (config["x"] - 0.3) ** 2)
    assert len(configs) == 40
    assert len({config["x"] for config in configs}) >= 30


def test_both_ends_of_integers_are_reached_and_nothing_beyond():
    """15593, 28045: `randint(0, 10)` gave 10; `qrandint(1, 10, 3)` gave 0, and its upper end never came."""
    for domain, values in ((tune.randint(0, 4), {0, 1, 2, 3}), (tune.qrandint(1, 10, 3), {3, 6, 9})):
        search = over({"n": domain, "x": tune.uniform(0, 1)}, n_initial_points=40)
        assert {search.suggest(str(i))["n"] for i in range(40)} == values


def test_quantised_values_lie_on_the_grid():
    """20246: `quniform(1, 2.5, 0.1)` gave 2.2899 and 1.9375."""
    search = over({"x": tune.quniform(1.0, 2.5, 0.1), "y": tune.uniform(0, 1)})
    allowed = {round(0.1 * k, 1) for k in range(10, 26)}
    assert {c["x"] for c in run(search, 20, f=lambda c: c["x"])} <= allowed


def test_choices_of_any_kind_are_searched():
    """6167: optimizer, activation and loss are to be chosen by name."""
    spec = {
        "optimizer": tune.choice(["adam", "sgd"]),
        "bias": tune.choice([True, False]),
        "act": tune.choice([None, abs]),
    }
    best = {"optimizer": "sgd", "bias": False, "act": abs}
    search = over(spec)
    configs = run(search, 12, f=lambda config: sum(config[name] != best[name] for name in best))
    assert best in configs
    assert all(config["act"] in (None, abs) for config in configs)


def test_a_function_in_the_space_is_refused_by_name():
    """45407: `sample_from` leads to a TypeError somewhere in the searcher."""
    with pytest.raises(ValueError, match=r"'units'.*Function"):
        over({"layers": tune.randint(1, 4), "units": tune.sample_from(lambda config: 2 ** config["layers"])})


def test_nested_and_flat_starting_points():
    """28753: nested configurations and `points_to_evaluate` crash after some trials."""
    points = [{"x": 0.1, "model": {"k": 2}}, {"x": 0.2, "model/k": 1}]
    search = searcher(points_to_evaluate=points)
    configs = run(search, 8, f=lambda c: c["x"])
    assert configs[:2] == [points[0], {"x": 0.2, "model": {"k": 1}}]
    assert search.log.space.params(configs[0]) == {"x": 0.1, "model/k": 2}


def test_many_suggestions_before_any_result_are_spread_out():
    """14770: Tune asks for all configurations at once, and every search becomes a random one."""
    search = searcher()
    run(search, 6)
    points = np.array([[c["x"], c["model"]["k"] / 3] for c in (search.suggest(f"at once {i}") for i in range(20))])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(20)
    assert distances.min() > 1e-4


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.xdist_group("ray")
def test_through_tune_it_finds_better_values_than_random_search(tmp_path):
    """14770: only an experiment shows that results reach the searcher before the next suggestion."""

    def best(search_alg):
        results = tune.Tuner(
            objectives.one_report,
            param_space=space(),
            tune_config=tune.TuneConfig(
                metric="loss", mode="min", search_alg=search_alg, num_samples=12, reuse_actors=True
            ),
            run_config=RunConfig(storage_path=str(tmp_path), verbose=0),
        ).fit()
        return results.get_best_result().metrics["loss"]

    assert best(GPUCBSearch(seed=0)) < best(BasicVariantGenerator(random_state=0))


def test_it_never_limits_itself():
    """15880: a searcher that returns None for reasons of its own blocks a batched limiter."""
    search = searcher()
    assert not search.set_max_concurrency(2)
    assert all(isinstance(search.suggest(f"live {i}"), dict) for i in range(30))


def test_results_that_come_late_and_in_bursts_all_count():
    """15880: a batched limiter holds results back and then hands them over together."""
    inner = searcher()
    search = ConcurrencyLimiter(inner, 4, batch=True)
    for batch in range(3):
        configs = {f"{batch}-{i}": search.suggest(f"{batch}-{i}") for i in range(4)}
        assert search.suggest("too many") is None
        for trial_id, config in configs.items():
            assert len(inner.log.observations()) == 4 * batch
            search.on_trial_complete(trial_id, result(config, value(config)))
    assert len(inner.log.observations()) == 12


def test_a_stopper_keeps_no_clock():
    """21038: the time for which an experiment lay dead counts, and the restored one stops at once."""
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    run(search, 7)
    stopper.stop_all()
    before, certificate = stopper.__getstate__(), certificate_of(stopper)
    again = loads(dumps(stopper))
    time.sleep(0.05)
    assert again.__getstate__() == stopper.__getstate__() == before
    assert not again.stop_all()
    assert certificate_of(again) == certificate


def test_a_trial_that_is_killed_is_no_longer_awaited_and_has_no_value():
    """34136: when the time is up, trials end without their last report."""
    search = searcher()
    run(search, 6)
    search.suggest("killed")
    search.on_trial_result("killed", {"loss": -100.0, "training_iteration": 1})
    search.on_trial_complete(trial_id="killed")
    assert [o.value for o in search.log.observations()[6:]] == [None]
    assert search.log.pending() == []


def test_a_second_completion_changes_nothing():
    """18903: "already finished and can not be updated" ends the script."""
    search = searcher()
    configs = run(search, 7)
    before = search.log.observations()
    search.on_trial_result("trial-6", result(configs[6], 5.0))
    search.on_trial_complete(trial_id="trial-6", result=result(configs[6], value(configs[6])))
    search.on_trial_complete(trial_id="trial-6")
    assert search.log.observations() == before


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
def test_repeats_are_not_taken_for_free_of_noise():
    """8311: the mean over repeats is passed on as an exact value; and it is NaN where all of them failed."""
    inner = searcher()
    stopper = RegretBoundStopper(inner, epsilon=1e-9)
    search = Repeater(inner, 2)
    rng = np.random.default_rng(0)
    for i in range(30):
        config = search.suggest(str(i))
        loss = math.nan if i in (4, 5) else value(config) + 0.1 * rng.standard_normal()
        search.on_trial_complete(str(i), result(config, loss))
    stopper.stop_all()
    certificate = certificate_of(stopper)
    assert (certificate.n_observations, certificate.n_excluded) == (14, 1)
    assert certificate.noise.noise_std > 0.005

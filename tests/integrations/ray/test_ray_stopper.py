"""The stopper, called as Tune calls it."""

import copy
import gc
import json
import logging
import math
import pickle

import pytest
from ray.tune.search import ConcurrencyLimiter, Repeater
from ray.tune.search.optuna import OptunaSearch
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of
from regretstop_ray.matplotlib import plot_regret_bound as plot_matplotlib
from regretstop_ray.plot import bound_history, plot_regret_bound

from regretstop import GPUCB, GaussianProcess, Observation, OptimalityGap, UCBbr
from tests.integrations.ray.objectives import EPSILON, space, value
from tests.integrations.ray.test_ray_search import result, run, searcher

ALONE = {"space": space(), "metric": "loss", "mode": "min"}


def nested(config, loss, done=True, step=1):
    """A result as Tune hands it to a stopper."""
    return {"config": {**config, "other": 1}, "loss": loss, "done": done, "training_iteration": step}


def configs(n):
    return run(searcher(), n)


def feed(stopper, many, first=0):
    for i, config in enumerate(many, first):
        assert stopper(f"trial-{i}", nested(config, value(config))) is False


def certified(many, rule):
    """The certificate by the core for the same data."""
    optimizer = GPUCB(GPUCBSearch.convert_search_space(space()).space, direction="minimize", seed=0)
    optimizer.replace_history(
        [Observation({"x": c["x"], "model/k": c["model"]["k"]}, value(c), i) for i, c in enumerate(many)]
    )
    return optimizer.certificate(rule)


@pytest.mark.parametrize("kind", ["alone", "with the searcher"])
def test_samples_of_the_hyperparameters_reach_the_certificate(kind):
    rule = UCBbr(EPSILON)
    if kind == "alone":
        stopper = RegretBoundStopper(**ALONE, rule=rule, surrogate=GaussianProcess(hyperparameters="posterior"))
        feed(stopper, configs(8))
    else:
        search = searcher(surrogate=GaussianProcess(hyperparameters="posterior"))
        stopper = RegretBoundStopper(search, rule=rule)
        run(search, 8)
    assert stopper.stop_all() is False
    model = certificate_of(stopper).model
    assert (model.n_samples, model.sampling) == (8, "HMC")


@pytest.mark.parametrize("kind", ["alone", "with the searcher"])
def test_the_best_possible_value_is_a_floor(kind):
    known = {"surrogate": GaussianProcess(noise_std=0.0), "best_possible": 0.0}
    if kind == "alone":
        stopper = RegretBoundStopper(**ALONE, epsilon=100.0, **known)
        feed(stopper, configs(4))
    else:
        search = searcher(**known)
        stopper = RegretBoundStopper(search, epsilon=100.0)
        run(search, 4)
    assert stopper.stop_all() is True
    certificate = certificate_of(stopper)
    assert certificate.maximum == "declared"
    assert certificate.bound == certificate.incumbent_value


@pytest.mark.parametrize("kind", ["alone", "with the searcher"])
def test_the_certificate_is_the_cores(kind):
    rule = UCBbr(EPSILON)
    if kind == "alone":
        stopper = RegretBoundStopper(**ALONE, rule=rule)
        many = configs(8)
        feed(stopper, many)
    else:
        search = searcher()
        stopper = RegretBoundStopper(search, rule=rule)
        many = run(search, 8)
    assert stopper.stop_all() is False
    certificate = certificate_of(stopper)
    expected = certified(many, rule)
    assert (certificate.bound, certificate.incumbent) == (expected.bound, expected.incumbent)
    assert certificate.trial_id == f"trial-{expected.incumbent}"
    assert certificate.config == many[expected.incumbent]
    assert f"Trial {expected.incumbent} is trial-{expected.incumbent} with {certificate.config}." in str(certificate)


def test_it_decides_once_and_says_so_once(log):
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=EPSILON)
    n = 0
    while not stopper.stop_all():
        run(search, 1, first=n)
        n += 1
        assert n < 40
    decision = certificate_of(stopper)
    assert decision.stop
    assert decision.n_observations == n
    # The optimum is 0, so the regret of a trial is its value.
    assert decision.incumbent_value < EPSILON
    # What comes later does not undo it.
    search.log.start("late", {"x": 0.9, "model": {"k": 3}})
    search.on_trial_complete(trial_id="late", result=result({"x": 0.9}, -5.0))
    assert stopper.stop_all()
    assert certificate_of(stopper) == decision
    assert log.at(logging.INFO) == [f"The experiment stops. Running trials are ended. {decision.summary()}"]


def test_it_asks_the_model_only_when_there_is_something_new(monkeypatch):
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    calls = []
    certificate = GPUCB.certificate
    monkeypatch.setattr(GPUCB, "certificate", lambda *arguments: calls.append(1) or certificate(*arguments))
    for n in range(5):
        run(search, 1, first=n)
        for _ in range(10):
            stopper.stop_all()
    assert len(calls) == 5


def test_drain_ends_the_search_and_not_the_trials():
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=EPSILON, on_stop="drain")
    run(search, 1)
    n = 1
    while certificate_of(stopper) is None or not certificate_of(stopper).stop:
        run(search, 1, first=n)
        n += 1
        assert not stopper.stop_all()
        assert n < 40
    assert search.suggest("one more") == "FINISHED"


@pytest.mark.parametrize(
    "wrap", [lambda s: s, lambda s: ConcurrencyLimiter(s, 2), lambda s: Repeater(ConcurrencyLimiter(s, 2), 2)]
)
def test_it_finds_the_searcher_in_its_wrappers(wrap):
    search = searcher()
    assert RegretBoundStopper(wrap(search), epsilon=0.1).log is search.log


def test_the_bound_stands_in_the_results_once_there_is_one():
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    shown = []
    for i, config in enumerate(configs(9)):
        reported = nested(config, value(config))
        stopper(f"trial-{i}", reported)
        stopper.stop_all()
        shown.append(reported.get("regret_bound"))
    # 2 free parameters: nothing before 6 observations; a result shows the bound before it.
    assert shown[:6] == [None] * 6
    assert shown[6] == certified(configs(6), UCBbr(1e-9)).bound
    assert all(0 < bound < math.inf for bound in shown[6:])


def test_only_trials_that_end_by_themselves_count():
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    for i, config in enumerate(configs(8)):
        for step in (1, 2):
            stopper(f"trial-{i}", nested(config, value(config) - 5, done=False, step=step))
        if i % 2:
            stopper(f"trial-{i}", nested(config, value(config), step=3))
    stopper.stop_all()
    assert certificate_of(stopper).n_observations == 4
    assert [o.value for o in stopper.log.observations()] == [value(c) for c in configs(8)[1::2]]


def test_a_declared_length_decides_what_counts():
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9, max_t=3)
    for i, config in enumerate(configs(8)):
        for step in (1, 2, 3, 4) if i % 2 else (1, 2):
            stopper(f"trial-{i}", nested(config, value(config) + 10 * (step - 3), done=False, step=step))
    assert [o.value for o in stopper.log.observations()] == [value(c) for c in configs(8)[1::2]]


def test_trials_cut_short_are_not_certified_until_their_length_is_declared(log):
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=EPSILON)
    for i in range(12):
        config = search.suggest(f"trial-{i}")
        for step in (1, 2):
            search.on_trial_result(f"trial-{i}", result(config, 9, done=False, training_iteration=step))
        # The result that ends it is not one at which it went on.
        search.on_trial_complete(trial_id=f"trial-{i}", result=result(config, value(config), training_iteration=3))
        assert not stopper.stop_all()
    certificate = certificate_of(stopper)
    assert certificate.bound == math.inf
    assert "trial-0 was ended by a scheduler or a stop criterion at training_iteration 3" in certificate.reason
    assert len(log.at(logging.WARNING)) == 1
    declared = RegretBoundStopper(search, epsilon=EPSILON, max_t=3)
    declared.stop_all()
    assert certificate_of(declared).n_observations == 12


def test_trials_that_never_end_by_themselves_are_remarked_upon(log):
    stopper = RegretBoundStopper(**ALONE, epsilon=EPSILON)
    for i, config in enumerate(configs(25)):
        stopper(f"trial-{i}", nested(config, value(config), done=False))
    assert len(log.at(logging.WARNING)) == 1
    assert "declare max_t" in log.at(logging.WARNING)[0]


def test_a_trial_of_another_space_is_not_certified(log):
    stopper = RegretBoundStopper(**ALONE, epsilon=10.0)
    feed(stopper, configs(8))
    stopper("odd", {"config": {"x": 0.5}, "loss": 0.1, "done": True})
    assert not stopper.stop_all()
    assert "trial odd has no value for some parameter" in certificate_of(stopper).reason
    assert len(log.at(logging.WARNING)) == 1


def test_a_searcher_that_repeats_points():
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    feed(stopper, [config for config in configs(7) for _ in range(7)])
    stopper.stop_all()
    assert certificate_of(stopper).n_observations == 49
    assert certificate_of(stopper).bound < math.inf


def test_a_nested_metric():
    stopper = RegretBoundStopper(space=space(), metric="eval/loss", mode="min", epsilon=1e-9)
    for i, config in enumerate(configs(7)):
        stopper(str(i), {"config": config, "eval": {"loss": value(config)}, "done": True})
    assert [o.value for o in stopper.log.observations()] == [value(c) for c in configs(7)]


@pytest.mark.parametrize("loss", [math.nan, math.inf, None, "text"])
def test_bad_values_are_left_out(loss):
    stopper = RegretBoundStopper(**ALONE, epsilon=1e-9)
    many = configs(8)
    feed(stopper, many)
    stopper("bad", nested({"x": 0.3, "model": {"k": 0}}, loss))
    stopper("silent", {"config": many[0], "done": True})
    stopper.stop_all()
    certificate = certificate_of(stopper)
    assert (certificate.n_observations, certificate.n_excluded) == (8, 2)
    assert certificate.bound == certified(many, UCBbr(1e-9)).bound


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "epsilon"),
        ({"epsilon": 0}, "epsilon must be a positive number, got 0"),
        ({"epsilon": math.nan}, "epsilon.*nan"),
        ({"epsilon": "small"}, "epsilon.*'small'"),
        ({"epsilon": 0.1, "delta": 1.0}, "delta.*1.0"),
        ({"rule": "UCBbr"}, "rule.*'UCBbr'"),
        ({"epsilon": 0.1, "on_stop": "pause"}, "on_stop.*'pause'"),
        ({"epsilon": 0.1, "max_t": 0}, "max_t.*0"),
        ({"epsilon": 0.1, "on_stop": "drain"}, "drain.*needs a GPUCBSearch"),
        ({"epsilon": 0.1, "metric": None}, "metric=None"),
        ({"epsilon": 0.1, "metric": ["a", "b"]}, "one objective"),
        ({"epsilon": 0.1, "mode": "minimize"}, "mode.*'minimize'"),
        ({"epsilon": 0.1, "space": {"a": 1}}, "constants only"),
        ({"epsilon": 0.1, "surrogate": GaussianProcess}, "surrogate must have guarantee, n_estimated and fit"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        RegretBoundStopper(**{**ALONE, **arguments})


def test_what_does_not_go_with_a_searcher_is_refused():
    with pytest.raises(ValueError, match="give space, metric and mode instead"):
        RegretBoundStopper(OptunaSearch(), epsilon=0.1)
    for given in ({"metric": "loss"}, {"space": space()}, {"surrogate": GaussianProcess()}, {"best_possible": 0.0}):
        with pytest.raises(ValueError, match=f"with a search, {next(iter(given))} are those of the search"):
            RegretBoundStopper(searcher(), epsilon=0.1, **given)
    search = searcher()
    RegretBoundStopper(search, epsilon=0.1, max_t=3)
    with pytest.raises(ValueError, match=r"declared as 3 training_iteration before, got 5"):
        RegretBoundStopper(search, epsilon=0.1, max_t=5)


def test_pickled_apart_the_two_find_each_other_again():
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    run(search, 7)
    stopper.stop_all()
    files = pickle.dumps(search), pickle.dumps(stopper)
    before = certificate_of(stopper)
    del search, stopper
    gc.collect()  # nothing of the old run is alive
    search, stopper = map(pickle.loads, files)
    assert stopper.log is search.log
    assert certificate_of(stopper) == before
    run(search, 1, first=7)
    stopper.stop_all()
    assert certificate_of(stopper).n_observations == 8


def test_the_declared_length_survives_pickling(tmp_path):
    """A length in epochs is not one in iterations."""
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=1e-9, max_t=3, time_attr="epoch")
    search.save(str(tmp_path / "state.pkl"))
    blank = GPUCBSearch(seed=0)
    blank.restore(str(tmp_path / "state.pkl"))
    files = pickle.dumps(search), pickle.dumps(stopper)
    del search, stopper
    gc.collect()
    search, stopper = map(pickle.loads, files)
    assert stopper.log is search.log
    for restored in (blank, search):
        for trial_id, epoch in (("short", 2), ("whole", 3)):
            config = restored.suggest(trial_id)
            restored.on_trial_complete(trial_id=trial_id, result=result(config, 0.5, training_iteration=5, epoch=epoch))
        assert [o.value for o in restored.log.observations()] == [None, 0.5]


def test_a_decision_survives_pickling_and_costs_no_further_trial(log):
    search = searcher()
    stopper = RegretBoundStopper(search, rule=OptimalityGap(10.0, beta="grid"))
    run(search, 7)
    assert stopper.stop_all()
    files = pickle.dumps(search), pickle.dumps(stopper)
    del search, stopper
    gc.collect()
    search, stopper = map(pickle.loads, files)
    assert search.suggest("more") == "FINISHED"
    assert stopper.stop_all()
    assert len(log.at(logging.INFO)) == 2  # once in either process


def test_a_copy_of_the_pair_is_another_experiment():
    search = searcher()
    pair = copy.deepcopy((search, RegretBoundStopper(search, rule=OptimalityGap(10.0, beta="grid"))))
    run(search, 7)
    assert not pair[1].stop_all()
    assert len(run(pair[0], 7)) == 6  # the first bound is below ε
    assert pair[1].stop_all()


def test_an_unknown_version_is_refused():
    state = {**RegretBoundStopper(**ALONE, epsilon=0.1).__getstate__(), "version": 2}
    with pytest.raises(ValueError, match="version 1, got 2"):
        RegretBoundStopper.__new__(RegretBoundStopper).__setstate__(state)


def test_the_record_holds_every_trial_and_certificate(tmp_path):
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    for n in range(8):
        run(search, 1, first=n)
        stopper.stop_all()
    search.suggest("running")
    search.save_to_dir(str(tmp_path))
    record = json.loads((tmp_path / "regret_bound.json").read_text(), parse_constant=pytest.fail)
    assert [t["trial_id"] for t in record["trials"]] == [*(f"trial-{i}" for i in range(8)), "running"]
    assert [t["state"] for t in record["trials"]] == 8 * ["completed"] + ["running"]
    assert [c["n_ended"] for c in record["certificates"]] == list(range(1, len(record["certificates"]) + 1))
    for source in (tmp_path, str(tmp_path), tmp_path.as_uri(), search):
        assert certificate_of(source) == certificate_of(stopper)


def test_the_history_is_what_was_decided():
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=0.15)
    bounds = []
    many = []
    while not stopper.stop_all():
        many += run(search, 1, first=len(many))
        stopper.stop_all()
        bounds.append(certificate_of(stopper).bound)
    history = bound_history(stopper)
    assert history.trials == list(range(len(many)))  # as certificates number them
    assert history.bounds == bounds
    assert history.values == [value(c) for c in many]
    assert history.best_values[-1] == min(history.values)
    assert history.stopped_at == len(many) - 1
    assert (history.epsilon, history.direction) == (0.15, "minimize")
    figure = plot_regret_bound(stopper)
    assert list(figure.data[0].x) == history.trials
    axes = plot_matplotlib(stopper)
    assert list(axes.get_lines()[0].get_xdata()) == history.trials


def test_where_there_is_nothing_there_is_no_certificate(tmp_path):
    assert certificate_of(tmp_path) is None
    assert certificate_of(RegretBoundStopper(**ALONE, epsilon=0.1)) is None
    with pytest.raises(ValueError, match="holds no regret bounds"):
        plot_regret_bound(tmp_path)


def test_the_bound_of_several_rules_on_one_search():
    search = searcher()
    loose, tight = (
        RegretBoundStopper(search, rule=OptimalityGap(10.0, beta="grid")),
        RegretBoundStopper(search, epsilon=1e-9),
    )
    run(search, 6)
    assert loose.stop_all()
    assert not tight.stop_all()
    assert {rule for rule, _ in search.log.certificates} == {repr(UCBbr(1e-9)), repr(OptimalityGap(10.0, beta="grid"))}
    assert certificate_of(search).rule == "OptimalityGap"  # the one that stopped

"""Real experiments on a local Ray: each ends by its certificate, or says why not."""

import math
from pathlib import Path

import pytest
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import BasicVariantGenerator, ConcurrencyLimiter, Repeater
from ray.tune.search.optuna import OptunaSearch
from ray.tune.stopper import CombinedStopper, MaximumIterationStopper
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from regretstop import GaussianProcess
from tests.integrations.ray import objectives
from tests.integrations.ray.forms import RunConfig
from tests.integrations.ray.objectives import EPSILON, space, value

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.xdist_group("ray"),  # one Ray is enough for two cores
]
ALONE = {"space": space(), "metric": "loss", "mode": "min", "epsilon": EPSILON}
ENOUGH = 60


def experiment(path, trainable, search_alg, stop, *, param_space=None, num_samples=ENOUGH, callbacks=None, **config):
    tuner = tune.Tuner(
        trainable,
        param_space=space() if param_space is None else param_space,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search_alg, num_samples=num_samples, reuse_actors=True, **config
        ),
        run_config=RunConfig(name="experiment", storage_path=str(path), stop=stop, callbacks=callbacks, verbose=0),
    )
    return tuner.fit()


def check(results, n_samples=ENOUGH):
    """It ended early, by a certificate that names one of its trials, whose true regret is below ε."""
    certificate = certificate_of(results)
    assert certificate.stop
    assert len(results) < n_samples
    trial = next(r for r in results if r.metrics and r.metrics.get("trial_id") == certificate.trial_id)
    assert trial.config["x"] == certificate.config["x"]
    assert trial.config["model"] == {**certificate.config["model"], "width": 64}
    assert value(trial.config) < EPSILON
    return certificate


def test_kill(tmp_path):
    search = GPUCBSearch(seed=0)
    stopper = RegretBoundStopper(search, epsilon=EPSILON)
    results = experiment(tmp_path, objectives.one_report, search, stopper, num_samples=-1)
    assert check(results, math.inf) == certificate_of(stopper) == certificate_of(search)
    # Tune's results and TensorBoard have the bound.
    assert results.get_dataframe()["regret_bound"].notna().any()
    assert any(b"regret_bound" in f.read_bytes() for f in Path(results.experiment_path).glob("*/events*"))


def test_samples_of_the_hyperparameters(tmp_path):
    search = GPUCBSearch(seed=0, surrogate=GaussianProcess(hyperparameters="posterior"))
    results = experiment(
        tmp_path, objectives.one_report, search, RegretBoundStopper(search, epsilon=1e-9), num_samples=9
    )
    certificate = certificate_of(results)
    assert (len(results), certificate.n_observations) == (9, 9)
    assert (certificate.model.n_samples, certificate.model.sampling) == (8, "HMC")


def test_drain_lets_running_trials_end(tmp_path):
    search = GPUCBSearch(seed=0)
    stopper = RegretBoundStopper(search, epsilon=EPSILON, on_stop="drain")
    results = experiment(tmp_path, objectives.one_report, search, stopper)
    check(results)
    assert not search.log.pending()
    assert all("loss" in result.metrics for result in results)


def test_killed_trials_cannot_pass_for_the_best(tmp_path):
    search = GPUCBSearch(seed=0)
    results = experiment(tmp_path, objectives.deceptive, search, RegretBoundStopper(search, epsilon=EPSILON))
    certificate = check(results)
    assert certificate.incumbent_value >= 0  # f is, its early reports are not


@pytest.mark.parametrize("batch", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_inside_a_concurrency_limiter(tmp_path, batch):
    search = ConcurrencyLimiter(GPUCBSearch(seed=0), 2, batch=batch)
    check(experiment(tmp_path, objectives.one_report, search, RegretBoundStopper(search, epsilon=EPSILON)))


def test_inside_a_repeater(tmp_path):
    search = Repeater(GPUCBSearch(seed=0), 2)
    results = experiment(tmp_path, objectives.one_report, search, RegretBoundStopper(search, epsilon=EPSILON))
    assert 2 * check(results).n_observations <= len(results)


def test_inside_a_combined_stopper(tmp_path):
    search = GPUCBSearch(seed=0)
    stopper = CombinedStopper(RegretBoundStopper(search, epsilon=EPSILON, max_t=4), MaximumIterationStopper(4))
    check(experiment(tmp_path, objectives.four_reports, search, stopper))


def test_with_asha_only_trials_at_full_length_certify(tmp_path):
    search = GPUCBSearch(seed=0)
    stopper = RegretBoundStopper(search, epsilon=EPSILON, max_t=4)
    scheduler = ASHAScheduler(max_t=4, grace_period=1, reduction_factor=2)
    results = experiment(tmp_path, objectives.four_reports, search, stopper, scheduler=scheduler)
    certificate = check(results)
    whole = [r for r in results if r.metrics.get("training_iteration") == 4]
    assert certificate.n_observations <= len(whole) < len(results)


def test_with_asha_and_no_declared_length_nothing_is_certified(tmp_path):
    search = GPUCBSearch(seed=0)
    stopper = RegretBoundStopper(search, epsilon=EPSILON)
    scheduler = ASHAScheduler(max_t=4, grace_period=1, reduction_factor=2)
    results = experiment(tmp_path, objectives.four_reports, search, stopper, scheduler=scheduler, num_samples=16)
    assert len(results) == 16
    assert certificate_of(results).bound == math.inf
    assert "declare max_t" in certificate_of(results).reason


@pytest.mark.parametrize(
    "search", [OptunaSearch(seed=0), pytest.param(BasicVariantGenerator(random_state=0), marks=pytest.mark.slow)]
)
def test_alone_beside_another_search_algorithm(tmp_path, search):
    stopper = RegretBoundStopper(**ALONE)
    results = experiment(tmp_path, objectives.one_report, search, stopper, callbacks=[stopper], num_samples=200)
    certificate = certificate_of(results)
    assert certificate.stop
    assert certificate == certificate_of(stopper)
    assert certificate.incumbent_value < EPSILON
    assert sum("loss" in (r.metrics or {}) for r in results) < 200


def test_a_class_trainable_that_says_it_is_done(tmp_path):
    search = GPUCBSearch(seed=0)
    results = experiment(tmp_path, objectives.Stepper, search, RegretBoundStopper(search, epsilon=EPSILON))
    assert certificate_of(results).stop
    assert len(results) < ENOUGH


def test_errors_and_values_that_are_no_numbers_do_not_end_it(tmp_path):
    search = GPUCBSearch(seed=0)
    results = experiment(tmp_path, objectives.often_wrong, search, RegretBoundStopper(search, epsilon=EPSILON))
    certificate = certificate_of(results)
    assert certificate.stop
    assert certificate.incumbent_value < EPSILON
    assert certificate.n_excluded >= 1  # the Sobol points alone cover x > 0.6


def test_a_failed_trial_that_is_tried_again_counts_once(tmp_path):
    flag = tmp_path / "flag"
    search = GPUCBSearch(seed=0)
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    spec = {**space(), "flag": str(flag)}
    results = experiment(tmp_path, objectives.fails_once, search, stopper, param_space=spec, num_samples=3)
    assert results.num_errors == 3
    assert [o.value != o.value for o in search.log.observations()] == 3 * [True]
    flag.touch()
    for option in ("resume_errored", "restart_errored"):
        tuner = tune.Tuner.restore(results.experiment_path, objectives.fails_once, **{option: True})
        again = tuner.fit()
        assert again.num_errors == 0
        seen = [o for o in search.log.observations() if o.value == o.value]
        assert len(seen) == 3
        assert {o.value for o in seen} == {value(r.config) for r in again}


def test_what_is_certified_already_costs_no_trial(tmp_path):
    first = GPUCBSearch(seed=0)
    results = experiment(tmp_path, objectives.one_report, first, RegretBoundStopper(first, epsilon=EPSILON))
    n = certificate_of(results).n_observations
    again = GPUCBSearch(seed=1)
    again.restore_from_dir(results.experiment_path)
    more = experiment(tmp_path / "same", objectives.one_report, again, RegretBoundStopper(again, epsilon=2 * EPSILON))
    assert len(more) == 0
    assert certificate_of(again).stop
    # With a smaller ε it goes on, from what is known.
    further = GPUCBSearch(seed=1)
    further.restore_from_dir(results.experiment_path)
    more = experiment(
        tmp_path / "less", objectives.one_report, further, RegretBoundStopper(further, epsilon=EPSILON / 4)
    )
    assert len(more) > 0
    assert certificate_of(more).stop
    assert certificate_of(more).n_observations > n


def test_evaluated_trials_of_another_experiment(tmp_path):
    first = experiment(tmp_path, objectives.one_report, BasicVariantGenerator(random_state=0), None, num_samples=6)
    search = GPUCBSearch(seed=0)
    search.set_search_properties("loss", "min", space())
    from ray.tune import ExperimentAnalysis

    search.add_evaluated_trials(ExperimentAnalysis(first.experiment_path), "loss")
    assert sorted(o.value for o in search.log.observations()) == sorted(value(r.config) for r in first)


def test_a_constants_only_space_is_refused_before_the_first_trial(tmp_path):
    with pytest.raises(ValueError, match="constants only"):
        experiment(tmp_path, objectives.one_report, GPUCBSearch(), None, param_space={"x": 0.5, "model": {"k": 1}})
    assert not list(tmp_path.glob("experiment/one_report*"))

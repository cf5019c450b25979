"""Rules in combination on Tune's trials, whose last results say when they ran."""

import pickle

import pytest
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of
from regretstop_ray.plot import bound_history

from regretstop import Deadline, Patience, Target, UCBbr
from tests.integrations.ray import objectives
from tests.integrations.ray.objectives import space, value
from tests.integrations.ray.test_ray_experiments import experiment
from tests.integrations.ray.test_ray_search import result, run, searcher
from tests.integrations.ray.test_ray_stopper import ALONE, configs, nested


@pytest.mark.usefixtures("cluster")
@pytest.mark.xdist_group("ray")
def test_a_combination_ends_an_experiment_by_tunes_own_times(tmp_path):
    search = GPUCBSearch(seed=0)
    rule = UCBbr(1e-9) | Patience(4) | Deadline(1e6)
    results = experiment(tmp_path, objectives.one_report, search, RegretBoundStopper(search, rule=rule), num_samples=40)
    certificate = certificate_of(results)
    assert (certificate.rule, certificate.asker) == ("Patience", "UCBbr | Patience | Deadline")
    assert certificate.stop
    assert certificate.trial_id in search.log.trials
    ran = {r.metrics["trial_id"]: r.metrics for r in results if "loss" in (r.metrics or {})}
    spans = {trial_id: record.span for trial_id, record in search.log.trials.items() if record.state == "completed"}
    assert spans
    for trial_id, span in spans.items():
        assert span[1] == ran[trial_id]["timestamp"]
        assert span[1] - span[0] == pytest.approx(ran[trial_id]["time_total_s"], abs=1e-6)
    taken = next(each for each in certificate.said if each.rule == "Deadline").terms["taken"]
    assert 0.0 < taken <= max(e for _, e in spans.values()) - min(s for s, _ in spans.values()) + 1e-6


@pytest.mark.parametrize("kind", ["alone", "with the searcher"])
def test_a_restored_clock_goes_on_where_it_stood(kind):
    """Two trials of 40 s; then the experiment is restored a day later, and two more are run."""
    rule = UCBbr(1e-9) | Deadline(200.0)
    search = None if kind == "alone" else searcher()
    stopper = RegretBoundStopper(**ALONE, rule=rule) if search is None else RegretBoundStopper(search, rule=rule)
    many = configs(4)
    starts = [0.0, 40.0, 86_400.0, 86_440.0]
    for i, (config, start) in enumerate(zip(many, starts, strict=True)):
        if i == 2:
            restored = pickle.dumps((search, stopper))
            del search, stopper
            search, stopper = pickle.loads(restored)
        times = {"timestamp": int(start) + 40, "time_total_s": 40.0}
        if search is None:
            stopper(f"trial-{i}", {**nested(config, value(config)), **times})
        else:
            suggested = search.suggest(f"trial-{i}")
            search.on_trial_complete(trial_id=f"trial-{i}", result=result(suggested, value(suggested), **times))
        # 80 s, a minute for the night, 80 s
        assert stopper.stop_all() == (i == 3)
    certificate = certificate_of(stopper)
    assert (certificate.rule, certificate.terms["taken"]) == ("Deadline", 220.0)


def test_results_without_times_are_no_obstacle():
    search = searcher()
    stopper = RegretBoundStopper(search, rule=Deadline(1.0) | Target(1e9))
    search.on_trial_complete(trial_id="failed", result=None, error=True)
    run(search, 1)
    assert stopper.stop_all()
    certificate = certificate_of(stopper)
    assert (certificate.rule, certificate.incumbent) == ("Target", 0)
    assert certificate.said[0].terms["taken"] == 0.0
    assert bound_history(stopper).rule == "Target"


def test_the_searcher_takes_the_smallest_epsilon():
    search = searcher()
    stopper = RegretBoundStopper(search, rule=UCBbr(0.01) | Patience(30))
    assert search.log.watchers.epsilon == stopper.rule.regret_epsilon == 0.01


def test_where_no_trial_is_whole_facts_still_speak(log):
    """A scheduler ended every trial: no bound without max_t, and patience all the same."""
    search = GPUCBSearch(seed=0, space=space(), metric="loss", mode="min")
    stopper = RegretBoundStopper(search, rule=UCBbr(0.1) | Patience(3))
    for i in range(8):
        config = search.suggest(f"trial-{i}")
        search.on_trial_complete(trial_id=f"trial-{i}", result={**result(config, 1.0 + i), "done": False})
        if stopper.stop_all():
            break
    assert i == 3
    certificate = certificate_of(stopper)
    assert certificate.rule == "Patience"
    assert "declare max_t" in certificate.others[0].reason

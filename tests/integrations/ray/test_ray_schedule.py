"""Tests that are not made after every trial."""

import pickle

import pytest
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of
from regretstop_ray._record import record_of

from regretstop import Every, OptimalityGap, UCBbr
from tests.integrations.ray.objectives import value
from tests.integrations.ray.test_ray_search import result, run, searcher


def end(search, trial_id, config):
    search.on_trial_result(trial_id, result(config, value(config)))
    search.on_trial_complete(trial_id=trial_id, result=result(config, value(config)))


def test_a_finished_experiment_is_certified_by_one_call(tmp_path):
    search = searcher()
    run(search, 12)
    rule = OptimalityGap(epsilon=1e-3, schedule=Every(), beta="grid")
    search.save(str(tmp_path / "state"))
    restored = GPUCBSearch(seed=0)
    restored.restore(str(tmp_path / "state"))
    kept = record_of(search.log)
    certificates = [certificate_of(source, rule) for source in (search, restored)]
    assert certificates[0] == certificates[1]
    assert certificates[0].trial_id == f"trial-{certificates[0].incumbent}"
    assert certificates[0].risk.spent == pytest.approx(0.05)
    assert certificates[0].n_observations == 12
    assert record_of(search.log) == kept


def test_wrong_use_is_named(tmp_path):
    rule = UCBbr(epsilon=0.1)
    with pytest.raises(ValueError, match="a rule needs the stopper or the searcher"):
        certificate_of(tmp_path, rule)
    with pytest.raises(ValueError, match="rule must be a stopping rule"):
        certificate_of(searcher(), UCBbr)


def test_an_experiment_stops_at_a_test():
    search = searcher()
    stopper = RegretBoundStopper(search, rule=OptimalityGap(epsilon=0.3, schedule=Every(5), beta="grid"))
    for n in range(60):
        run(search, 1, first=n)
        if stopper.stop_all():
            break
    certificate = certificate_of(stopper)
    assert certificate.stop
    assert certificate.n_observations == len(search.log.trials) == n + 1
    assert (n + 1) % 5 == 0
    assert len(search.log.certificates) == n + 1


def test_a_trial_that_ends_late_does_not_change_a_test_that_was_made():
    """Ten trials start; all but the first end, then the first."""
    search = searcher()
    configs = {f"trial-{i}": search.suggest(f"trial-{i}") for i in range(10)}
    rule = OptimalityGap(epsilon=1e-3, schedule=Every(8), beta="grid")
    seen = []
    for trial_id in [*list(configs)[1:], "trial-0"]:
        end(search, trial_id, configs[trial_id])
        seen.append(certificate_of(pickle.loads(pickle.dumps(search)), rule))
    assert [c.n_observations for c in seen[7:]] == [8, 8, 8]
    assert seen[7] == seen[8] == seen[9]

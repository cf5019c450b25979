"""Real processes on one SQLite file, and real SIGKILLs."""

import signal
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop
from regretstop_optuna._attributes import bounds_after

from regretstop import OptimalityGap
from tests.integrations.optuna.objectives import parabola

RULE = OptimalityGap(epsilon=0.2, beta="grid")
WORKER = Path(__file__).with_name("worker.py")


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    optuna.create_study(study_name="shared", storage=url)
    return url


@pytest.fixture(scope="module")
def uninterrupted() -> optuna.Study:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=RULE)])
    assert should_stop(study)
    return study


def start(url: str, *arguments: object, n_trials: int = 60) -> subprocess.Popen[str]:
    command = [sys.executable, WORKER, url, n_trials, RULE.epsilon, *arguments]
    return subprocess.Popen(map(str, command), stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=900)
    return errors


def load(url: str) -> optuna.Study:
    return optuna.load_study(study_name="shared", storage=url, sampler=GPUCBSampler(seed=0))


def test_two_processes_end_after_one_certifies(url):
    workers = [start(url), start(url)]
    logs = [end(worker) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    study = load(url)
    assert should_stop(study)
    certificate = certificate_of(study)
    assert certificate is not None
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    # The other process ends after the trial in which it learns of the decision.
    assert len(study.trials) <= certificate.n_observations + 4
    assert all("The study stops" in log for log in logs)
    # What decided is among the bounds, whichever process wrote last. Where both had ended a trial before either looked,
    # both saw the same, and there is one bound for two trials.
    bounds = bounds_after(study.user_attrs, "OptimalityGap")
    assert certificate.bound in [known.bound for known in bounds.values()]
    assert len(bounds) >= certificate.n_observations // 2


def test_a_worker_that_comes_late_to_a_certified_study_ends_at_once(url):
    end(start(url))
    n = len(load(url).trials)
    log = end(start(url))
    assert len(load(url).trials) == n + 1
    assert "as decided before" in log


def test_a_process_killed_in_a_trial_loses_nothing(url, uninterrupted):
    killed = start(url, "kill-in-trial", 5)
    end(killed)
    assert killed.returncode == -signal.SIGKILL
    study = load(url)
    assert [t.state for t in study.trials] == 5 * [TrialState.COMPLETE] + [TrialState.RUNNING]
    assert [t.params for t in study.trials[:5]] == [t.params for t in uninterrupted.trials[:5]]
    resumed = start(url)
    end(resumed)
    assert resumed.returncode == 0
    study = load(url)
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert certificate.n_observations == sum(t.state == TrialState.COMPLETE for t in study.trials)


def test_a_process_killed_before_it_could_decide_decides_the_same_after_its_restart(url, uninterrupted):
    last = len(uninterrupted.trials) - 1
    killed = start(url, "kill-before-decision", last)
    end(killed)
    assert killed.returncode == -signal.SIGKILL
    study = load(url)
    assert [t.params for t in study.trials] == [t.params for t in uninterrupted.trials]
    assert not should_stop(study)
    assert should_stop(study, rule=RULE)
    assert certificate_of(study) == certificate_of(uninterrupted)
    assert len(study.trials) == last + 1

"""What is kept in the study: by whom it is written, when a write fails, and what an earlier version wrote."""

import copy
import json
import logging
import sqlite3
import threading
from pathlib import Path

import joblib
import optuna
import pytest
from optuna.storages import InMemoryStorage, RDBStorage
from optuna.trial import TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop
from regretstop_optuna.plot import bound_history
from regretstop_optuna.versions import journal

from regretstop import Certificate, DeltaCB, Every, GaussianProcess, Geometric, OptimalityGap, UCBbr
from tests.integrations.optuna.objectives import bumps, parabola

DATA = Path(__file__).parents[2] / "data"
RULE = OptimalityGap(epsilon=1.0, beta="grid")


@pytest.fixture(params=["memory", "SQLite", "journal"])
def storage(request, tmp_path):
    if request.param == "memory":
        return InMemoryStorage()
    if request.param == "SQLite":
        return f"sqlite:///{tmp_path}/study.db"
    return journal(tmp_path / "journal.log")


def new_study(storage=None, seed: int = 0, **options) -> optuna.Study:
    return optuna.create_study(storage=storage, sampler=GPUCBSampler(seed=seed), **options)


# ---- A storage that refuses ----------------------------------------------------------------------------------------


class Lock:
    """Callbacks that lock a SQLite file for all other writers, and unlock it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lock(self, *_: object) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def unlock(self, *_: object) -> None:
        self._connection.rollback()
        self._connection.close()


@pytest.fixture
def sqlite(tmp_path):
    """A study in a SQLite file that waits for nobody, and the file's lock."""
    path = tmp_path / "study.db"
    storage = RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": 0.01}})
    return new_study(storage, study_name="locked"), Lock(path)


def test_a_locked_database_ends_no_worker_and_the_decision_stands(sqlite, log):
    study, lock = sqlite
    callbacks = [lock.lock, RegretBoundCallback(rule=RULE), lock.unlock]
    study.optimize(parabola, n_trials=40, callbacks=callbacks)
    assert len(study.trials) < 40
    assert not study.user_attrs
    (warning,) = log.at(logging.WARNING)
    assert "StorageInternalError" in warning
    assert "runs on" in warning
    # This process knows of the decision, and stores it as soon as it can.
    assert should_stop(study)
    assert set(study.user_attrs) == {"regretstop:decision:OptimalityGap"}
    other = optuna.load_study(study_name="locked", storage=study._storage._backend.url)
    assert should_stop(other, rule=RULE)
    assert certificate_of(other) == certificate_of(study)


@pytest.mark.parametrize("source", ["network file system", "gRPC"])
def test_a_storage_that_cannot_be_read_for_the_moment_ends_no_worker(source, log):
    error = OSError(116, "Stale file handle")
    if source == "gRPC":
        error = pytest.importorskip("grpc").RpcError("unavailable")

    class Flaky(InMemoryStorage):
        fails = False

        def get_all_trials(self, *arguments, **options):
            if self.fails:
                raise error
            return super().get_all_trials(*arguments, **options)

    storage = Flaky()
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))

    def fail(study, trial):
        storage.fails = trial.number in (3, 4)

    def recover(study, trial):
        storage.fails = False

    study.optimize(bumps, n_trials=8, callbacks=[fail, RegretBoundCallback(epsilon=1e-9), recover])
    assert len(study.trials) == 8
    (warning,) = log.at(logging.WARNING)
    assert "trial 3" in warning
    assert certificate_of(study) is not None


def test_what_could_not_be_stored_is_stored_after_the_next_trial(sqlite, log):
    study, lock = sqlite
    callback = RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))
    study.optimize(bumps, n_trials=8, callbacks=[lock.lock, callback, lock.unlock])
    assert not study.user_attrs
    study.optimize(bumps, n_trials=1, callbacks=[callback])
    assert bound_history(study).bounds[-1] == certificate_of(study).bound
    assert study.user_attrs["regretstop:history"]["OptimalityGap"]["n"] == list(range(1, 10))
    assert len(log.at(logging.WARNING)) == 1


def test_a_point_that_could_not_be_published_is_evaluated_all_the_same(sqlite, log):
    study, lock = sqlite
    study.optimize(bumps, n_trials=6)
    sampler = study.sampler

    class Locking(optuna.samplers.BaseSampler):
        """Locks the file while the point is chosen, and lets Optuna write what is suggested."""

        def infer_relative_search_space(self, study, trial):
            return sampler.infer_relative_search_space(study, trial)

        def sample_relative(self, study, trial, search_space):
            lock.lock()
            params = sampler.sample_relative(study, trial, search_space)
            lock.unlock()
            return params

        def sample_independent(self, *arguments):
            raise AssertionError

    study.sampler = Locking()
    study.optimize(bumps, n_trials=2)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len(log.at(logging.WARNING)) == 1


def test_a_study_that_cannot_be_read_is_not_assessed_and_runs_on(sqlite, log):
    study, lock = sqlite

    class Exclusive(Lock):
        def lock(self, *_: object) -> None:
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            self._connection.execute("BEGIN EXCLUSIVE")

    exclusive = Exclusive(lock._path)
    callback = RegretBoundCallback(rule=RULE)
    study.optimize(parabola, n_trials=3, callbacks=[exclusive.lock, callback, exclusive.unlock])
    assert len(study.trials) == 3
    assert len(log.at(logging.WARNING)) == 1
    study.optimize(parabola, n_trials=40, callbacks=[callback])
    assert should_stop(study)
    assert len(log.at(logging.WARNING)) == 1


# ---- Several who write ---------------------------------------------------------------------------------------------


def test_what_another_process_overwrote_is_written_again(tmp_path):
    """Two storages on one file, as two processes have them; one writes what it read before the other wrote."""
    url = f"sqlite:///{tmp_path}/study.db"
    one, other = (new_study(url, study_name="shared", load_if_exists=True) for _ in range(2))
    rules = {"OptimalityGap": OptimalityGap(1e-9, beta="grid"), "DeltaCB": DeltaCB(1e-9)}
    callbacks = [RegretBoundCallback(rule=rule) for rule in rules.values()]
    one.optimize(bumps, n_trials=7, callbacks=callbacks[:1])
    old = one.user_attrs
    other.optimize(bumps, n_trials=2, callbacks=callbacks[1:])
    one.optimize(bumps, n_trials=2, callbacks=callbacks[:1])
    for key, value in old.items():
        other.set_user_attr(key, value)
    other.optimize(bumps, n_trials=1, callbacks=callbacks[1:])
    one.optimize(bumps, n_trials=1, callbacks=callbacks[:1])
    history = one.user_attrs["regretstop:history"]
    assert history["OptimalityGap"]["n"] == [1, 2, 3, 4, 5, 6, 7, 10, 11, 13]
    assert history["DeltaCB"]["n"] == [8, 9, 12]
    assert set(one.user_attrs["regretstop:certificates"]) == set(rules)


def test_processes_that_disagree_do_not_overwrite_each_other_for_ever(tmp_path):
    """The same number of observations, but not the same bound: what stands there then stays."""
    url = f"sqlite:///{tmp_path}/study.db"
    one, other = (new_study(url, study_name="shared", load_if_exists=True) for _ in range(2))
    callbacks = [
        RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"), surrogate=GaussianProcess(noise_std=noise))
        for noise in (0.0, 1.0)
    ]
    for study, callback in zip((one, other), callbacks, strict=True):
        study.sampler = optuna.samplers.RandomSampler(seed=0)
        study.optimize(bumps, n_trials=7 if study is one else 1, callbacks=[callback])
    for _ in range(3):
        for study, callback in zip((one, other), callbacks, strict=True):
            callback(study, study.trials[-1])
    histories = []
    for _ in range(2):
        for study, callback in zip((one, other), callbacks, strict=True):
            callback(study, study.trials[-1])
            histories.append(study.user_attrs["regretstop:history"])
    assert all(history == histories[0] for history in histories)


def test_no_thread_loses_a_decision(storage):
    study = new_study(storage)
    rules = [
        OptimalityGap(1.0, beta="grid"),
        UCBbr(1.0),
        DeltaCB(1.0),
        OptimalityGap(2.0, schedule=Geometric(4, 1.2), beta="grid"),
    ]
    study.optimize(parabola, n_trials=14)
    together = threading.Barrier(len(rules))
    errors: list[BaseException] = []

    def call(rule) -> None:
        callback = RegretBoundCallback(rule=rule)
        together.wait()
        try:
            callback(study, study.trials[-1])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(rule,)) for rule in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    decided = {f"regretstop:decision:{name}" for name in ("OptimalityGap", "UCBbr", "DeltaCB")}
    assert set(study.user_attrs) == decided | {"regretstop:certificates", "regretstop:history"}
    assert set(study.user_attrs["regretstop:history"]) == {"OptimalityGap", "UCBbr", "DeltaCB"}


# ---- What stays, and what does not ---------------------------------------------------------------------------------


def earlier_study() -> optuna.Study:
    """A study as the first version of the package left it, with an attribute for each certificate."""
    found = json.loads((DATA / "optuna_study_with_an_attribute_per_trial.json").read_text())
    study = new_study()
    space = {"x": optuna.distributions.FloatDistribution(-5, 5)}
    for trial in found["trials"]:
        study.add_trial(optuna.create_trial(params={"x": trial["x"]}, distributions=space, value=trial["value"]))
    for key, value in found["user_attrs"].items():
        study.set_user_attr(key, value)
    return study


def test_a_study_of_an_earlier_version_is_read():
    study = earlier_study()
    before = study.user_attrs
    last = Certificate.from_dict(before["regretstop:certificate:OptimalityGap:8"])
    assert certificate_of(study) == last
    assert last.stop
    history = bound_history(study)
    assert list(history.trials) == list(range(9))
    assert history.bounds == [
        Certificate.from_dict(before[f"regretstop:certificate:OptimalityGap:{n}"]).bound for n in range(9)
    ]
    assert history.stopped_at == 8
    # The decision was made by the default schedule of that time, and counts for the one of today, but for no other.
    assert should_stop(study)
    assert should_stop(study, rule=RULE)
    assert should_stop(study, rule=OptimalityGap(1.0, schedule=Every(), beta="grid"))
    assert study.user_attrs == before
    assert not should_stop(study, rule=OptimalityGap(1.0, schedule=Geometric(50), beta="grid"))


def test_a_study_of_an_earlier_version_goes_on():
    study = earlier_study()
    n = len(study.user_attrs)
    study.optimize(parabola, n_trials=3, callbacks=[RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))])
    assert len(study.user_attrs) == n + 2
    assert certificate_of(study).n_observations == 9  # of the decision, which stands
    history = bound_history(study)
    assert history.epsilon == 1e-9
    assert len(history.bounds) == 12
    assert history.bounds[7] == Certificate.from_dict(study.user_attrs["regretstop:certificate:OptimalityGap:7"]).bound


def test_another_study_in_the_place_of_a_deleted_one_starts_anew(storage):
    """SQLite gives the number of a deleted study to the next one."""
    storage = optuna.storages.get_storage(storage)
    for n in (8, 6):
        study = optuna.create_study(storage=storage, study_name="again", sampler=optuna.samplers.RandomSampler(seed=n))
        study.optimize(bumps, n_trials=n, callbacks=[RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))])
        assert study.user_attrs["regretstop:history"]["OptimalityGap"]["n"] == list(range(1, n + 1))
        assert certificate_of(study).n_observations == n
        fresh = optuna.create_study()
        fresh.add_trials(study.trials)
        assert certificate_of(fresh, OptimalityGap(1e-9, beta="grid")) == certificate_of(study)
        optuna.delete_study(study_name="again", storage=storage)


def test_a_copied_study_is_decided_as_the_original(storage, tmp_path):
    study = new_study(storage, study_name="original")
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=RULE)])
    url = f"sqlite:///{tmp_path}/copy.db"
    optuna.copy_study(
        from_study_name="original", from_storage=study._storage, to_storage=url, to_study_name="under another name"
    )
    copied = optuna.load_study(study_name="under another name", storage=url, sampler=GPUCBSampler(seed=0))
    assert should_stop(copied)
    assert should_stop(copied, rule=RULE)
    assert certificate_of(copied) == certificate_of(study)
    assert list(bound_history(copied).trials) == list(range(len(study.trials)))


def test_one_sampler_and_one_callback_on_two_storages(storage):
    sampler, callback = GPUCBSampler(seed=0), RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))
    studies = [optuna.create_study(storage=s, sampler=sampler) for s in (storage, "sqlite://")]
    alone = new_study()
    for study in (*studies, alone):
        study.enqueue_trial({"x": 0.0, "y": 1.0})  # what is sampled before there is a space comes from one generator
    for _ in range(5):
        for study in (*studies, alone):
            study.optimize(bumps, n_trials=2, callbacks=[callback])
    assert [t.params for t in studies[0].trials] == [t.params for t in alone.trials]
    assert [t.params for t in studies[1].trials] == [t.params for t in alone.trials]
    assert certificate_of(studies[0]) == certificate_of(studies[1]) == certificate_of(alone)


def test_a_study_is_dumped_in_a_later_callback(tmp_path):
    path = tmp_path / "study.pkl"
    callback = RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))
    study = new_study()

    def dump(study: optuna.Study, _: optuna.trial.FrozenTrial) -> None:
        joblib.dump((study, callback), path)

    study.optimize(bumps, n_trials=7, callbacks=[callback, dump])
    again, its_callback = joblib.load(path)
    assert certificate_of(again) == certificate_of(study)
    for each, its in ((study, callback), (again, its_callback), (copy.deepcopy(study), callback)):
        each.optimize(bumps, n_trials=2, callbacks=[its])
    assert [t.params for t in again.trials] == [t.params for t in study.trials[:9]]
    assert certificate_of(again) == certificate_of(study)

"""What a call costs, counted: tests and fits, reads and writes of the storage, and what the study holds in the end."""

import itertools
import json

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop
from regretstop_optuna._history import joined, row_of, to_columns
from regretstop_optuna.versions import journal

from regretstop import (
    PRB,
    AcquisitionThreshold,
    Certificate,
    DeltaCB,
    DeltaES,
    Every,
    Matern52,
    OptimalityGap,
    Thinning,
    UCBbr,
)
from regretstop.model import GaussianProcess
from tests.integrations.optuna.objectives import parabola

RULES = [UCBbr, OptimalityGap, PRB, DeltaCB, DeltaES, AcquisitionThreshold]
FEW = Thinning(dense=6, ratio=1.5)
MOST_CHARACTERS = 64_000  # of a value in MySQL


class CountingStorage(InMemoryStorage):
    """A storage that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self) -> None:
        self.trial_reads, self.attribute_reads, self.writes = 0, 0, []

    def get_all_trials(self, *args, **options):
        self.trial_reads += 1
        return super().get_all_trials(*args, **options)

    def get_study_user_attrs(self, *args, **options):
        self.attribute_reads += 1
        return super().get_study_user_attrs(*args, **options)

    def set_study_user_attr(self, study_id, key, value):
        self.writes.append(key)
        super().set_study_user_attr(study_id, key, value)


class CountingSurrogate(GaussianProcess):
    def __init__(self) -> None:
        kernel = Matern52(lengthscales=[0.3], outputscale=100.0)
        super().__init__(kernel=kernel, noise_std=0.1, hyperparameters="fixed", mean=0.0)
        self.fits: list[int] = []

    def fit(self, points, values, **options):
        self.fits.append(len(values))
        return super().fit(points, values, **options)


def random_study(storage=None) -> optuna.Study:
    return optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))


@pytest.mark.parametrize("kind", RULES)
def test_a_call_between_two_tests_fits_and_writes_nothing_and_reads_a_few_times(kind):
    storage, surrogate = CountingStorage(), CountingSurrogate()
    study = random_study(storage)
    callback = RegretBoundCallback(rule=kind(1e-9, schedule=FEW), surrogate=surrogate)
    reads: list[tuple[int, int]] = []
    wrote: list[int] = []

    def counted(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        storage.reset()
        callback(study, trial)
        reads.append((storage.trial_reads, storage.attribute_reads))
        if storage.writes:
            wrote.append(trial.number + 1)

    study.optimize(parabola, n_trials=50, callbacks=[counted])
    tests = [3, 4, 5, 6, 9, 14, 21, 32, 48]
    assert surrogate.fits == tests
    assert wrote == [1, 2, *tests]
    assert max(reads) <= (1, 3)
    # Once more where the log says where the study stands.
    assert set(reads[10:]) == {(1, 2), (1, 3)}
    assert reads[10:].count((1, 3)) <= 8


def test_a_call_looks_at_new_trials_only():
    """The trials that were known are not even looked at: their parameters are read once."""
    looked_at: list[int] = []

    class Trial(optuna.trial.FrozenTrial):
        @property
        def distributions(self):
            looked_at.append(self.number)
            return super().distributions

        @distributions.setter
        def distributions(self, value):
            self._distributions = dict(value)

    study = random_study()
    study.optimize(parabola, n_trials=30)
    storage = study._storage
    storage._studies[study._study_id].trials = [
        Trial(**{k: v for k, v in t.__dict__.items() if not k.startswith("_")} | _fields(t)) for t in study.trials
    ]
    callback = RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"), surrogate=CountingSurrogate())
    callback(study, storage.get_all_trials(study._study_id)[-1])
    assert sorted(set(looked_at)) == list(range(30))
    looked_at.clear()
    for _ in range(3):
        study.optimize(parabola, n_trials=1, callbacks=[callback])
    assert not looked_at


def _fields(trial: optuna.trial.FrozenTrial) -> dict:
    return {
        "state": trial.state,
        "number": trial.number,
        "values": trial.values,
        "value": None,
        "params": trial.params,
        "distributions": trial.distributions,
        "trial_id": trial._trial_id,
        "user_attrs": trial.user_attrs,
        "system_attrs": trial.system_attrs,
        "intermediate_values": trial.intermediate_values,
        "datetime_start": trial.datetime_start,
        "datetime_complete": trial.datetime_complete,
    }


@pytest.mark.parametrize("sampler", ["GPUCBSampler", "RandomSampler"])
def test_asking_and_telling_fits_at_tests_only(sampler):
    """`should_stop` remembers the model of a study whose sampler has none."""
    surrogate = CountingSurrogate()
    study = random_study()
    if sampler == "GPUCBSampler":
        study.sampler = GPUCBSampler(surrogate=surrogate, seed=0)
    rule = OptimalityGap(1e-9, schedule=FEW, beta="grid")
    assessed: list[int] = []

    class Counting(OptimalityGap):
        def assess(self, snapshot):
            assessed.append(snapshot.data.n_observations)
            return super().assess(snapshot)

    rule = Counting(1e-9, schedule=FEW)
    for _ in range(22):
        assert not should_stop(study, rule=rule)
        trial = study.ask()
        study.tell(trial, parabola(trial))
    assert [n for n in assessed if n >= 6] == [6, 9, 14, 21]


def test_a_study_has_two_attributes_and_its_decisions_whatever_is_asked_how_often():
    study = random_study()
    rules = [kind(1e-9, schedule=FEW) for kind in RULES] + [OptimalityGap(1e-6, schedule=Every(), beta="grid")]
    callbacks = [RegretBoundCallback(rule=rule, surrogate=CountingSurrogate()) for rule in rules]
    study.optimize(parabola, n_trials=4, callbacks=callbacks)
    names = set(study.user_attrs)
    assert names == {"regretstop:certificates", "regretstop:history"}
    study.optimize(parabola, n_trials=6, callbacks=callbacks)
    assert set(study.user_attrs) == names
    assert not [name for name in study._storage.get_study_system_attrs(study._study_id) if "regretstop" in name]
    assert not should_stop(study, rule=OptimalityGap(1e-9, beta="grid"))
    for kind in RULES:
        assert should_stop(study, rule=kind(1e9))
    decisions = {f"regretstop:decision:{kind.__name__}" for kind in RULES}
    assert set(study.user_attrs) == names | decisions
    assert all(len(json.dumps(value)) < MOST_CHARACTERS for value in study.user_attrs.values())


@pytest.mark.parametrize("schedule", [Every(), Every(7), Thinning()], ids=repr)
def test_the_history_of_a_long_study_stays_short(schedule):
    """No more rows than the default schedule has tests, whatever is tested when."""
    certificate = OptimalityGap(0.1, beta="grid").undecided("no reason").to_dict()
    rows = []
    for n in range(1, 3001):
        if schedule.due(n, 1).n_observations == n:
            values = {"bound": 1 / 3, "optimality_gap": 1e-7 / n, "n_observations": n}
            rows = joined(rows, [row_of(Certificate.from_dict(certificate | values), n)])
    assert len(rows) == {Every(): 168, Every(7): 82, Thinning(): 168}[schedule]
    assert rows == sorted(rows, key=lambda row: row.n)
    # Six rules have room in one value.
    assert 6 * len(json.dumps(to_columns(rows))) < MOST_CHARACTERS


def test_a_journal_does_not_grow_with_the_square_of_the_trials(tmp_path):
    """What is written between two tests is what Optuna itself writes."""
    path = tmp_path / "journal.log"
    study = random_study(journal(path))
    callback = RegretBoundCallback(rule=OptimalityGap(1e-9, schedule=FEW, beta="grid"), surrogate=CountingSurrogate())
    sizes: list[int] = []
    study.optimize(parabola, n_trials=45, callbacks=[callback, lambda *_: sizes.append(path.stat().st_size)])
    written = {n + 2: after - before for n, (before, after) in enumerate(itertools.pairwise(sizes))}
    quiet = [size for n, size in written.items() if n > 6 and n not in (9, 14, 21, 32, 48)]
    assert max(quiet) < 1500
    assert max(quiet) - min(quiet) < 50
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.n_observations == 32
    assert all(t.state == TrialState.COMPLETE for t in study.trials)

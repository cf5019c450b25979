"""What stands in the way of a bound, as the certificate says it: what is true of the study, and nothing else."""

import logging
import math
import subprocess
import sys
from dataclasses import replace
from enum import Enum, IntEnum

import optuna
import pytest
import regretstop_optuna.matplotlib
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from regretstop_optuna import (
    GPUCBSampler,
    RegretBoundCallback,
    certificate_of,
    check_study,
    plot_regret_bound,
    should_stop,
)
from regretstop_optuna._digest import Digest
from regretstop_optuna.versions import journal

from regretstop import Observation, OptimalityGap
from tests.integrations.optuna.objectives import parabola, proposal

RULE = OptimalityGap(epsilon=1.0, beta="grid")
SAMPLERS = {
    "GPUCBSampler": lambda: GPUCBSampler(seed=0),
    "RandomSampler": lambda: optuna.samplers.RandomSampler(seed=0),
}
samplers = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)


def outcome(trial: optuna.Trial, kind: str) -> float | None:
    if kind == "pruned":
        raise optuna.TrialPruned
    if kind == "raised":
        raise RuntimeError("diverged")
    return {"infinite": math.inf, "minus infinite": -math.inf, "nan": math.nan, "none": None}[kind]


KINDS = ["pruned", "raised", "infinite", "minus infinite", "nan", "none"]


# ---- No finite value yet -------------------------------------------------------------------------------------------


@samplers
@pytest.mark.parametrize("kinds", [*([kind] for kind in KINDS), KINDS], ids=" ".join)
def test_before_the_first_finite_value_the_reason_is_just_that(sampler, kinds, log):
    def objective(trial: optuna.Trial) -> float | None:
        parabola(trial)
        return outcome(trial, kinds[trial.number % len(kinds)])

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=7, catch=RuntimeError, callbacks=[RegretBoundCallback(rule=RULE)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.reason == "no finite value yet: every trial so far was pruned, failed or infinite"
    assert (certificate.n_observations, certificate.n_excluded) == (0, 7)
    assert certificate_of(study, RULE) == certificate
    assert not log.at(logging.WARNING)
    # It is no obstacle: with finite values there is a bound.
    study.optimize(parabola, n_trials=10, callbacks=[RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))])
    certificate = certificate_of(study)
    assert math.isfinite(certificate.bound)
    assert (certificate.n_observations, certificate.n_excluded) == (10, 7)


def test_conditional_parameters_are_named_once_there_is_a_value():
    def objective(trial: optuna.Trial) -> float:
        parabola(trial)
        if trial.number < 4:
            trial.suggest_float("only sometimes", 0, 1)
            raise optuna.TrialPruned
        return 1.0

    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    callbacks = [RegretBoundCallback(rule=RULE)]
    study.optimize(objective, n_trials=4, callbacks=callbacks)
    assert certificate_of(study).reason.startswith("no finite value yet")
    study.optimize(objective, n_trials=1, callbacks=callbacks)
    assert certificate_of(study).reason.startswith("'only sometimes' is not in every trial")


# ---- A value without a point ---------------------------------------------------------------------------------------


@samplers
@pytest.mark.parametrize("early", [[0], [3], [0, 1, 5, 9]], ids=repr)
@pytest.mark.parametrize("constant", [False, True], ids=["nothing", "a constant"])
def test_a_value_of_a_trial_that_suggested_nothing_is_left_out_and_counted(sampler, early, constant, log):
    def objective(trial: optuna.Trial) -> float:
        if constant:
            trial.suggest_int("always the same", 7, 7)
        return 100.0 if trial.number in early else parabola(trial)

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=60, callbacks=[RegretBoundCallback(rule=RULE)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    early = [number for number in early if number < len(study.trials)]
    assert certificate.n_excluded == len(early)
    assert certificate.n_observations == len(study.trials) - len(early)
    if isinstance(study.sampler, GPUCBSampler):
        joint = [t for t in study.trials if "regretstop:proposal" in t.system_attrs]
        assert len(joint) >= len(study.trials) - len(early) - 1
        assert not [line for line in log.at(logging.WARNING) if "sampled by" in line]


def test_before_the_first_point_the_reason_is_that_none_has_a_value():
    def objective(trial: optuna.Trial) -> float:
        if trial.number % 2:
            return 1.0
        parabola(trial)
        raise optuna.TrialPruned

    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(objective, n_trials=6, callbacks=[RegretBoundCallback(rule=RULE)])
    assert certificate_of(study).reason == "no finite value yet of a trial with a parameter that varies"


def test_a_trial_that_suggested_some_parameters_only_is_conditional():
    """It may be better than all others, and the model does not know where it lies."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x if trial.number == 3 else x + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(objective, n_trials=8, callbacks=[RegretBoundCallback(rule=OptimalityGap(100.0, beta="grid"))])
    assert certificate_of(study).reason.startswith("'y' is not in every trial with the same range")


distributions = st.dictionaries(
    st.sampled_from("abc"),
    st.sampled_from(
        [FloatDistribution(0, 1), FloatDistribution(0, 2), IntDistribution(3, 3), CategoricalDistribution([0, 1])]
    ),
)
states = st.sampled_from([TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING])


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(states, distributions, st.sampled_from([1.0, math.inf])), max_size=7), st.data())
def test_trials_read_as_they_finish_say_what_they_say_when_read_at_once(found, data):
    """In any order of finishing, with any number of readings between."""
    study = optuna.create_study()
    for state, space, value in found:
        params = {name: d.low if hasattr(d, "low") else d.choices[0] for name, d in space.items()}
        values = [value] if state == TrialState.COMPLETE else None
        study.add_trial(optuna.create_trial(state=state, params=params, distributions=space, values=values))
    trials = study.get_trials(deepcopy=False)
    order = data.draw(st.permutations(range(len(trials))))
    unfinished = [optuna.trial.FrozenTrial(**_running(t)) for t in trials]
    digest = Digest()
    for k, i in enumerate(order):
        unfinished[i] = trials[i]
        if k % 2:
            digest.read(list(unfinished))
    assert digest.is_of(trials)
    gradually, at_once = digest.read(trials), Digest().read(trials)
    # A NaN, the value of a failed trial, is not equal to itself in a dataclass of Python 3.13.
    assert all(map(Observation.same_as, gradually.observations, at_once.observations))
    assert replace(gradually, observations=at_once.observations) == at_once
    with_point = [t for t in trials if t.state == TrialState.COMPLETE and t.value == 1.0
                  and any(not d.single() for d in t.distributions.values())]  # fmt: skip
    assert at_once.n_observations == len(with_point)
    shared = optuna.search_space.intersection_search_space(with_point)
    assert at_once.joint == {name: d for name, d in shared.items() if not d.single()}
    assert bool(at_once.missing) == (not with_point)


def _running(trial: optuna.trial.FrozenTrial) -> dict:
    return {
        "number": trial.number, "state": TrialState.RUNNING, "value": None, "datetime_start": trial.datetime_start,
        "datetime_complete": None, "params": trial.params, "distributions": trial.distributions, "user_attrs": {},
        "system_attrs": {}, "intermediate_values": {}, "trial_id": trial._trial_id,
    }  # fmt: skip


# ---- Choices that the storage gives back as others -----------------------------------------------------------------

CHANGED = {"tuples": [(1, 2), (3, 4)], "a tuple in a list": [[1, (2, 3)], None], "keys": [{1: 2}, "a"]}
KEPT = {
    "lists": [[1, 2], [3]],
    "dicts": [{"a": 1}, {"a": [2]}],
    "not a number": [math.nan, 1.0],
    "plain": [None, True, 2, 3.5, "a"],
}


def of(kind: str, tmp_path):
    return {
        "SQLite": f"sqlite:///{tmp_path}/study.db",
        "journal": journal(tmp_path / "journal.log"),
        "memory": None,
    }[kind]


def chosen(choices: list) -> object:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + [repr(c) for c in choices].index(repr(trial.suggest_categorical("c", choices)))

    return objective


# Optuna warns of what a storage cannot keep.
ignore = pytest.mark.filterwarnings("ignore:Choices for a categorical distribution:UserWarning")


class Word(str, Enum):
    A = "a"
    B = "b"


class Number(IntEnum):
    ONE = 1
    TWO = 2


class Part(float):
    """A number of a class of one's own."""


CLASSES = {"str": list(Word), "int": list(Number), "float": [Part(0.5), Part(1.5)], "mixed": ["plain", Word.A]}


@pytest.mark.parametrize("kind", ["SQLite", "journal", "memory"])
@pytest.mark.parametrize("choices", CLASSES.values(), ids=CLASSES)
def test_choices_with_classes_are_given_as_they_are_and_modelled(kind, choices, tmp_path):
    """JSON keeps a member of an enumeration as the string or number that it is equal to."""
    study = optuna.create_study(storage=of(kind, tmp_path), sampler=GPUCBSampler(seed=0), study_name="s")
    seen: list[object] = []

    def objective(trial: optuna.Trial) -> float:
        seen.append(trial.suggest_categorical("c", choices))
        return trial.suggest_float("x", 0, 1) + choices.index(seen[-1])

    study.optimize(objective, n_trials=8, callbacks=[RegretBoundCallback(rule=RULE)])
    if kind != "memory":  # another process knows nothing but what is stored
        again = optuna.load_study(study_name="s", storage=of(kind, tmp_path), sampler=GPUCBSampler(seed=1))
        again.optimize(objective, n_trials=3)
    assert all(any(value is choice for choice in choices) for value in seen)
    assert {"c", "x"} == set(proposal(study.trials[-1]))
    assert math.isfinite(certificate_of(study).bound)


@ignore
@pytest.mark.parametrize("kind", ["SQLite", "journal"])
@pytest.mark.parametrize("choices", CHANGED.values(), ids=CHANGED)
def test_a_choice_that_json_changes_is_sampled_apart_and_the_certificate_says_so(kind, choices, tmp_path, log):
    storage = of(kind, tmp_path)
    study = optuna.create_study(storage=storage, sampler=GPUCBSampler(seed=0), study_name="s")
    study.optimize(chosen(choices), n_trials=8, callbacks=[RegretBoundCallback(rule=RULE)])
    assert len(study.trials) == 8
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert all(set(proposal(t)) == {"x"} for t in study.trials[1:])
    certificate = certificate_of(study)
    assert certificate is not None
    assert math.isinf(certificate.bound)
    assert certificate.reason == (
        "'c' has choices that the storage gives back as others (a tuple comes back as a list), so it is sampled "
        "independently of the model"
    )
    assert len(log.at(logging.WARNING)) == 2  # of the sampler and of the certificate
    if kind == "SQLite":
        return  # Optuna itself refuses such choices to another process, whatever samples them
    # Another process knows nothing but what is stored.
    again = optuna.load_study(study_name="s", storage=storage, sampler=GPUCBSampler(seed=1))
    again.optimize(chosen(choices), n_trials=3, callbacks=[RegretBoundCallback(rule=RULE)])
    assert len(again.trials) == 11
    assert certificate_of(again).reason == certificate.reason


@ignore
def test_two_such_parameters_are_both_named(tmp_path):
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1) + sum(len(trial.suggest_categorical(c, [(1,), (2, 3)])) for c in "cd")

    study = optuna.create_study(storage=of("SQLite", tmp_path), sampler=GPUCBSampler(seed=0))
    study.optimize(objective, n_trials=3, callbacks=[RegretBoundCallback(rule=RULE)])
    assert certificate_of(study).reason.startswith("'c', 'd' have choices")


@ignore
def test_a_study_of_another_sampler_with_such_choices_goes_on_with_this_one(tmp_path):
    """Where another sampler chose, the choices that came back are what the model describes: it is certified."""
    study = optuna.create_study(storage=of("SQLite", tmp_path), sampler=optuna.samplers.RandomSampler(seed=0))
    callbacks = [RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))]
    study.optimize(chosen([(1, 2), (3, 4)]), n_trials=8, callbacks=callbacks)
    assert math.isfinite(certificate_of(study).bound)
    study.sampler = GPUCBSampler(seed=0)
    study.optimize(chosen([(1, 2), (3, 4)]), n_trials=2, callbacks=callbacks)
    assert len(study.trials) == 10
    assert math.isinf(certificate_of(study).bound)


@ignore
@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("SQLite", name) for name in KEPT), ("journal", "lists"), *(("memory", name) for name in (*KEPT, *CHANGED))],
)
def test_a_choice_that_comes_back_equal_is_modelled(kind, name, tmp_path, log):
    choices = (KEPT | CHANGED)[name]
    study = optuna.create_study(storage=of(kind, tmp_path), sampler=GPUCBSampler(seed=0))
    study.optimize(chosen(choices), n_trials=11, callbacks=[RegretBoundCallback(rule=OptimalityGap(1e-9, beta="grid"))])
    assert all(set(proposal(t)) == {"x", "c"} for t in study.trials[1:])
    assert math.isfinite(certificate_of(study).bound)
    assert not log.at(logging.WARNING)


# ---- Several objectives --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        check_study,
        lambda study: should_stop(study, epsilon=1.0),
        should_stop,
        certificate_of,
        lambda study: certificate_of(study, RULE),
        plot_regret_bound,
        regretstop_optuna.matplotlib.plot_regret_bound,
        lambda study: GPUCBSampler().before_trial(study, None),
    ],
)
def test_several_objectives_are_refused_by_whoever_sees_the_study_first(use):
    study = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="one objective, the study has 2"):
        use(study)


def test_a_study_with_one_objective_passes_the_check():
    study = optuna.create_study()
    assert check_study(study) is None
    study.optimize(parabola, n_trials=1)
    assert check_study(study) is None


# ---- Without Optuna ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["regretstop_optuna", "regretstop_optuna.matplotlib"])
def test_without_optuna_the_extra_to_install_is_named(module):
    program = f"import sys; sys.modules['optuna'] = None; import {module}"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "regretstop_optuna needs Optuna: pip install 'regretstop[optuna]'" in result.stderr.splitlines()[-1]


def test_what_optuna_itself_lacks_is_not_taken_for_optuna():
    program = "import sys; sys.modules['sqlalchemy'] = sys.modules['optuna.storages'] = None; import regretstop_optuna"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "optuna.storages" in result.stderr.splitlines()[-1]
    assert "pip install" not in result.stderr

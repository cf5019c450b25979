"""Studies that are resumed with another range, or a parameter more or less, and what only looks like that."""

import logging
import math
from collections.abc import Callable
from dataclasses import replace

import optuna
import pytest
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop
from regretstop_optuna._digest import Digest, View

from regretstop import Every, UCBbr
from tests.integrations.optuna.objectives import proposal

Objective = Callable[[optuna.Trial], float]
EPSILON = 0.01
N_BEFORE = 8


def objective_of(**ranges: tuple[float, float]) -> Objective:
    """Return a bowl of these parameters, and of x and y where they are not among them; any other has its value 0.3."""
    ranges = {"x": (0.0, 0.5), "y": (0.0, 1.0)} | ranges

    def objective(trial: optuna.Trial) -> float:
        point = {"z": 0.3, "w": 0.3} | {name: trial.suggest_float(name, *ends) for name, ends in ranges.items()}
        return (point["x"] - 0.7) ** 2 + (point["y"] - 0.4) ** 2 + 0.5 * (point["z"] - 0.6) ** 2 + point["w"]

    return objective


def conditional(low: float, high: float) -> Objective:
    """Return an objective with a branch whose parameter has this range."""

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["bowl", "point"]) == "point":
            return 1.0
        return (trial.suggest_float("x", low, high) - 0.7) ** 2

    return objective


CHANGES = {
    "wider": (objective_of(), objective_of(x=(0.0, 2.0)), {"x", "y"}, 0),
    "narrower": (objective_of(x=(0.0, 2.0)), objective_of(x=(0.0, 1.0)), {"x", "y"}, 0),
    "apart": (objective_of(x=(0.0, 0.4)), objective_of(x=(0.5, 1.0)), {"x", "y"}, 0),
    "fixed before": (objective_of(x=(0.5, 0.5)), objective_of(x=(0.0, 1.0)), {"x", "y"}, 0),
    "both wider": (objective_of(), objective_of(x=(0.0, 1.0), y=(-1.0, 2.0)), {"x", "y"}, 0),
    "added": (objective_of(), objective_of(z=(0.0, 1.0)), {"x", "y", "z"}, N_BEFORE),
    "removed": (objective_of(w=(0.0, 1.0)), objective_of(), {"x", "y"}, N_BEFORE),
    "in a branch": (conditional(0.0, 0.5), conditional(0.0, 2.0), {"kind", "x"}, 0),
}


def view_of(study: optuna.Study) -> View:
    return Digest().read(study.get_trials(deepcopy=False))


def sampled_by(sampler: str) -> optuna.samplers.BaseSampler:
    return GPUCBSampler(seed=0) if sampler == "ours" else optuna.samplers.RandomSampler(seed=1)


@pytest.mark.parametrize("sampler", ["ours", "random"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_space_is_certified_by_what_counts_in_it(change, sampler, tmp_path, log) -> None:
    """The old trials count where they can: not where it is unknown what they had."""
    old, new, names, n_excluded = CHANGES[change]
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="s", storage=storage, sampler=sampled_by(sampler))
    study.optimize(old, n_trials=N_BEFORE)
    study = optuna.load_study(study_name="s", storage=storage, sampler=sampled_by(sampler))
    rule = UCBbr(1e-9, schedule=Every(5))
    n_trials = 32 if change == "in a branch" else 12
    study.optimize(new, n_trials=n_trials, callbacks=[RegretBoundCallback(rule=rule)])
    view = view_of(study)
    assert (set(view.tree.axes), view.obstacle) == (names, None)
    # A branch may have changed at any time since it was last seen as it was.
    last = max(t.number for t in study.trials[:N_BEFORE] if "x" in t.params)
    assert view.since == (last + 1 if change == "in a branch" else N_BEFORE)
    certificate = certificate_of(study, replace(rule, schedule=Every()))
    assert certificate is not None
    assert math.isfinite(certificate.bound)
    assert certificate.n_observations + certificate.n_excluded == len(study.trials)
    assert certificate.n_excluded == n_excluded
    assert certificate.incumbent is not None
    assert n_excluded == 0 or certificate.incumbent >= n_excluded
    if sampler == "ours":
        assert set(proposal(study.trials[-1])) <= names
        assert "x" in proposal(study.trials[-1]) or change == "in a branch"
    assert sum(f"is another since trial {view.since}: " in message for message in log.at(logging.INFO)) == 1


def test_the_best_trial_from_before_is_no_incumbent_where_it_lies_outside() -> None:
    """It is fitted all the same."""
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.enqueue_trial({"x": 0.7, "y": 0.4})
    study.optimize(objective_of(x=(0.0, 2.0)), n_trials=6)
    study.optimize(objective_of(x=(0.8, 2.0)), n_trials=30, callbacks=[RegretBoundCallback(epsilon=EPSILON)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert study.best_trial.number == 0
    assert study.trials[certificate.incumbent].params["x"] == pytest.approx(0.8, abs=0.1)


def test_what_was_decided_before_falls_with_its_space() -> None:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    callbacks = [RegretBoundCallback(epsilon=EPSILON)]
    study.optimize(objective_of(), n_trials=60, callbacks=callbacks)
    assert should_stop(study, epsilon=EPSILON)
    n = len(study.trials)
    study.optimize(objective_of(x=(0.0, 2.0)), n_trials=1)
    assert not should_stop(study, epsilon=EPSILON)
    study.optimize(objective_of(x=(0.0, 2.0)), n_trials=60, callbacks=callbacks)
    certificate = certificate_of(study, None)
    assert certificate is not None
    assert certificate.stop
    assert certificate.incumbent >= n
    assert study.trials[certificate.incumbent].params["x"] == pytest.approx(0.7, abs=0.1)


def test_several_changes() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for ranges in ({}, {"x": (0.0, 1.0)}, {"x": (0.0, 1.0), "z": (0.0, 1.0)}, {"z": (0.0, 1.0), "y": (0.0, 3.0)}):
        study.optimize(objective_of(**ranges), n_trials=8)
    view = view_of(study)
    assert (view.since, set(view.tree.axes)) == (24, {"x", "y", "z"})
    assert sum(o.params.keys() >= view.tree.axes.keys() for o in view.modelled()) == 16


# ---- What only looks like a change -----------------------------------------------------------------------------------


def depends_on_a_float(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    return x if x < 0.5 else x + trial.suggest_float("z", 0.0, 1.0)


@pytest.mark.parametrize("is_rising", [True, False])
def test_a_parameter_that_depends_on_a_float_is_not_taken_for_an_added_one(is_rising) -> None:
    """Not even where all trials with it came last, or first."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for i in range(20):
        study.enqueue_trial({"x": (i if is_rising else 19 - i) / 20})
    study.optimize(depends_on_a_float, n_trials=20)
    view = view_of(study)
    assert (view.since, view.kind) == (0, "unexplained")
    assert "'z' is not in every trial" in view.obstacle


@pytest.mark.parametrize("n_since", [1, 2, 3])
def test_few_trials_do_not_make_a_change(n_since) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    study.optimize(objective_of(), n_trials=20)
    study.optimize(objective_of(x=(0.0, 2.0)), n_trials=n_since)
    assert view_of(study).kind == (None if n_since == 3 else "unexplained")


def test_workers_with_two_versions_of_the_objective_are_not_certified() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for i in range(20):
        study.optimize(objective_of() if i % 2 else objective_of(x=(0.0, 2.0)), n_trials=1)
    assert view_of(study).kind == "unexplained"


def test_a_change_that_is_taken_back() -> None:
    """Trials from before the mistake count, too."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for ranges in ({}, {"x": (0.0, 2.0)}, {}):
        study.optimize(objective_of(**ranges), n_trials=8)
    assert view_of(study).since == 16

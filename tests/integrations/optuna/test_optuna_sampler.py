import copy
import datetime
import logging
import math
import pickle
import threading

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback

from regretstop import AcquisitionThreshold, GaussianProcess, Matern52, OptimalityGap, UCBbr
from tests.effort import examples
from tests.integrations.optuna.objectives import BRANIN_MINIMUM, branin, bumps, parabola, proposal


def new_study(direction: str = "minimize", **options) -> optuna.Study:
    options.setdefault("seed", 0)
    return optuna.create_study(direction=direction, sampler=GPUCBSampler(**options))


def modelled(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """The trials whose point the model proposed, and that kept to it."""
    return [t for t in study.trials if set(t.params) <= set(proposal(t))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": -1.0}, r"beta .* -1\.0"),
        ({"beta": "best"}, "beta .* 'best'"),
        ({"exceedance": 0.0}, r"exceedance .* 0\.0"),
        ({"n_startup_trials": 0}, "n_startup_trials .* 0"),
        ({"n_startup_trials": "5"}, "n_startup_trials .* '5'"),
        ({"seed": -1}, "seed .* -1"),
        ({"surrogate": GaussianProcess}, "surrogate must have guarantee, n_estimated and fit"),
    ],
)
def test_wrong_options_are_reported_at_construction(options, message):
    with pytest.raises(ValueError, match=message):
        GPUCBSampler(**options)


def test_declared_lengthscales_may_be_of_any_number():
    kernel = Matern52(lengthscales=[0.3, 0.4, 0.5], outputscale=1.0)
    GPUCBSampler(surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1))


def test_it_finds_the_minimum():
    study = new_study()
    study.optimize(branin, n_trials=30)
    assert study.best_value - BRANIN_MINIMUM < 0.1


def test_every_proposal_is_used_and_of_a_native_type(log):
    def objective(trial: optuna.Trial) -> float:
        values = (
            trial.suggest_float("float", -1, 1),
            trial.suggest_float("log", 1e-7, 1, log=True),
            trial.suggest_float("step", -0.3, 0.9, step=0.1),
            trial.suggest_int("int", -10, 10, step=4),
            trial.suggest_int("log int", 1, 1000, log=True),
            trial.suggest_categorical("choice", [None, "a", 1.5]),
        )
        assert tuple(map(type, values[:5])) == (float, float, float, int, int)
        assert any(values[5] is choice for choice in (None, "a", 1.5))
        return values[0] ** 2 + values[3]

    study = new_study(n_startup_trials=2)
    study.optimize(objective, n_trials=12)
    for trial in study.trials[1:]:
        internal = {name: trial.distributions[name].to_internal_repr(value) for name, value in trial.params.items()}
        assert internal == pytest.approx(proposal(trial), rel=0, abs=0)
    assert not log.records


@st.composite
def distributions(draw: st.DrawFn) -> BaseDistribution:
    kind = draw(st.sampled_from(["float", "log", "step", "int", "log int", "choice"]))
    if kind == "choice":
        return CategoricalDistribution(list(range(draw(st.integers(2, 5)))))
    if kind in ("int", "log int"):
        low = draw(st.integers(1, 100) if kind == "log int" else st.integers(-(10**6), 10**6))
        step = 1 if kind == "log int" else draw(st.integers(1, 7))
        high = low + step * draw(st.integers(1, 10**6))
        return IntDistribution(low, high, log=kind == "log int", step=step)
    if kind == "log":
        low = draw(st.floats(1e-9, 1e3))
        return FloatDistribution(low, low * draw(st.floats(1.1, 1e9)), log=True)
    if kind == "float":
        low = draw(st.floats(-1e6, 1e6))
        return FloatDistribution(low, low + draw(st.floats(1e-3, 1e6)))
    # Where a step is not far above the rounding error of low, Optuna takes no value for valid.
    low = draw(st.integers(-1000, 1000)) / 10
    step = draw(st.sampled_from([0.1, 0.25, 0.005, 3.7]))
    return FloatDistribution(low, round(low + step * draw(st.integers(1, 10**6)), 3), step=step)


@examples(25)
@given(space=st.dictionaries(st.sampled_from("abc"), distributions(), min_size=1))
def test_proposals_lie_in_the_distributions(space):
    study = new_study(n_startup_trials=2)
    for value in range(4):
        trial = study.ask(space)
        study.tell(trial, float(value))
        relative = trial.relative_params
        for name, distribution in space.items():
            assert trial.params[name] == relative.get(name, trial.params[name])
            assert distribution._contains(distribution.to_internal_repr(trial.params[name]))
        assert value == 0 or relative.keys() == space.keys()


def test_minimising_and_maximising_the_negative_are_mirrored():
    down, up = new_study("minimize"), new_study("maximize")
    down.optimize(bumps, n_trials=14)
    up.optimize(lambda trial: -bumps(trial), n_trials=14)
    assert [t.params for t in down.trials] == [t.params for t in up.trials]
    assert [t.value for t in down.trials] == [-(t.value or 0.0) for t in up.trials]


def test_the_same_seed_gives_the_same_trials():
    one, two = new_study(), new_study()
    one.optimize(bumps, n_trials=10)
    two.optimize(bumps, n_trials=10)
    assert [t.params for t in one.trials] == [t.params for t in two.trials]


@pytest.mark.parametrize("exceedance", [None, 0.05])
def test_a_resumed_study_goes_on_as_an_uninterrupted_one(exceedance):
    whole = new_study()
    whole.sampler = GPUCBSampler(seed=0, exceedance=exceedance)
    whole.optimize(bumps, n_trials=10)
    parts = new_study()
    for _ in range(5):
        parts.sampler = GPUCBSampler(seed=0, exceedance=exceedance)
        parts.optimize(bumps, n_trials=2)
    assert [t.params for t in whole.trials] == [t.params for t in parts.trials]


def test_exceedance_changes_where_it_looks_after_the_first_trials():
    plain, exceeding = new_study(), new_study()
    exceeding.sampler = GPUCBSampler(seed=0, exceedance=0.05)
    for study in (plain, exceeding):
        study.optimize(bumps, n_trials=8)
    assert [t.params for t in plain.trials[:5]] == [t.params for t in exceeding.trials[:5]]
    assert [t.params for t in plain.trials[5:]] != [t.params for t in exceeding.trials[5:]]


def searched(rule, n=10, parts=1, **options):
    """Run some trials, in so many parts, by a sampler with these options beside a callback with the rule."""
    study = new_study()
    for _ in range(parts):
        study.sampler = GPUCBSampler(seed=0, **options)
        callbacks = [] if rule is None else [RegretBoundCallback(rule=rule)]
        study.optimize(bumps, n_trials=n // parts, callbacks=callbacks)
    return [t.params for t in study.trials]


def test_it_looks_for_what_the_callback_would_not_stop_for():
    """Nothing stops here: ε is far below what ten trials can certify."""
    rule = OptimalityGap(epsilon=1e-3, beta="grid")
    by_the_rule = searched(rule)
    assert by_the_rule == searched(rule, exceedance=1e-3)
    assert by_the_rule != searched(rule, exceedance=None)
    # Each part is another process's sampler, which reads ε in the study.
    assert by_the_rule == searched(rule, parts=5)


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (None, {}),  # no ε is known
        (AcquisitionThreshold(epsilon=1e-9), {}),  # ε of another quantity
        (OptimalityGap(epsilon=1e-3, beta="grid"), {"beta": "matched"}),  # points of a proof
    ],
)
def test_without_an_epsilon_for_the_regret_it_looks_for_nothing_more(rule, options):
    assert searched(rule, n=8, **options) == searched(rule, n=8, exceedance=None, **options)


def test_the_smallest_of_two_callbacks_counts():
    study = new_study()
    study.sampler = GPUCBSampler(seed=0)
    callbacks = [
        RegretBoundCallback(rule=rule) for rule in (OptimalityGap(epsilon=1e-2, beta="grid"), UCBbr(epsilon=1e-3))
    ]
    study.optimize(bumps, n_trials=8, callbacks=callbacks)
    assert [t.params for t in study.trials] == searched(OptimalityGap(epsilon=1e-3, beta="grid"), n=8)


def test_added_trials_count():
    study = new_study()
    source = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    source.optimize(bumps, n_trials=8)
    study.add_trials(source.trials)
    study.optimize(bumps, n_trials=1)
    assert proposal(study.trials[8])
    assert study.sampler.models._entries[0][2].history == tuple(
        o for o in study.sampler.models._entries[0][2].history if math.isfinite(o.value)
    )


@pytest.mark.parametrize("n_startup_trials", [1, 5])
def test_four_threads_get_no_near_duplicates(n_startup_trials):
    """They wait for one another, so each proposes with nothing new but the others' points."""
    study = new_study(n_startup_trials=n_startup_trials)
    study.optimize(bumps, n_trials=8)
    together = threading.Barrier(4)

    def objective(trial: optuna.Trial) -> float:
        value = bumps(trial)
        together.wait(timeout=600)
        return value

    study.optimize(objective, n_trials=24, n_jobs=4)
    points = np.array(
        [[(t.params["x"] + 5) / 15, math.log(t.params["y"] / 0.01) / math.log(1e3)]
         for t in study.trials[8:]]
    )  # fmt: skip
    assert len(modelled(study)) == 31
    for rows in points.reshape(6, 4, 2):
        distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        assert np.min(distances[np.triu_indices(4, 1)]) > 1e-3


def test_a_proposal_is_visible_to_another_process(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=url, sampler=GPUCBSampler(seed=0))
    study.optimize(bumps, n_trials=8)
    first = study.ask()
    # The first value is not suggested yet, the point is known all the same.
    first._trial_id, first.relative_params  # noqa: B018
    other = optuna.load_study(study_name=study.study_name, storage=url, sampler=GPUCBSampler(seed=0))
    second = other.ask()
    assert first.relative_params.keys() == second.relative_params.keys() == {"x", "y"}
    assert abs(first.relative_params["x"] - second.relative_params["x"]) > 1e-2


def test_an_enqueued_point_in_evaluation_is_kept_away_from():
    study = new_study()
    study.optimize(bumps, n_trials=8)
    proposed = copy.deepcopy(study).ask().relative_params
    study.enqueue_trial(proposed)
    study.ask()
    assert study.ask().relative_params != proposed


def test_a_trial_that_died_long_ago_is_not_kept_away_from():
    study = new_study()
    study.optimize(bumps, n_trials=8)
    unhindered = copy.deepcopy(study).ask().relative_params

    def running_since(seconds: float) -> dict[str, float]:
        other = copy.deepcopy(study)
        started = datetime.datetime.now() - datetime.timedelta(seconds=seconds)
        trial = optuna.trial.create_trial(
            state=TrialState.RUNNING,
            params=unhindered,
            distributions=study.trials[-1].distributions,
        )
        trial.datetime_start = started
        other.add_trial(trial)
        return other.ask().relative_params

    assert running_since(3600) == unhindered
    assert running_since(5) != unhindered


@pytest.mark.parametrize("hours", [-9, 9])
def test_a_running_trial_on_a_host_in_another_time_zone_is_kept_away_from(hours):
    """Optuna 4 keeps the local time of the host on which a trial began: it seems to have begun hours ago, or later."""
    study = new_study()
    study.optimize(bumps, n_trials=8)
    other = copy.deepcopy(study)
    proposed = other.ask().relative_params
    running = other.trials[-1]
    assert running.datetime_start is not None
    running.datetime_start += datetime.timedelta(hours=hours)
    study.add_trial(running)
    assert study.ask().relative_params != proposed


@pytest.mark.parametrize("outcome", ["raise", "prune", "nan", "none", "inf"])
def test_a_point_without_a_value_is_not_proposed_again_at_once(outcome):
    """The data are the same after a failure: a sampler that forgets it fails there for ever."""
    study = new_study()
    study.optimize(bumps, n_trials=8)

    def failing(trial: optuna.Trial) -> float | None:
        bumps(trial)
        if outcome == "raise":
            raise RuntimeError("diverged")
        if outcome == "prune":
            raise optuna.TrialPruned
        return {"nan": math.nan, "none": None, "inf": math.inf}[outcome]

    study.optimize(failing, n_trials=5, catch=RuntimeError)
    points = np.array([[t.params["x"], t.params["y"]] for t in study.trials[8:]])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.min(distances[np.triu_indices(5, 1)]) > 1e-3
    study.optimize(bumps, n_trials=5)
    assert all(t.state == TrialState.COMPLETE for t in study.trials[13:])


def test_nothing_but_failures_runs_on():
    study = new_study()
    study.optimize(lambda t: t.suggest_float("x", 0, 1) * math.nan, n_trials=6)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + math.inf, n_trials=6)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=6)
    assert len(study.trials) == 18
    assert study.best_value < 0.1


def test_an_enqueued_value_outside_the_range_does_not_crash(log):
    study = new_study(n_startup_trials=2)
    study.enqueue_trial({"x": 100.0, "y": 3.0})
    study.enqueue_trial({"x": 0.0, "y": 1e6})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(bumps, n_trials=2)
    study.optimize(bumps, n_trials=6)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len(modelled(study)) >= 6
    assert not log.records


def test_categories_of_mixed_types_are_returned_as_given():
    choices = [None, True, 1.5, "1", 7, math.nan]

    def objective(trial: optuna.Trial) -> float:
        choice = trial.suggest_categorical("choice", choices)
        assert any(choice is c for c in choices)
        return 0.0 if choice is True else 1.0 + trial.suggest_float("x", 0, 1)

    def without_branch(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        choice = trial.suggest_categorical("choice", choices)
        return x + (choice is not None)

    for f in (objective, without_branch):
        study = new_study(n_startup_trials=2)
        study.optimize(f, n_trials=15)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert study.best_params["choice"] is None


def test_not_a_number_as_a_category_survives_storage(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"

    def objective(trial: optuna.Trial) -> float:
        choice = trial.suggest_categorical("choice", [math.nan, None, 1.0])
        return 0.0 if choice is not None and math.isnan(choice) else 1.0

    study = optuna.create_study(storage=url, sampler=GPUCBSampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=6)
    sampler = GPUCBSampler(seed=0, n_startup_trials=2)
    study = optuna.load_study(study_name=study.study_name, storage=url, sampler=sampler)
    study.optimize(objective, n_trials=3)
    assert len(sampler.models._entries[0][2].history) == 8
    assert sampler.models._entries[0][2].snapshot().data.n_excluded == 0


def test_sampler_and_study_pickle():
    study = new_study()
    study.optimize(bumps, n_trials=8)
    again = pickle.loads(pickle.dumps(study))
    study.optimize(bumps, n_trials=3)
    again.optimize(bumps, n_trials=3)
    assert [t.params for t in again.trials] == [t.params for t in study.trials]
    pickle.loads(pickle.dumps(again)).optimize(bumps, n_trials=4, n_jobs=2)


def test_several_objectives_are_refused_before_the_objective_runs():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=GPUCBSampler())
    ran: list[int] = []
    with pytest.raises(ValueError, match="2"):
        study.optimize(lambda t: (ran.append(t.number), 0.0), n_trials=1)
    assert not ran


def test_hyperband_brackets_do_not_hide_completed_trials():
    sampler = GPUCBSampler(seed=0)
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3)
    study = optuna.create_study(sampler=sampler, pruner=pruner)

    def objective(trial: optuna.Trial) -> float:
        value = bumps(trial)
        for step in range(1, 10):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=30)
    finished = [t.number for t in study.trials[:-1]]
    model = sampler.models._entries[0][2]
    assert [o.number for o in model.history] == finished
    assert sum(o.value is not None for o in model.history) == sum(
        t.state == TrialState.COMPLETE for t in study.trials[:-1]
    )
    assert study.best_value < 1.0


def test_a_parameter_that_a_number_decides_about_is_sampled_apart_with_one_warning(log):
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x if x > 0.5 else trial.suggest_float("b", 0, 1) + trial.suggest_float("c", 0, 1)

    study = new_study(n_startup_trials=2)
    study.optimize(objective, n_trials=12)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    warnings = log.at(logging.WARNING)
    assert len(warnings) == 1
    assert "RandomSampler" in warnings[0]
    assert proposal(study.trials[-1]).keys() == {"x"}


def test_no_warning_for_a_trial_that_began_before_the_first_was_complete(log):
    study = new_study()
    first, second = study.ask(), study.ask()
    for trial in (first, second):
        trial.suggest_float("x", 0, 1)
    first.suggest_float("y", 0, 1)
    study.tell(first, 1.0)
    second.suggest_float("y", 0, 1)
    assert not proposal(study.trials[1])
    assert not log.records


def test_a_partially_fixed_sampler_works():
    study = new_study(n_startup_trials=2)
    study.optimize(bumps, n_trials=4)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):  # Optuna's own, of that sampler
        study.sampler = optuna.samplers.PartialFixedSampler({"y": 3.0}, study.sampler)
    study.optimize(bumps, n_trials=4)
    assert all(t.params["y"] == 3.0 and proposal(t).keys() == {"x"} for t in study.trials[4:])


def test_a_single_value_is_no_axis_of_the_model():
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("seed", 7, 7)
        return parabola(trial)

    study = new_study(n_startup_trials=2)
    study.optimize(objective, n_trials=6)
    assert all(t.params["seed"] == 7 for t in study.trials)
    assert study.sampler.models._entries[0][2].space.names == ("x",)


def test_each_point_of_a_small_space_is_visited():
    study = new_study()
    study.optimize(lambda t: [0.0, 3.0, 1.0, 2.0][t.suggest_int("k", 0, 3)], n_trials=30)
    assert {t.params["k"] for t in study.trials} == {0, 1, 2, 3}

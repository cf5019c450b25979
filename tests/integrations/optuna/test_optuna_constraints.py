"""Constraints of a study, whoever stores them: what is certified is feasible, and true of the feasible optimum."""

import math
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, Trial, TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, replay, should_stop
from regretstop_optuna.plot import bound_history

from regretstop import OptimalityGap
from tests.integrations.optuna.objectives import parabola

# Of Optuna's own samplers: experimental in its older versions, deprecated in newer ones.
pytestmark = pytest.mark.filterwarnings("ignore:.*constraints_func.*")


def right_half(trial: FrozenTrial) -> tuple[float]:
    return (-trial.params["x"],)


def by_name(objective: Callable[[Trial], float], constraints) -> Callable[[Trial], float]:
    def constrained(trial: Trial) -> float:
        value = objective(trial)
        for number, violation in enumerate(constraints(trial)):
            trial.set_constraint(f"c{number}", violation)
        return value

    return constrained


SAMPLERS = {
    "GPUCBSampler": lambda constraints: GPUCBSampler(seed=0, constraints_func=constraints),
    "TPESampler": lambda constraints: optuna.samplers.TPESampler(seed=0, constraints_func=constraints),
}
needs_names = pytest.mark.skipif(not hasattr(Trial, "set_constraint"), reason="Optuna has had it since 5.0")


@pytest.mark.parametrize("storage", ["memory", "SQLite"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_only_feasible_trials_are_certified(name, storage, tmp_path):
    """The optimum of the parabola is at x = 1, which is forbidden; the feasible one is at x = 0.5."""
    url = None if storage == "memory" else f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.create_study(sampler=SAMPLERS[name](lambda trial: (trial.params["x"] - 0.5,)), storage=url)
    rule = OptimalityGap(1e-9)
    study.optimize(parabola, n_trials=14, callbacks=[RegretBoundCallback(rule=rule)])
    feasible = [t.number for t in study.trials if t.params["x"] <= 0.5]
    certificate = certificate_of(study, rule)
    assert certificate.data.n_infeasible == 14 - len(feasible) > 0
    assert certificate.incumbent in feasible
    assert certificate.bound >= certificate.incumbent_value - 0.25
    assert certificate.model.n_constraints == 1
    again = optuna.load_study(study_name=study.study_name, storage=study._storage)
    assert certificate_of(again, rule) == certificate
    assert replay(study, rule).certificates[-1].incumbent == certificate.incumbent
    assert bound_history(study).best_values[-1] == min(study.trials[number].value for number in feasible)


@needs_names
def test_named_constraints_are_read_as_those_of_a_function():
    def constraints(trial: FrozenTrial | Trial) -> tuple[float, float]:
        return -trial.params["x"], -1.0

    named = optuna.create_study(sampler=GPUCBSampler(seed=0))
    named.optimize(by_name(parabola, constraints), n_trials=12, callbacks=[RegretBoundCallback(epsilon=1e-9)])
    listed = optuna.create_study(sampler=GPUCBSampler(seed=0, constraints_func=constraints))
    listed.optimize(parabola, n_trials=12, callbacks=[RegretBoundCallback(epsilon=1e-9)])
    assert [t.params for t in named.trials] == [t.params for t in listed.trials]
    assert certificate_of(named) == certificate_of(listed)
    assert certificate_of(named).data.n_infeasible > 0


def test_a_study_that_violates_no_constraint_is_as_one_without():
    plain = optuna.create_study(sampler=GPUCBSampler(seed=0))
    constrained = optuna.create_study(sampler=GPUCBSampler(seed=0, constraints_func=lambda trial: (-1.0, 0.0)))
    for study in (plain, constrained):
        study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(epsilon=0.05)])
    assert [t.params for t in plain.trials] == [t.params for t in constrained.trials]
    assert certificate_of(plain) == certificate_of(constrained)
    assert certificate_of(plain).stop


def test_nothing_feasible_is_no_obstacle_for_good():
    allowed: list[bool] = []
    sampler = GPUCBSampler(seed=0, constraints_func=lambda trial: (-1.0 if allowed else 1.0,))
    study = optuna.create_study(sampler=sampler)
    callbacks = [RegretBoundCallback(rule=OptimalityGap(1e-9))]
    study.optimize(parabola, n_trials=9, callbacks=callbacks)
    assert certificate_of(study).reason == "no trial in the space is feasible yet"
    assert not should_stop(study, rule=OptimalityGap(1e9))
    allowed.append(True)
    study.optimize(parabola, n_trials=3, callbacks=callbacks)
    assert certificate_of(study).incumbent >= 9
    assert math.isfinite(certificate_of(study).bound)


def test_pruned_trials_get_their_constraints_and_failed_ones_none():
    def objective(trial: Trial) -> float:
        parabola(trial)
        if trial.number == 1:
            raise optuna.TrialPruned
        return math.nan if trial.number == 2 else 1.0

    study = optuna.create_study(sampler=GPUCBSampler(seed=0, constraints_func=right_half))
    study.optimize(objective, n_trials=4)
    assert [t.state for t in study.trials[1:3]] == [TrialState.PRUNED, TrialState.FAIL]
    assert ["constraints" in t.system_attrs for t in study.trials] == [True, True, False, True]


@pytest.mark.parametrize(
    ("function", "error"), [(lambda t: (math.nan,), ValueError), (lambda t: 1 / 0, ZeroDivisionError)]
)
def test_a_trial_whose_constraints_cannot_be_computed_is_not_certified(function, error):
    study = optuna.create_study(sampler=GPUCBSampler(seed=0, constraints_func=function))
    for _ in range(8):
        with pytest.raises(error):
            study.optimize(parabola, n_trials=1)
    assert certificate_of(study, OptimalityGap(1e9)).incumbent is None


# ---- Stops on constrained problems ---------------------------------------------------------------------------------


def gardner(x: float, y: float) -> tuple[float, float]:
    """Gardner et al. 2014 (*Bayesian Optimization with Inequality Constraints*), their first simulation, on [0, 6]²."""
    return np.cos(2 * x) * np.cos(y) + np.sin(x), np.cos(x) * np.cos(y) - np.sin(x) * np.sin(y) - 0.5


def branin(x: float, y: float) -> tuple[float, float]:
    """Branin on its box, of which a disk around the middle minimum is allowed; in tens."""
    u = y - 5.1 * x * x / (4 * np.pi**2) + 5 * x / np.pi - 6
    value = u * u + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10
    return value / 10, (x - 2.5) ** 2 + (y - 7.5) ** 2 - 50


def bowl(x: float, y: float) -> tuple[float, float]:
    """A bowl whose bottom is allowed, and most of whose edge is not."""
    return (x - 0.3) ** 2 + (y - 0.6) ** 2, x + y - 1.2


PROBLEMS = {
    "Gardner": (gardner, (0.0, 6.0), (0.0, 6.0), 0.2),
    "Branin": (branin, (-5.0, 10.0), (0.0, 15.0), 0.5),
    "bowl": (bowl, (0.0, 1.0), (0.0, 1.0), 0.02),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_stop_is_feasible_and_true(name):
    function, xs, ys, epsilon = PROBLEMS[name]
    study = optuna.create_study(
        sampler=GPUCBSampler(seed=0, constraints_func=lambda t: (float(function(t.params["x"], t.params["y"])[1]),))
    )
    study.optimize(
        lambda t: float(function(t.suggest_float("x", *xs), t.suggest_float("y", *ys))[0]),
        n_trials=80,
        callbacks=[RegretBoundCallback(epsilon=epsilon)],
    )
    certificate = certificate_of(study)
    assert certificate.stop
    grid = np.meshgrid(np.linspace(*xs, 601), np.linspace(*ys, 601))
    values, violations = function(*grid)
    certified = study.trials[certificate.incumbent]
    assert function(certified.params["x"], certified.params["y"])[1] <= 0.0
    assert certified.value - np.min(values[violations <= 0.0]) <= certificate.bound

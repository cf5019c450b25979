"""What users of samplers and terminators have complained of, and what they get here."""

import logging
import math
import subprocess
import sys

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop

from regretstop import Every, OptimalityGap, UCBbr
from tests.integrations.optuna.objectives import branin, bumps, parabola, table
from tests.work import Work, counted


def new_study(**options) -> optuna.Study:
    return optuna.create_study(sampler=GPUCBSampler(**{"seed": 0, **options}))


def random_history(space, n: int, *, repeats: int = 1) -> list[optuna.trial.FrozenTrial]:
    """Trials at random points, each point `repeats` times."""
    source = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    trials: list[optuna.trial.FrozenTrial] = []
    for _ in range(n // repeats):
        params = source.ask(space).params
        value = float(sum(v for v in params.values() if isinstance(v, int | float)))
        trials += repeats * [optuna.create_trial(params=params, distributions=space, value=value)]
    return trials


def test_an_objective_that_converges_to_a_corner_does_not_break_the_sampler(log):
    """The last candidates all coincide, and no weights are left to draw from."""
    study = new_study()
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=60)
    assert study.best_value == 0.0
    assert not log.records


def test_28_mixed_parameters_take_little_work(log):
    """A line search without a bracket; and hours a trial."""
    space = {f"float {i}": FloatDistribution(0, 1) for i in range(8)}
    space |= {f"log {i}": FloatDistribution(1e-5, 1, log=True) for i in range(4)}
    space |= {f"int {i}": IntDistribution(1, 3000) for i in range(10)}
    space |= {f"choice {i}": CategoricalDistribution([True, False]) for i in range(6)}
    study = new_study()
    study.add_trials(random_history(space, 15))
    with counted() as work:
        for value in range(4):
            study.tell(study.ask(space), float(value))
    assert len(work.factorised) < 1500  # 270
    assert work.operations < 5e8  # 7.4e7
    assert not log.records


def test_stepped_floats_are_exact_multiples():
    """0.1 * 3 is not 0.3, and an assertion on equality fails."""
    study = new_study(n_startup_trials=2)
    valid = [round(-0.7 + 0.1 * k, 1) for k in range(18)]
    study.optimize(lambda t: abs(t.suggest_float("x", -0.7, 1.0, step=0.1) - 0.3), n_trials=15)
    assert all(t.params["x"] in valid for t in study.trials[1:])
    assert study.best_params == {"x": 0.3}


def test_no_sudden_slowness_after_100_trials():
    study = new_study()
    space = {"x": FloatDistribution(-5, 5), "y": FloatDistribution(-5, 5)}
    study.add_trials(random_history(space, 95))
    works: list[Work] = []
    for value in range(12):
        with counted() as work:
            trial = study.ask(space)
        works.append(work)
        study.tell(trial, float(value % 5))
    operations = [work.operations for work in works]
    assert np.median(operations[6:]) < 3 * np.median(operations[1:5])
    assert np.median([len(work.factorised) for work in works]) < 200


def test_the_default_device_and_type_of_torch_are_neither_used_nor_changed():
    torch = pytest.importorskip("torch")
    torch.set_default_device("meta")
    torch.set_default_dtype(torch.float16)
    try:
        study = new_study()
        study.optimize(parabola, n_trials=8, callbacks=[RegretBoundCallback(epsilon=1e-6)])
        assert torch.get_default_dtype() == torch.float16
        assert torch.empty(0).device.type == "meta"
        assert len(study.trials) == 8
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


def test_importing_and_running_needs_nothing_heavy_and_nothing_deprecated():
    """SQLAlchemy does not bring greenlet; optuna.terminator and its GP are on their way out."""
    program = """
import sys
import optuna
before = set(sys.modules)
from regretstop_optuna import GPUCBSampler, RegretBoundCallback
sys.modules["greenlet"] = None
study = optuna.create_study(storage="sqlite://", sampler=GPUCBSampler(seed=0))
f = lambda t: t.suggest_float("x", 0, 1)
study.optimize(f, n_trials=7, callbacks=[RegretBoundCallback(epsilon=1e-9)])
new = {m for m in set(sys.modules) - before}
unwanted = "torch", "matplotlib", "plotly", "optuna._gp", "optuna.terminator"
print(*(m for m in new if m.startswith(unwanted)))
"""
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == ""


def test_a_batch_of_asks_before_any_tell_gives_different_points():
    """Without regard to running trials every ask of a batch is the same."""
    study = new_study()
    study.optimize(branin, n_trials=8)
    space = study.trials[0].distributions
    points = np.array([list(study.ask(space).params.values()) for _ in range(6)])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.min(distances[np.triu_indices(6, 1)]) > 0.1


def test_falling_back_to_random_sampling_is_not_silent(log):
    study = new_study()
    study.optimize(parabola, n_trials=6)
    study.optimize(lambda t: t.suggest_float("x", -5, 6), n_trials=6)
    assert [r.levelname for r in log.records] == ["WARNING"]
    assert "'x'" in log.records[0].getMessage()


def test_many_integers_and_repeated_trials_give_a_positive_definite_matrix(log):
    """30 integers, hundreds of trials, ask and tell."""
    space = {f"int {i}": IntDistribution(0, 40) for i in range(30)}
    study = new_study()
    study.add_trials(random_history(space, 240, repeats=4))
    for value in range(2):
        study.tell(study.ask(space), float(value))
    assert not should_stop(study, rule=UCBbr(1e-6, schedule=Every()))
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.n_observations == 242
    assert not log.at(logging.WARNING)


def test_repeating_the_same_trials_does_not_waste_the_budget():
    """On a small integer range the search repeats itself; it is over by then."""
    study = new_study()
    study.optimize(table, n_trials=100, callbacks=[RegretBoundCallback(epsilon=0.1)])
    assert len(study.trials) <= 8
    assert study.best_value == 0.0


def test_stopping_outside_optimize_does_not_raise():
    """`Study.stop` does; a callback that is called by hand must not."""
    study = new_study()
    callback = RegretBoundCallback(rule=OptimalityGap(epsilon=1.0, beta="grid"))
    for _ in range(40):
        trial = study.ask()
        callback(study, study.tell(trial, parabola(trial)))
        if should_stop(study):
            break
    assert len(study.trials) < 40


def test_a_study_that_only_prunes_is_not_certified_and_can_be_bounded():
    study = new_study()

    def objective(trial: optuna.Trial) -> float:
        parabola(trial)
        raise optuna.TrialPruned

    study.optimize(objective, n_trials=10, callbacks=[RegretBoundCallback(epsilon=100.0)])
    assert all(t.state == TrialState.PRUNED for t in study.trials)
    assert not should_stop(study)
    certificate = certificate_of(study)
    assert certificate is not None
    assert math.isinf(certificate.bound)


def test_a_single_value_per_trial_is_enough():
    """No cross-validation scores to report."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    callback = RegretBoundCallback(rule=OptimalityGap(epsilon=1.0, beta="grid"))
    study.optimize(parabola, n_trials=60, callbacks=[callback])
    assert should_stop(study)


def test_no_experimental_warning_by_default(recwarn):
    study = new_study()
    study.optimize(bumps, n_trials=7, callbacks=[RegretBoundCallback(epsilon=1e-9)])
    assert not recwarn.list

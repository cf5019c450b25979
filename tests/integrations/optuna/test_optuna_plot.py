import math

import optuna
import pytest
import regretstop_optuna.matplotlib
from matplotlib.figure import Figure
from regretstop_optuna import (
    GPUCBSampler,
    RegretBoundCallback,
    certificate_of,
    plot_regret_bound,
)
from regretstop_optuna.plot import bound_history

from regretstop import OptimalityGap, UCBbr
from tests.integrations.optuna.objectives import parabola


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(parabola, n_trials=2)

    def sometimes(trial: optuna.Trial) -> float:
        return math.inf if trial.number == 3 else parabola(trial)

    callback = RegretBoundCallback(rule=OptimalityGap(epsilon=1.0, beta="grid"))
    study.optimize(sometimes, n_trials=40, callbacks=[callback])
    return study


def test_the_history_is_what_was_decided(study):
    history = bound_history(study)
    certificate = certificate_of(study)
    assert certificate is not None
    n = len(study.trials)
    assert list(history.trials) == list(range(n))
    assert all(map(math.isnan, history.bounds[:2]))
    assert history.bounds[-1] == certificate.bound < history.epsilon == 1.0
    assert all(not bound < 1.0 for bound in history.bounds[:-1])
    assert history.gaps[-1] == certificate.optimality_gap
    assert math.isnan(history.values[3])
    assert min(v for v in history.values if not math.isnan(v)) == study.best_value
    assert (history.rule, history.direction) == ("OptimalityGap", "minimize")
    assert history.stopped_at == n - 1


def test_both_backends_draw_the_same_numbers(study):
    history = bound_history(study)
    figure = plot_regret_bound(study)
    axes = regretstop_optuna.matplotlib.plot_regret_bound(study)
    drawn = list(axes.get_lines()[0].get_ydata())
    expected = [b if math.isfinite(b) else math.nan for b in history.bounds]
    assert drawn == pytest.approx(expected, nan_ok=True)
    assert list(figure.data[0].y) == pytest.approx(expected, nan_ok=True)


def test_it_draws_on_given_axes(study):
    axes = Figure().add_subplot()
    assert regretstop_optuna.matplotlib.plot_regret_bound(study, ax=axes) is axes


def test_a_second_epsilon_is_shown_and_an_earlier_stop_is_not():
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=OptimalityGap(epsilon=5.0, beta="grid"))])
    stopped = len(study.trials) - 1
    assert bound_history(study).stopped_at == stopped
    study.optimize(parabola, n_trials=1, callbacks=[RegretBoundCallback(rule=OptimalityGap(epsilon=1e-9, beta="grid"))])
    history = bound_history(study)
    assert history.epsilon == 1e-9
    assert history.stopped_at is None


def test_two_rules_are_not_mixed():
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    rules = [OptimalityGap(epsilon=1e-9, beta="grid"), UCBbr(epsilon=1e-9)]
    callbacks = [RegretBoundCallback(rule=rule) for rule in rules]
    study.optimize(parabola, n_trials=8, callbacks=callbacks)
    history = bound_history(study)
    last = certificate_of(study)
    assert last is not None
    assert history.rule == last.rule
    assert history.bounds[-1] == last.bound


def test_nothing_to_draw():
    study = optuna.create_study()
    study.optimize(parabola, n_trials=3)
    with pytest.raises(ValueError, match="RegretBoundCallback"):
        plot_regret_bound(study)
    several = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="2"):
        plot_regret_bound(several)

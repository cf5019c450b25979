"""Rules in combination in scikit-optimize, whose results say nothing of time."""

import pickle

import pytest
from regretstop_skopt import RegretBoundStopper
from regretstop_skopt.plot import bound_history
from skopt import gp_minimize

from regretstop import Deadline, Patience, Target, UCBbr
from tests.integrations.skopt.objectives import REPEATED, parabola, random_points, told

pytestmark = pytest.mark.filterwarnings(REPEATED)
LINE = [(-5.0, 5.0)]


def test_a_combination_ends_a_search():
    stopper = RegretBoundStopper(rule=UCBbr(1e-12) | Patience(5))
    result = gp_minimize(parabola, LINE, n_calls=40, n_initial_points=5, random_state=0, callback=stopper)
    best = min(range(len(result.x_iters)), key=lambda i: result.func_vals[i])
    assert len(result.x_iters) == best + 6
    certificate = stopper.certificate
    assert certificate is not None
    assert (certificate.rule, certificate.incumbent, certificate.asker) == ("Patience", best, "UCBbr | Patience")
    assert bound_history(stopper).rule == "UCBbr"


def test_values_are_minimised():
    points = random_points(LINE, 6)
    values = [parabola(x) for x in points]
    stopper = RegretBoundStopper(rule=Target(min(values)))
    assert stopper(told(LINE, points, values))
    assert not RegretBoundStopper(rule=Target(min(values) - 1e-9))(told(LINE, points, values))


def test_the_clock_runs_between_calls_and_not_between_sessions(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("regretstop_skopt.stopper.time.time", lambda: now[0])
    points = random_points(LINE, 6)
    values = [parabola(x) for x in points]
    stopper = RegretBoundStopper(rule=Deadline(25.0))

    def call(n):
        assert stopper.certificate is None or len(stopper.observations) < n
        stopped = stopper(told(LINE, points[:n], values[:n]))
        return stopped, stopper.certificate.terms["taken"]

    assert call(1) == (False, 0.0)
    now[0] += 10.0
    assert call(2) == (False, 10.0)
    stopper = pickle.loads(pickle.dumps(stopper))
    now[0] += 86_400.0
    assert call(3) == (False, 10.0)
    now[0] += 20.0
    # What lies between the two sessions counts as a minute at most.
    assert call(4) == (True, 10.0 + 60.0 + 20.0)


def test_a_space_without_a_model_is_no_obstacle_to_patience():
    stopper = RegretBoundStopper(rule=UCBbr(0.1) | Patience(2))
    fixed = [[1], [2]]
    assert stopper(told(fixed, [[1, 2]] * 4, [1.0, 2.0, 2.0, 2.0]))
    assert stopper.certificate.rule == "Patience"

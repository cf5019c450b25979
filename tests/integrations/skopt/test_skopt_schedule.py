"""Tests that are not made after every evaluation."""

import pickle

import pytest
from regretstop_skopt import RegretBoundStopper
from regretstop_skopt.plot import bound_history
from skopt import forest_minimize

from regretstop import Every, OptimalityGap
from tests.integrations.skopt.objectives import REPEATED, parabola, random_points, told

pytestmark = pytest.mark.filterwarnings(REPEATED)
LINE = [(-5.0, 5.0)]


def test_a_search_stops_at_a_test_and_its_picture_shows_every_evaluation():
    stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=1.0, schedule=Every(5), beta="grid"))
    result = forest_minimize(parabola, LINE, n_calls=60, n_initial_points=5, random_state=0, callback=stopper)
    n = len(result.x_iters)
    assert n < 60
    assert stopper.certificate.stop
    assert n == stopper.certificate.n_observations
    assert n % 5 == 0
    assert list(stopper.certificates_after) == list(range(1, n + 1))
    assert list(stopper.certificates_after.values()) == stopper.certificates
    assert all(c.n_observations == k - k % 5 for k, c in stopper.certificates_after.items() if c.terms)
    history = bound_history(stopper)
    assert history.bounds == [c.bound for c in stopper.certificates]
    assert history.stopped_at == n - 1
    assert pickle.loads(pickle.dumps(stopper)).certificates_after == stopper.certificates_after


def test_a_batch_that_jumps_over_a_test_gets_it():
    points = random_points(LINE, 13)
    values = [parabola(x) for x in points]
    stoppers = [RegretBoundStopper(rule=OptimalityGap(epsilon=1e-3, schedule=Every(5), beta="grid")) for _ in range(2)]
    for n in range(1, 14):
        stoppers[0](told(LINE, points[:n], values[:n]))
    for n in (4, 13):
        stoppers[1](told(LINE, points[:n], values[:n]))
    assert stoppers[0].certificate == stoppers[1].certificate
    assert stoppers[1].certificate.n_observations == 10


def test_a_finished_search_is_certified_by_one_call():
    """As if the stopper had been there from the start: earlier tests take nothing from the last one."""
    points = random_points(LINE, 12)
    values = [parabola(x) for x in points]
    from_the_start, once = (RegretBoundStopper(rule=OptimalityGap(epsilon=1e-3, beta="grid")) for _ in range(2))
    for n in range(1, 13):
        from_the_start(told(LINE, points[:n], values[:n]))
    once(told(LINE, points, values))
    assert once.certificate == from_the_start.certificate
    assert once.certificate.n_observations == 12
    assert once.certificate.risk.spent == pytest.approx(0.05)

import math

import pytest
import regretstop_skopt.matplotlib
from matplotlib.figure import Figure
from regretstop_skopt import RegretBoundStopper, plot_regret_bound
from regretstop_skopt.plot import bound_history

from regretstop import OptimalityGap
from tests.integrations.skopt.objectives import TABLE, sampler


@pytest.fixture(scope="module")
def stopper() -> RegretBoundStopper:
    """A search of the table, told two at a time; its third value is lost."""
    stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=0.1, beta="grid"))
    optimizer = sampler([(0, 5)])
    for number in range(0, 40, 2):
        points = [[number % 6], [(number + 1) % 6]]
        values = [math.inf if number == 2 else TABLE[points[0][0]], TABLE[points[1][0]]]
        if stopper(optimizer.tell(points, values)):
            break
    return stopper


def test_the_history_is_what_was_decided(stopper):
    history = bound_history(stopper)
    n = len(stopper.observations)
    assert list(history.trials) == list(range(n))
    assert all(map(math.isnan, history.bounds[::2]))  # the first of each batch has no bound of its own
    assert list(history.bounds[1::2]) == [c.bound for c in stopper.certificates]
    assert list(history.gaps[1::2]) == [c.optimality_gap for c in stopper.certificates]
    assert history.values[:4] == [3.0, 1.0, pytest.approx(math.nan, nan_ok=True), 2.0]
    assert history.bounds[-1] < history.epsilon == 0.1
    assert (history.rule, history.direction, history.stopped_at) == ("OptimalityGap", "minimize", n - 1)


def test_both_backends_draw_the_same_numbers(stopper):
    expected = [b if math.isfinite(b) else math.nan for b in bound_history(stopper).bounds]
    axes = regretstop_skopt.matplotlib.plot_regret_bound(stopper)
    assert list(axes.get_lines()[0].get_ydata()) == pytest.approx(expected, nan_ok=True)
    assert list(plot_regret_bound(stopper).data[0].y) == pytest.approx(expected, nan_ok=True)


def test_it_draws_on_given_axes(stopper):
    axes = Figure().add_subplot()
    assert regretstop_skopt.matplotlib.plot_regret_bound(stopper, ax=axes) is axes


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="callback"):
        plot_regret_bound(RegretBoundStopper(0.1))

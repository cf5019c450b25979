import copy
import io
import logging
import math
import sys
from decimal import Decimal

import numpy as np
import pytest
from regretstop_skopt import RegretBoundStopper
from skopt import Optimizer, forest_minimize, gp_minimize

from regretstop import GPUCB, Float, GaussianProcess, Matern52, OptimalityGap, Space, UCBbr, forecast
from tests.integrations.skopt.objectives import REPEATED, bowl, parabola, random_points, sampler, table, told

pytestmark = pytest.mark.filterwarnings(REPEATED)
LOGGER = "regretstop_skopt"
LINE = [(-5.0, 5.0)]


def gap(epsilon: float = 0.1, **options) -> RegretBoundStopper:
    return RegretBoundStopper(rule=OptimalityGap(epsilon=epsilon, beta="grid"), **options)


def line_result(n: int, f=parabola):
    points = random_points(LINE, n)
    return told(LINE, points, [f(x) for x in points])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "epsilon .* None"),
        ({"epsilon": 0}, "epsilon .* 0"),
        ({"epsilon": -1.0}, r"epsilon .* -1\.0"),
        ({"epsilon": math.nan}, "epsilon .* nan"),
        ({"epsilon": "small"}, "epsilon .* 'small'"),
        ({"epsilon": 0.1, "delta": 0.0}, r"delta .* 0\.0"),
        ({"epsilon": 0.1, "delta": 1.0}, r"delta .* 1\.0"),
        ({"rule": UCBbr}, "rule"),
        ({"rule": "UCBbr"}, "rule .* 'UCBbr'"),
        ({"epsilon": 0.1, "surrogate": GaussianProcess}, "surrogate must have guarantee, n_estimated and fit"),
    ],
)
def test_wrong_use_is_reported_at_construction(options, message):
    with pytest.raises(ValueError, match=message):
        RegretBoundStopper(**options)


@pytest.mark.parametrize("minimizer", [gp_minimize, forest_minimize])
def test_it_ends_a_search_and_says_so_once(minimizer, caplog):
    stopper = gap(1.0)
    with caplog.at_level(logging.INFO, LOGGER):
        result = minimizer(parabola, LINE, n_calls=60, n_initial_points=5, random_state=0, callback=stopper)
    n = len(result.x_iters)
    assert n < 60
    certificate = stopper.certificate
    assert certificate is not None
    assert certificate.stop
    assert certificate.n_observations == n
    assert result.func_vals[certificate.incumbent] == certificate.incumbent_value < 1.0
    assert [c.stop for c in stopper.certificates] == [False] * (n - 1) + [True]
    assert stopper.certificates[-1] is certificate
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert f"trial {certificate.incumbent} " in record.getMessage()
    assert f"after {n} evaluations" in record.getMessage()


def test_where_a_search_stands_is_in_the_log_now_and_then_and_printed_where_that_is_wanted(caplog, capsys):
    caplog.set_level(logging.INFO, logger="regretstop_skopt")
    stopper = RegretBoundStopper(epsilon=1e-6, verbose=True)
    assert stopper.forecast is None
    gp_minimize(bowl, [(-2.0, 2.0), (-2.0, 2.0)], n_calls=10, n_initial_points=10, callback=stopper, random_state=0)
    assert stopper.forecast == forecast(stopper.certificates, own_points=False) is not None
    (line,) = caplog.messages
    assert line.startswith("UCBbr after 10 evaluations: bound ")
    assert line.endswith(str(stopper.forecast))
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 10
    assert "too few observations" in printed[0]
    assert printed[-1] == line


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_without_a_letter_ends_no_search(encoding, monkeypatch):
    """What Windows gives a program whose output goes to a file."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    stopper = RegretBoundStopper(epsilon=1e-6, verbose=True)
    gp_minimize(bowl, [(-2.0, 2.0), (-2.0, 2.0)], n_calls=10, n_initial_points=10, callback=stopper, random_state=0)
    out.flush()
    printed = out.buffer.getvalue().decode(encoding).splitlines()
    assert len(printed) == 10
    assert "bound" in printed[-1]
    assert "?" in printed[-1]


def test_the_default_rule_is_the_papers_and_a_rule_overrides_the_numbers():
    result = line_result(1)
    stopper = RegretBoundStopper(0.5, 0.1)
    assert stopper.certificate is None
    assert stopper.certificates == []
    assert stopper(result) is False
    assert (stopper.certificate.rule, stopper.certificate.epsilon, stopper.certificate.delta) == ("UCBbr", 0.5, 0.1)
    assert stopper.certificate.reason.startswith("too few observations")
    stopper = RegretBoundStopper(9.0, 0.5, OptimalityGap(epsilon=0.2, beta="grid"))
    stopper(result)
    assert (stopper.certificate.rule, stopper.certificate.epsilon, stopper.certificate.delta) == (
        "OptimalityGap",
        0.2,
        0.05,
    )


def test_it_shares_a_list_with_other_callbacks():
    seen: list[int] = []
    stopper = gap(1.0)
    callbacks = [lambda result: seen.append(len(result.x_iters)), stopper]
    result = forest_minimize(parabola, LINE, n_calls=60, n_initial_points=5, random_state=0, callback=callbacks)
    assert len(result.x_iters) < 60
    assert seen == list(range(1, len(result.x_iters) + 1))


def test_ask_and_tell():
    optimizer = sampler([(0, 5)])
    stopper = gap()
    for _ in range(100):
        x = optimizer.ask()
        if stopper(optimizer.tell(x, table(x))):
            break
    assert stopper.certificate.stop
    assert stopper.certificate.incumbent_value == 0.0
    assert len(optimizer.Xi) < 100


def test_batches_told_at_once_count_in_full():
    optimizer = Optimizer([(-5.0, 5.0), (-5.0, 5.0)], n_initial_points=4, random_state=0)
    stopper = gap(1e-9)
    for batch in range(1, 4):
        points = optimizer.ask(n_points=4)
        assert stopper(optimizer.tell(points, [bowl(x) for x in points])) is False
        assert stopper.certificate.n_observations == 4 * batch
    assert len(stopper.certificates) == 3
    assert [o.number for o in stopper.observations] == list(range(12))


@pytest.mark.parametrize("minimizer", [gp_minimize, forest_minimize])
def test_the_search_is_the_same_as_without_it(minimizer):
    options = {"n_calls": 9, "n_initial_points": 5}
    dimensions = [(-5.0, 5.0), (1, 50, "log-uniform"), ["a", "b", "c"]]
    alone = minimizer(bowl, dimensions, random_state=3, **options)
    watched = minimizer(bowl, dimensions, random_state=3, callback=RegretBoundStopper(1e-9), **options)
    assert watched.x_iters == alone.x_iters
    for before, after in zip(alone.random_state.get_state(), watched.random_state.get_state(), strict=True):
        assert np.array_equal(before, after)


def test_the_result_is_only_read():
    result = line_result(8)
    before = copy.deepcopy(result)
    RegretBoundStopper(1e-9)(result)
    assert result.keys() == before.keys()
    assert result.x_iters == before.x_iters
    assert np.array_equal(result.func_vals, before.func_vals)
    assert repr(result.space) == repr(before.space)
    assert all(map(np.array_equal, result.random_state.get_state(), before.random_state.get_state()))


def test_nothing_of_the_live_list_is_kept():
    result = line_result(8)
    first = result.x_iters[0][0]
    stopper = RegretBoundStopper(1e-9)
    stopper(result)
    result.x_iters[0][0] = 99.0
    result.x_iters.append([0.0])
    assert len(stopper.observations) == 8
    assert stopper.observations[0].params == {"x0": first}


def test_a_second_call_with_the_same_history_computes_nothing():
    result = line_result(8)
    stopper = RegretBoundStopper(1e-9)
    stopper(result)
    certificate = stopper.certificate
    assert stopper(result) is certificate.stop
    assert stopper.certificate is certificate
    assert len(stopper.certificates) == 1


def test_a_search_that_is_already_good_enough_costs_no_evaluation():
    first = forest_minimize(table, [(0, 5)], n_calls=60, n_initial_points=30, random_state=0, callback=gap())
    assert len(first.x_iters) < 60
    calls: list[list] = []
    stopper = gap()
    again = gp_minimize(calls.append, [(0, 5)], n_calls=30, x0=first.x_iters, y0=first.func_vals, callback=stopper)
    assert calls == []
    assert again.x_iters == first.x_iters
    assert len(stopper.certificates) == 1
    assert stopper.certificate.stop


def test_a_longer_history_is_assessed_anew_whatever_was_decided():
    points = [[k] for k in range(6)] * 2
    values = [table(x) for x in points]
    known = told([(0, 5)], points, values)
    longer = told([(0, 5)], [*points, [2], [2], [2]], [*values, 9.0, -9.0, 9.0])  # no longer the same objective
    stopper = gap()
    assert stopper(known) is True
    fresh = gap()
    assert stopper(longer) is fresh(longer) is False
    assert stopper.certificate == fresh.certificate
    assert [c.stop for c in stopper.certificates] == [True, False]


def test_going_on_after_a_stop_is_not_announced_again(caplog):
    points = [[k] for k in range(6)] * 2
    stopper = gap()
    with caplog.at_level(logging.INFO, LOGGER):
        for extra in range(3):
            told_so_far = points + points[:extra]
            assert stopper(told([(0, 5)], told_so_far, list(map(table, told_so_far)))) is True
    assert len(stopper.certificates) == 3
    assert len(caplog.records) == 1


def test_another_search_starts_afresh():
    stopper = gap(1e-9)
    forest_minimize(parabola, LINE, n_calls=6, n_initial_points=6, random_state=0, callback=stopper)
    assert len(stopper.certificates) == 6
    forest_minimize(parabola, LINE, n_calls=7, n_initial_points=7, random_state=1, callback=stopper)
    assert [c.n_observations for c in stopper.certificates] == list(range(1, 8))
    forest_minimize(parabola, [(-5.0, 6.0)], n_calls=3, n_initial_points=3, random_state=1, callback=stopper)
    assert [c.n_observations for c in stopper.certificates] == [1, 2, 3]


def test_it_says_what_the_core_says_of_the_same_data():
    result = line_result(12)
    stopper = gap(0.3)
    stopper(result)
    model = GPUCB(Space({"x0": Float(-5.0, 5.0)}), direction="minimize", seed=0)
    for x, value in zip(result.x_iters, result.func_vals, strict=True):
        model.tell({"x0": x[0]}, value)
    assert stopper.certificate == model.certificate(OptimalityGap(epsilon=0.3, beta="grid"))


def test_samples_of_the_hyperparameters_reach_the_certificate():
    stopper = gap(0.3, surrogate=GaussianProcess(hyperparameters="posterior"))
    stopper(line_result(12))
    assert (stopper.certificate.model.n_samples, stopper.certificate.model.sampling) == (8, "HMC")
    assert stopper.certificate.guarantee == "model"
    running = gap(1e-9, surrogate=GaussianProcess(hyperparameters="posterior"))
    gp_minimize(parabola, LINE, n_calls=12, n_initial_points=6, random_state=0, callback=running)
    assert len(running.certificates) == running.certificate.n_observations == 12
    assert (running.certificate.model.n_samples, running.certificate.model.sampling) == (8, "HMC")


def test_a_declared_model_gives_the_theorem():
    kernel = Matern52(lengthscales=[0.5], outputscale=100.0)
    known = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1, mean=8.0)
    stopper = gap(1.0, surrogate=known)
    stopper(line_result(10))
    assert stopper.certificate.guarantee == "theorem"
    assert math.isfinite(stopper.certificate.bound)


def test_a_kernel_for_another_space_is_said_once_and_does_not_end_the_search(caplog):
    kernel = Matern52(lengthscales=[0.5, 0.5], outputscale=1.0)
    stopper = gap(1.0, surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1))
    result = forest_minimize(parabola, LINE, n_calls=6, n_initial_points=6, random_state=0, callback=stopper)
    assert len(result.x_iters) == 6
    assert all(math.isinf(c.bound) for c in stopper.certificates)
    assert "lengthscales" in stopper.certificate.reason
    assert [r.levelname for r in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400], ids=lambda v: str(v)[:9])
def test_a_value_that_cannot_be_fitted_is_counted_and_left_out(value, caplog):
    """scikit-optimize lets them pass while it fits no model itself, as for its initial points."""
    optimizer = sampler(LINE)
    stopper = gap(1e-9)
    for number in range(10):
        x = optimizer.ask()
        stopper(optimizer.tell(x, value if number == 2 else parabola(x)))
    with_it = stopper.certificate
    assert (with_it.n_observations, with_it.n_excluded) == (9, 1)
    without = gap(1e-9)
    without(told(LINE, optimizer.Xi[:2] + optimizer.Xi[3:], [y for y in optimizer.yi if y is not value]))
    assert with_it.bound == without.certificate.bound
    assert not caplog.records


def test_complex_values_have_no_order_and_are_left_out():
    stopper = gap()
    assert stopper(told(LINE, [[0.0], [1.0], [2.0]], [1j, 2.0, np.complex128(3)])) is False
    assert (stopper.certificate.n_observations, stopper.certificate.n_excluded) == (0, 3)


def test_exact_numbers_are_fitted():
    result = told(LINE, [[0.0], [1.0], [2.0]], [Decimal("0.5"), 1, np.float32(2)])
    stopper = gap()
    stopper(result)
    assert [o.value for o in stopper.observations] == [0.5, 1.0, 2.0]


def test_nan_among_the_initial_points_of_gp_minimize_reaches_it_before_the_model_fails():
    stopper = gap()
    values = iter([math.nan, 1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):  # of scikit-optimize, once it fits its own model
        gp_minimize(lambda x: next(values), LINE, n_calls=3, n_initial_points=3, random_state=0, callback=stopper)
    assert stopper.certificate.n_excluded == 1


@pytest.mark.parametrize("smallest", [0.0, 5e-324])
def test_few_and_equal_values_say_nothing(smallest):
    stopper = gap()
    for n in (1, 2):
        stopper(line_result(n))
        assert stopper.certificate.reason.startswith("too few observations")
    stopper(line_result(10, f=lambda x: smallest * round(9 * x[0]) if smallest else 0.25))
    assert math.isinf(stopper.certificate.bound)
    assert "equal" in stopper.certificate.reason


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_the_bound_is_in_units_of_the_values(scale):
    points = random_points(LINE, 14)
    values = [parabola(x) for x in points]
    stopper, scaled = gap(1.0), gap(scale)
    stopper(told(LINE, points, values))
    scaled(told(LINE, points, [scale * v for v in values]))
    assert math.isfinite(stopper.certificate.bound)
    assert scaled.certificate.bound == pytest.approx(scale * stopper.certificate.bound, rel=1e-6)


def test_time_as_a_second_value_is_not_the_objective():
    """`EIps` makes the objective return a time as well."""
    stopper = gap(1e-9)
    gp_minimize(
        lambda x: (parabola(x), 2.0),
        LINE,
        acq_func="EIps",
        n_calls=4,
        n_initial_points=3,
        random_state=0,
        callback=stopper,
    )
    assert all(o.value == parabola([o.params["x0"]]) for o in stopper.observations)


def test_a_constrained_search_runs():
    stopper = RegretBoundStopper(1e-9)
    result = forest_minimize(
        parabola,
        LINE,
        n_calls=8,
        n_initial_points=5,
        random_state=0,
        callback=stopper,
        space_constraint=lambda x: x[0] < 2,
    )
    assert len(result.x_iters) == stopper.certificate.n_observations == 8


def test_the_best_possible_value_is_a_floor():
    stopper = RegretBoundStopper(0.5, surrogate=GaussianProcess(noise_std=0.0), best_possible=0.0)
    result = forest_minimize(parabola, LINE, n_calls=40, n_initial_points=5, random_state=0, callback=stopper)
    assert stopper.certificate.maximum == "declared"
    assert stopper.certificate.bound == min(result.func_vals) < 0.5
    with pytest.raises(ValueError, match=r"best_possible must be .* got inf"):
        RegretBoundStopper(0.5, best_possible=math.inf)

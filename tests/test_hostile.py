"""What users and frameworks hand over by mistake, design or accident: the search goes on, and never overclaims."""

import json
import math
import os
import random
import resource
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regretstop import (
    GPUCB,
    Categorical,
    Float,
    GaussianProcess,
    Int,
    Matern52,
    Observation,
    OptimalityGap,
    Space,
    UCBbr,
)
from regretstop.rules import Rule
from tests.histories import SPACES, History, declared, options_of, random_history, random_points
from tests.work import Work, counted

RULES: list[Rule] = [UCBbr(0.1), OptimalityGap(0.1, beta="grid")]
TREATMENTS = ("fixed", "map", "posterior")
SQUARE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
each_treatment = pytest.mark.parametrize("treatment", TREATMENTS)


def peak(params: dict[str, Any]) -> float:
    """Maximum 0 at (0.3, 0.7)."""
    return -((params["x"] - 0.3) ** 2) - (params["y"] - 0.7) ** 2


def run(optimizer: GPUCB, f: Any, n: int) -> None:
    for _ in range(n):
        params = optimizer.ask()
        assert optimizer.space.contains(params)
        optimizer.tell(params, f(params))


def assert_runs_on(optimizer: GPUCB) -> None:
    """A valid point is asked for, and each rule gives a bound or says in words why there is none."""
    assert optimizer.space.contains(optimizer.ask())
    for rule in RULES:
        certificate = optimizer.certificate(rule)
        assert not math.isnan(certificate.bound)
        assert not math.isnan(certificate.optimality_gap)
        assert certificate.reason
        assert str(certificate)
        json.dumps(certificate.to_dict(), allow_nan=False)


# ---- Few and equal values ----------------------------------------------------------------------------------------


@each_rule
@each_treatment
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", SPACES)
def test_zero_one_and_two_observations(rule: Rule, treatment: str, n: int, name: str) -> None:
    optimizer = random_history(SPACES[name], n, seed=0).told(**options_of(treatment, SPACES[name]))
    certificate = optimizer.certificate(rule)
    assert certificate.bound == math.inf
    assert "too few observations" in certificate.reason
    assert_runs_on(optimizer)


@pytest.mark.parametrize("spread", [0.0, 1e-13])
@pytest.mark.parametrize("noise_std", ["learned", 0.0, 0.1])
@pytest.mark.parametrize("value", [0.0, 1.0, -1e-300, 1e300, 123456.789])
def test_all_values_equal(noise_std: Any, value: float, spread: float) -> None:
    optimizer = GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(noise_std=noise_std))
    rng = np.random.default_rng(0)
    run(optimizer, lambda p: value * (1.0 + spread * rng.standard_normal()), 10)
    for rule in RULES:
        certificate = optimizer.certificate(rule)
        assert certificate.bound == certificate.optimality_gap == math.inf
        assert "equal" in certificate.reason
    assert_runs_on(optimizer)


@pytest.mark.parametrize("noise_std", ["learned", 0.0, 0.1])
@pytest.mark.parametrize("smallest", [5e-324, 1e-310, 1e-300])
def test_spreads_near_the_smallest_numbers_count_as_none(noise_std: Any, smallest: float) -> None:
    optimizer = GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(noise_std=noise_std))
    run(optimizer, lambda p: smallest * round(4.0 * p["x"]), 10)
    for rule in RULES:
        certificate = optimizer.certificate(rule)
        assert certificate.bound == certificate.optimality_gap == math.inf
        assert "equal up to rounding" in certificate.reason
    assert_runs_on(optimizer)


def test_equal_values_with_declared_hyperparameters_are_data_like_any_other() -> None:
    """There the scale is known, so equal values do say how far f can still rise; it is not little."""
    history = random_history(SQUARE, 10, seed=0).with_values([0.0] * 10)
    certificate = history.told(beta="theory", **declared(SQUARE)).certificate(OptimalityGap(0.1, beta="grid"))
    assert 1.0 < certificate.bound < math.inf


# ---- Scales ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise_std", ["learned", 0.0])
@pytest.mark.parametrize("factor", [2.0**664, 2.0**-664])
def test_a_change_of_units_changes_nothing(factor: float, noise_std: Any) -> None:
    """Whole runs, bit for bit: a power of two near 1e200 leaves all digits as they are."""
    plain, scaled = (GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(noise_std=noise_std)) for _ in range(2))
    for _ in range(14):
        params = plain.ask()
        assert scaled.ask() == params
        plain.tell(params, peak(params))
        scaled.tell(params, factor * peak(params))
        for rule in (UCBbr, OptimalityGap):
            one, two = plain.certificate(rule(0.3)), scaled.certificate(rule(0.3 * factor))
            assert two.bound == factor * one.bound
            assert (two.stop, two.incumbent) == (one.stop, one.incumbent)


@pytest.mark.parametrize("noise_std", ["learned", 0.01])
@pytest.mark.parametrize(("factor", "shift"), [(1e200, 0.0), (1e-200, 0.0), (1.0, 1e8), (-1e200, 0.0)])
def test_decisions_do_not_depend_on_the_scale(factor: float, shift: float, noise_std: Any) -> None:
    """On the same history: what is told differs in its last digits, which a shift of 1e8 makes eight."""
    size = abs(factor)
    known = noise_std if noise_std == "learned" else noise_std * size
    plain = GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(noise_std=noise_std))
    scaled = GPUCB(
        SQUARE, seed=0, surrogate=GaussianProcess(noise_std=known), direction="maximize" if factor > 0 else "minimize"
    )
    for _ in range(14):
        params = plain.ask()
        assert scaled.ask() == {name: pytest.approx(value, abs=0.01) for name, value in params.items()}
        plain.tell(params, peak(params))
        scaled.replace_history(
            [Observation(o.params, factor * peak(dict(o.params)) + shift, o.number) for o in plain.history]
        )
        for rule in (UCBbr, OptimalityGap):
            one, two = plain.certificate(rule(0.3)), scaled.certificate(rule(0.3 * size))
            assert two.bound == pytest.approx(size * one.bound, rel=0.01)
            assert (two.stop, two.incumbent) == (one.stop, one.incumbent)


@pytest.mark.parametrize("scale", [1e307, 1.7e308])
def test_values_whose_differences_overflow(scale: float) -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    run(optimizer, lambda p: scale * math.tanh(20.0 * (p["x"] - 0.5)), 10)
    assert_runs_on(optimizer)


@pytest.mark.parametrize("scale", [5e-324, 1e-310])
def test_values_without_all_their_digits(scale: float) -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    run(optimizer, lambda p: scale * round(100.0 * p["x"]), 10)
    assert_runs_on(optimizer)


@pytest.mark.parametrize("outlier", [-1e6, -1e30])
@pytest.mark.parametrize("place", [{"x": 0.9, "y": 0.1}, {"x": 0.3, "y": 0.2}])
def test_one_bad_outlier(outlier: float, place: dict[str, float]) -> None:
    """The search comes within a hundredth of the optimum all the same; values there span about 1."""
    optimizer = GPUCB(SQUARE, seed=0)
    optimizer.tell(place, outlier)
    run(optimizer, peak, 25)
    assert_runs_on(optimizer)
    assert max(peak(dict(o.params)) for o in optimizer.history[1:]) > -1e-2


@pytest.mark.parametrize("outlier", [-1e6, -1e30, -1e300])
def test_an_outlier_runs_on(outlier: float) -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    optimizer.tell({"x": 0.35, "y": 0.65}, outlier)
    run(optimizer, peak, 8)
    assert_runs_on(optimizer)
    assert not optimizer.certificate(OptimalityGap(1e-3, beta="grid")).stop


def test_one_good_outlier() -> None:
    """It is what the search is for: kept as it is, and the incumbent."""
    optimizer = GPUCB(SQUARE, seed=0)
    optimizer.tell({"x": 0.35, "y": 0.65}, 1e6)
    run(optimizer, peak, 15)
    assert_runs_on(optimizer)
    certificate = optimizer.certificate(OptimalityGap(0.1, beta="grid"))
    assert (certificate.incumbent, certificate.incumbent_value) == (0, 1e6)
    assert certificate.bound > 1.0


def test_values_that_are_no_numbers() -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    bad = iter([None, math.nan, math.inf, -math.inf] * 5)
    run(optimizer, lambda p: next(bad) if p["x"] > 0.6 else peak(p), 20)
    good = [o for o in optimizer.history if o.value is not None and math.isfinite(o.value)]
    certificate = optimizer.certificate(UCBbr(0.1))
    assert certificate.n_observations == len(good) > 0
    assert certificate.n_excluded == 20 - len(good) > 0
    assert_runs_on(optimizer)


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_point_that_failed_is_not_asked_for_again(value: Any) -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    run(optimizer, peak, 6)
    run(optimizer, lambda p: value, 4)
    assert len({str(o.params) for o in optimizer.history}) == 10
    # Nor is one so near that it fails for the same reason.
    points = np.array([SQUARE.encode(o.params) for o in optimizer.history[6:]])
    assert min(np.max(np.abs(a - b)) for i, a in enumerate(points) for b in points[:i]) > 1e-3


@pytest.mark.parametrize("parameter", [Int(0, 9), Float(0.0, 9.0)])
def test_the_best_points_fail(parameter: Any) -> None:
    """As when the largest model does not fit into memory: the search has to settle for less."""
    optimizer = GPUCB(Space({"size": parameter}), seed=0)
    run(optimizer, lambda p: math.nan if p["size"] >= 8 else p["size"] + 0.1 * math.sin(p["size"]), 25)
    assert sum(math.isfinite(o.value or 0.0) for o in optimizer.history) > 12


def test_nothing_but_failures() -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    run(optimizer, lambda p: math.nan, 12)
    assert len({str(o.params) for o in optimizer.history}) == 12
    assert_runs_on(optimizer)


@pytest.mark.parametrize("value", ["0.3", 1 + 2j, [0.1, 0.2], 10**400])
def test_values_of_another_type_are_refused_when_they_are_told(value: Any) -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        optimizer.tell(optimizer.ask(), value)
    assert_runs_on(optimizer)


# ---- Repeated and near points ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise_std", ["learned", 0.0, 0.1])
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_the_same_point_fifty_times(noise_std: Any, spread: float) -> None:
    """Also noise-free values that contradict one another, which no model without noise explains."""
    rng = np.random.default_rng(0)
    optimizer = GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(noise_std=noise_std))
    for point in random_points(SQUARE, 8, rng):
        params = SQUARE.decode(point)
        optimizer.tell(params, peak(params))
    for _ in range(50):
        optimizer.tell({"x": 0.4, "y": 0.6}, -0.02 + spread * float(rng.standard_normal()))
    assert_runs_on(optimizer)
    snapshot = optimizer.snapshot()
    posterior = snapshot.model.posteriors[0]
    std = posterior.mean_std(SQUARE.encode({"x": 0.4, "y": 0.6})[None])[1][0]
    s, sigma = posterior.prior_std, posterior.noise_std
    assert std >= s * sigma / math.sqrt(58 * s**2 + sigma**2) * (1 - 1e-12)
    if noise_std == 0.1:  # the deviation of a mean of 50, not of one value
        assert std * snapshot.model.scale < 0.1 / math.sqrt(49)
    if spread and noise_std == "learned":
        assert posterior.noise_std * snapshot.model.scale == pytest.approx(0.1, rel=0.5)


@pytest.mark.parametrize(
    ("noise_std", "distance"),
    [
        *[("learned", distance) for distance in (1e-9, 1e-15)],
        *[(1e-8, distance) for distance in (1e-9, 1e-15)],
        (0.0, 1e-9),
        (0.0, 1e-15),
    ],
)
def test_points_very_close_together(noise_std: Any, distance: float) -> None:
    optimizer = GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(noise_std=noise_std))
    run(optimizer, peak, 6)
    for i in range(10):
        optimizer.tell({"x": 0.4 + i * distance, "y": 0.6}, -0.02 + 1e-3 * (-1) ** i)
    assert_runs_on(optimizer)


def test_declared_noise_free_points_very_close_together() -> None:
    optimizer = GPUCB(SQUARE, seed=0, **declared(SQUARE, noise_std=0.0, lengthscale=5.0))
    for i in range(30):
        optimizer.tell({"x": 0.4 + i * 1e-9, "y": 0.6}, peak({"x": 0.4, "y": 0.6}))
    assert_runs_on(optimizer)
    assert optimizer.certificate(OptimalityGap(0.1, beta="grid")).noise.jitter_std > 0.0  # and it says so


# ---- Spaces ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise_std", [0.0, 0.01, "learned"])
def test_four_points_and_thirty_trials(noise_std: Any) -> None:
    space = Space({"x": Int(0, 1), "c": Categorical(["a", "b"])})
    values = {(0, "a"): 0.1, (0, "b"): 0.9, (1, "a"): 0.4, (1, "b"): -0.3}
    optimizer = GPUCB(space, seed=0, surrogate=GaussianProcess(noise_std=noise_std))
    run(optimizer, lambda p: values[p["x"], p["c"]], 30)
    assert {(o.params["x"], o.params["c"]) for o in optimizer.history} == set(values)
    certificate = optimizer.certificate(OptimalityGap(0.2, beta="grid"))
    assert certificate.stop
    assert certificate.incumbent_value == 0.9
    if noise_std == 0.0:
        assert (certificate.maximum, certificate.bound) == ("evaluated", 0.0)
    else:
        assert certificate.maximum == "enumerated"


@pytest.mark.parametrize("parameter", [Int(0, 10**9), Float(0.0, 1.0, step=1e-9), Int(1, 10**9, log=True)])
def test_a_billion_values_take_no_memory(parameter: Any) -> None:
    space = Space({"n": parameter, "c": Categorical(["a", "b"])})
    optimizer = GPUCB(space, seed=0, beta="matched")
    run(optimizer, lambda p: math.sin(3.0 * space.encode(p)[0]), 8)
    tracemalloc.start()
    run(optimizer, lambda p: math.sin(3.0 * space.encode(p)[0]), 2)
    assert_runs_on(optimizer)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6


def test_awkward_axes_give_valid_values_only() -> None:
    space = Space(
        {
            "step": Float(0.0, 1.0, step=0.3),
            "ints": Int(1, 10, step=4),
            "log": Int(1, 100, log=True),
            "fixed": Float(2.0, 2.0),
            "only": Categorical(["one"]),
            "x": Float(1e-8, 1e8, log=True),
        }
    )
    assert space.dim == 4
    optimizer = GPUCB(space, seed=0)
    run(optimizer, lambda p: -abs(p["step"] - 0.6) - abs(p["ints"] - 5) - abs(math.log10(p["x"])), 20)
    for observation in optimizer.history:
        params = observation.params
        assert params["step"] in (0.0, 0.3, 0.6, 0.9)
        assert params["ints"] in (1, 5, 9)
        assert params["log"] in range(1, 101)
        assert (params["fixed"], params["only"]) == (2.0, "one")
        assert 1e-8 <= params["x"] <= 1e8
    assert_runs_on(optimizer)


def test_twenty_eight_mixed_axes() -> None:
    axes: dict[str, Any] = {f"x{i}": Float(0.0, 1.0) for i in range(10)}
    axes |= {f"n{i}": Int(1, 1000, log=True) for i in range(8)}
    axes |= {f"s{i}": Float(0.0, 1.0, step=0.05) for i in range(5)}
    axes |= {f"c{i}": Categorical(list(range(50))) for i in range(3)}
    axes |= {"b": Categorical([True, False]), "o": Categorical(["only"]), "o2": Int(3, 3), "p": Float(0, 1)}
    space = Space(axes)
    assert space.dim == 28
    optimizer = GPUCB(space, seed=0)
    history = random_history(space, 60, seed=0)
    for params, value in zip(history.params, history.values, strict=True):
        optimizer.tell(params, value)
    with counted() as work:
        run(optimizer, lambda p: p["x0"] - p["x1"] + (p["c0"] == 7), 3)
        assert_runs_on(optimizer)
    assert work.operations < 5e9  # four suggestions and two certificates: 3.8e9, most of it the maxima of paths
    assert len(work.factorised) < 1500  # 1,000, most of them of 8 to 32 observations


def test_choices_are_returned_as_given() -> None:
    nan = math.nan
    choices: list[Any] = [None, (1, 2), 0.5, True, 1, 1.0, "1", nan, [3], {"a": 1}, frozenset()]
    space = Space({"c": Categorical(choices), "x": Float(0.0, 1.0)})
    optimizer = GPUCB(space, seed=0, beta=100.0)
    seen: list[Any] = []
    for _ in range(25):
        params = optimizer.ask()
        assert any(params["c"] is choice for choice in choices)
        seen.append(params["c"])
        optimizer.tell(params, params["x"] + 0.1 * len(str(params["c"])))
    assert len({id(choice) for choice in seen}) > 5
    assert_runs_on(optimizer)


def test_points_outside_the_range_are_data() -> None:
    optimizer = random_history(SQUARE, 8, seed=0).told()
    for params in ({"x": 1.5, "y": 0.5}, {"x": -1e6, "y": 0.5}, {"x": 0.5, "y": 1e12}):
        optimizer.tell(params, 1.0)
    certificate = optimizer.certificate(OptimalityGap(0.1, beta="grid"))
    assert certificate.n_observations == 11
    assert certificate.incumbent is not None
    assert certificate.incumbent < 8
    assert_runs_on(optimizer)


def test_points_that_do_not_exist_in_the_space_are_counted() -> None:
    space = Space({"x": Float(1e-3, 1.0, log=True), "c": Categorical(["a", "b"])})
    optimizer = random_history(space, 8, seed=0).told()
    for params in ({"x": 0.0, "c": "a"}, {"x": 0.5, "c": "z"}, {"x": "0.5", "c": "a"}, {"x": math.nan, "c": "a"}, {}):
        optimizer.tell(params, 1.0)
    assert optimizer.certificate(OptimalityGap(0.1, beta="grid")).n_excluded == 5
    assert_runs_on(optimizer)


def test_a_space_that_was_changed_between_runs() -> None:
    """A wider range and new choices keep all old data; a new parameter keeps those that have it."""
    old = Space({"x": Float(0.2, 0.8), "c": Categorical(["a", "b"])})
    history = random_history(old, 10, seed=0)
    wider = Space({"x": Float(0.0, 1.0), "c": Categorical(["z", "b", "a"])})
    optimizer = GPUCB(wider, seed=0)
    optimizer.replace_history(history.told().history)
    assert optimizer.certificate(OptimalityGap(0.1, beta="grid")).n_observations == 10
    assert_runs_on(optimizer)

    narrower = Space({"x": Float(0.4, 0.6), "c": Categorical(["a"])})
    optimizer = GPUCB(narrower, seed=0)
    optimizer.replace_history(history.told().history)
    assert_runs_on(optimizer)

    extended = Space(dict(wider) | {"new": Int(1, 5)})
    optimizer = GPUCB(extended, seed=0)
    optimizer.replace_history(history.told().history)
    assert optimizer.certificate(OptimalityGap(0.1, beta="grid")).n_excluded == 10
    run(optimizer, lambda p: p["x"] + p["new"], 8)
    certificate = optimizer.certificate(OptimalityGap(0.1, beta="grid"))
    assert (certificate.n_observations, certificate.n_excluded) == (8, 10)
    assert certificate.incumbent is not None
    assert certificate.incumbent >= 10
    assert_runs_on(optimizer)


def test_a_space_without_parameters_is_refused() -> None:
    for parameters in ({}, {"x": Float(1.0, 1.0)}, {"c": Categorical(["only"])}):
        with pytest.raises(ValueError, match=r"must not be empty|no free parameter"):
            Space(parameters)


# ---- Size --------------------------------------------------------------------------------------------------------


def work_of_a_suggestion(history: History) -> Work:
    """Return the work of a suggestion on a history that was never fitted."""
    optimizer = history.told()
    with counted() as work:
        optimizer.ask()
    return work


def test_five_hundred_observations_in_thirty_dimensions() -> None:
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(30)})
    distinct = random_history(space, 200, seed=0)
    repeats = [i % 200 for i in range(500)]
    rng = np.random.default_rng(0)
    history = History(
        space,
        [distinct.params[i] for i in repeats],
        [distinct.values[i] + 0.1 * float(rng.standard_normal()) for i in repeats],
    )
    work = work_of_a_suggestion(history)
    assert work.operations < 2e9  # 2.7e8, or a second, with what is not in matrices
    assert max(work.factorised) < 300  # repeats were merged, and the fit thinned


def test_two_thousand_observations_in_four_dimensions() -> None:
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(4)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work = work_of_a_suggestion(random_history(space, 2000, seed=0))
    assert work.operations < 4e10  # 2.2e10, or two seconds
    assert sum(n > 256 for n in work.factorised) < 5  # the posteriors; likelihoods are of a subset
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert kilobytes < 1e6


# ---- Arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [UCBbr, OptimalityGap])
@pytest.mark.parametrize("value", [0.0, -0.1, math.nan, math.inf, -math.inf, "0.1", None, True, 1j])
def test_bad_epsilon(rule: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="epsilon must be a positive number, got ") as error:
        rule(epsilon=value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("rule", [UCBbr, OptimalityGap])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, "0.05", None, True])
def test_bad_delta(rule: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"delta must be a number in \(0, 1\), got ") as error:
        rule(epsilon=0.1, delta=value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1.0 - 1e-12])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-100, 1e300])
def test_extreme_epsilon_and_delta(delta: float, epsilon: float) -> None:
    optimizer = random_history(SQUARE, 8, seed=0).told(beta="theory")
    for rule in (UCBbr(epsilon, delta), OptimalityGap(epsilon, delta, beta="grid")):
        certificate = optimizer.certificate(rule)
        assert certificate.bound > 0.0
        assert certificate.stop == (certificate.bound < epsilon)


# ---- Processes ---------------------------------------------------------------------------------------------------


_KILLED = """
import json, os, signal, sys
from regretstop import GPUCB, Float, Space
optimizer = GPUCB(Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}), seed=0)
with open(sys.argv[1], "w") as file:
    for i in range(20):
        params = optimizer.ask()
        if i == 9:
            os.kill(os.getpid(), signal.SIGKILL)  # in the middle of the tenth evaluation
        value = -((params["x"] - 0.3) ** 2) - (params["y"] - 0.7) ** 2
        optimizer.tell(params, value)
        file.write(json.dumps([params, value]) + "\\n")
        file.flush()
"""


def test_a_killed_process_starts_again_where_it_was(tmp_path: Path) -> None:
    """The history written down is whole, and the next point and the certificate are the same, bit for bit."""
    path = tmp_path / "history.jsonl"
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert done.returncode == -9
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 9
    uninterrupted, restarted = GPUCB(SQUARE, seed=0), GPUCB(SQUARE, seed=0)
    run(uninterrupted, peak, 9)
    for params, value in lines:
        restarted.tell(params, value)
    assert restarted.history == uninterrupted.history
    for rule in RULES:
        assert restarted.certificate(rule) == uninterrupted.certificate(rule)
    assert restarted.ask() == uninterrupted.ask()


def test_an_objective_that_raises_leaves_everything_in_place() -> None:
    """The point stays pending; the next one is another, and the failure can be told later."""
    optimizer = GPUCB(SQUARE, seed=0)
    run(optimizer, peak, 8)
    before = optimizer.certificate(UCBbr(0.1))
    lost = optimizer.ask()
    with pytest.raises(ZeroDivisionError):
        optimizer.tell(lost, 1 / 0)
    assert optimizer.certificate(UCBbr(0.1)) == before
    assert optimizer.ask() != lost
    optimizer.tell(lost, None)
    assert optimizer.certificate(UCBbr(0.1)).n_excluded == 1


def test_global_state_is_the_users() -> None:
    """Random generators, numpy's error handling, warnings and the environment are as they were."""
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    old = np.geterr()
    np.seterr(all="raise")
    try:
        state = (
            str(np.random.get_state()),  # noqa: NPY002
            random.getstate(),
            np.geterr(),
            list(warnings.filters),
            dict(os.environ),
        )
        optimizer = GPUCB(SQUARE, seed=0, beta="matched")
        run(optimizer, peak, 8)
        assert_runs_on(optimizer)
        assert state == (
            str(np.random.get_state()),  # noqa: NPY002
            random.getstate(),
            np.geterr(),
            list(warnings.filters),
            dict(os.environ),
        )
    finally:
        np.seterr(**old)


def test_minimise_and_maximise_are_mirrored() -> None:
    up, down = (GPUCB(SQUARE, direction=d, seed=0, beta="matched") for d in ("maximize", "minimize"))
    run(up, peak, 12)
    run(down, lambda p: -peak(p), 12)
    assert [o.params for o in up.history] == [o.params for o in down.history]
    for rule in RULES:
        one, other = up.certificate(rule), down.certificate(rule)
        assert (one.bound, one.incumbent, one.reason) == (other.bound, other.incumbent, other.reason)
        assert one.incumbent_value == -(other.incumbent_value or 0.0)


def test_numbers_of_numpy_are_numbers() -> None:
    optimizer = GPUCB(SQUARE, seed=0)
    for point in random_points(SQUARE, 8, np.random.default_rng(0)):
        optimizer.tell({"x": np.float64(point[0]), "y": np.float32(point[1])}, np.float32(point[0]))  # type: ignore[arg-type]
    assert_runs_on(optimizer)
    assert optimizer.certificate(OptimalityGap(0.1, beta="grid")).n_observations == 8


def test_one_hyperparameter_of_an_axis_that_does_nothing() -> None:
    """Lengthscales of a declared kernel may be very long or very short."""
    for lengthscale in (1e-6, 1e6):
        kernel = Matern52(lengthscales=[0.3, lengthscale], outputscale=1.0)
        history = random_history(SQUARE, 10, seed=0)
        assert_runs_on(
            history.told(
                beta="theory", surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1)
            )
        )

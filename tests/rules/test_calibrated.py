"""UCBbr with the calibrated width: what its certificates say, where it cannot, and that they hold."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from regretstop import (
    GPUCB,
    Categorical,
    Certificate,
    Float,
    GaussianProcess,
    Int,
    Matern52,
    OptimalityGap,
    Space,
    UCBbr,
)
from regretstop.bound import ledger_for
from regretstop.gap import counted_gap
from regretstop.model import Kernel, SquaredExponential
from regretstop.rules._query import regret_of_noise, two_deviations
from regretstop.snapshot import std_floor
from tests.draws import FourierDraws
from tests.histories import SPACES, declared, estimated, random_history
from tests.model.test_own_surrogate import Unknown
from tests.rules.test_coverage import is_consistent

SQUARE = SPACES["a square"]
MIXED = Space({"x": Float(0, 1), "n": Int(1, 4), "c": Categorical(["a", "b"])})
LINE = Space({"x": Float(0, 1)})


def certificate_of(
    space: Space, n: int = 12, *, epsilon: float = 0.3, delta: float = 0.05, **options: Any
) -> Certificate:
    history = random_history(space, n, seed=0)
    return history.told(beta="calibrated", **(options or declared(space))).certificate(UCBbr(epsilon, delta))


@pytest.mark.parametrize("space", [SQUARE, MIXED, SPACES["a line and categories"], SPACES["a table"]])
def test_a_declared_kernel_gives_a_theorem_and_an_estimated_one_a_model(space: Space) -> None:
    for options, guarantee in ((declared(space), "theorem"), (estimated(), "model")):
        certificate = certificate_of(space, **options)
        assert certificate.guarantee == certificate.optimality_gap_guarantee == guarantee
        assert certificate.maximum == "counted"
        assert 0.0 < certificate.bound < math.inf
        # Where it was estimated the paper's experiment may be the larger one.
        assert certificate.bound >= certificate.optimality_gap
        assert guarantee == "model" or certificate.bound == certificate.optimality_gap
        assert certificate.left is not None
        assert 0.0 <= certificate.left.probability <= 1.0
        assert "local maxima" in str(certificate)
        assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


def test_the_same_data_give_the_same_certificate_and_the_same_next_point() -> None:
    history = random_history(MIXED, 14, seed=3)
    one, other = (history.told(beta="calibrated", **estimated()) for _ in range(2))
    assert one.certificate(UCBbr(0.1)) == other.certificate(UCBbr(0.1))
    assert one.ask() == other.ask()


def test_more_risk_and_more_data_leave_less() -> None:
    bounds = [certificate_of(SQUARE, delta=delta).bound for delta in (0.01, 0.05, 0.2, 0.5)]
    assert bounds == sorted(bounds, reverse=True)
    few, many = (certificate_of(SQUARE, n, **declared(SQUARE)) for n in (8, 60))
    assert many.bound < few.bound
    assert many.left is not None
    assert few.left is not None
    assert many.left.probability < few.left.probability


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.4, 1.0])
def test_a_certificate_does_not_contradict_itself(epsilon: float) -> None:
    """The bound is below ε just where no more than δ is left above ε, up to the error of the count."""
    for n in (10, 20, 40, 80):
        certificate = certificate_of(SQUARE, n, epsilon=epsilon, **declared(SQUARE, noise_std=0.01))
        assert certificate.left is not None
        if certificate.stop:
            assert certificate.left.probability < 1.25 * certificate.delta
        elif certificate.bound > 1.5 * epsilon:
            assert certificate.left.probability > 0.5 * certificate.delta


def test_samples_are_averaged_over() -> None:
    history = random_history(SQUARE, 16, seed=1)
    sampled = history.told(beta="calibrated", **estimated(hyperparameters="posterior")).certificate(UCBbr(0.1))
    assert "given the model, in the mean over 8 samples of its hyperparameters" in str(sampled)
    assert sampled.model is not None
    assert sampled.model.n_samples == 8
    assert sampled.guarantee == "model"
    assert 0.0 < sampled.bound < math.inf


def test_the_count_at_the_mode_ends_no_search_alone() -> None:
    """Where it would, the paper's experiment is asked, and the larger bound is the certificate's."""
    history = random_history(SQUARE, 20, seed=3)
    optimizer = history.told(beta="calibrated", **estimated())
    experiment = history.told(beta=4.0, **estimated()).certificate(UCBbr(0.1))
    snapshot = optimizer.snapshot()
    counted = counted_gap(snapshot, 0.05, 0.1).bound
    assert 1.3 * counted < experiment.bound
    between = optimizer.certificate(UCBbr(1.2 * counted))
    assert not between.stop
    assert between.bound == pytest.approx(experiment.bound, rel=0.01)
    assert between.optimality_gap < 1.2 * counted  # what is proved stands beside it
    assert between.guarantee == "model"
    assert "at √β = 2 still so much is open" in between.reason
    assert between.terms["n_places"] < counted_gap(snapshot, 0.05, 1.2 * counted).n_places  # where it decides
    both = optimizer.certificate(UCBbr(1.1 * experiment.bound))
    assert both.stop
    assert both.bound == both.optimality_gap
    far = optimizer.certificate(UCBbr(0.5 * counted))  # nobody asks it
    assert "two_deviations" not in far.terms


def searched_bowl(n: int, jagged: Callable[[dict[str, Any]], float]) -> GPUCB:
    """Return a search of a bowl on which something else lies, after so many evaluations, with ε = 0.1."""
    optimizer = GPUCB(SQUARE, seed=0)
    for _ in range(n):
        params = optimizer.ask(epsilon=0.1)
        x, y = SQUARE.encode(params)
        optimizer.tell(params, float(-4.0 * ((x - 0.3) ** 2 + (y - 0.6) ** 2) + 0.05 * jagged(params)))
    return optimizer


def noisy_bowl(n: int) -> GPUCB:
    """Return a search of a bowl whose values have a noise of half of ε = 0.1."""
    rng = np.random.default_rng(0)
    return searched_bowl(n, lambda _: float(rng.standard_normal()))


def exact_jagged_bowl(n: int) -> GPUCB:
    """Return the same where each point has its own deviation, and the same again."""
    return searched_bowl(n, lambda params: float(np.random.default_rng(abs(hash(tuple(params.values())))).normal()))


def test_samples_may_end_a_search_that_the_experiment_does_not_from_thirty_evaluations_on() -> None:
    """As `GaussianProcess(hyperparameters="posterior", n_samples=32)` would, and nothing else is changed by it."""
    optimizer = noisy_bowl(33)
    ended = optimizer.certificate(UCBbr(0.1))
    assert ended.stop
    assert ended.terms["two_deviations"] >= 0.1
    assert ended.model is not None
    assert ended.model.n_samples == 32
    assert "in the mean over 32 samples" in ended.reason
    assert ended.guarantee == "model"
    alone = GPUCB(SQUARE, seed=0, surrogate=GaussianProcess(hyperparameters="posterior", n_samples=32))
    alone.replace_history(optimizer.history)
    asked = alone.certificate(UCBbr(0.1))
    assert (asked.bound, asked.incumbent) == (ended.bound, ended.incumbent)
    assert (asked.left, asked.expected_regret, asked.model) == (ended.left, ended.expected_regret, ended.model)
    assert optimizer.snapshot().model.is_at_mode  # by which the next point is chosen


def test_samples_are_asked_where_the_mode_says_that_too_much_is_left_unless_it_is_most() -> None:
    """The mode jumps between explanations of the same values: what it says is a hint of what all of them say."""
    rng = np.random.default_rng(0)
    points = rng.random((31, 2))
    points[-1] = points[0]  # which tells the noise
    optimizer = GPUCB(SQUARE, seed=0)
    for x, y in points:
        value = np.sin(6.0 * x) + np.cos(5.0 * y) + 0.1 * rng.standard_normal()
        optimizer.tell(SQUARE.decode(np.array([x, y])), float(value))
    at_mode = counted_gap(optimizer.snapshot(), 0.05, 0.8)
    assert at_mode.bound > 0.8
    assert 0.05 < at_mode.left < 0.5
    ended = optimizer.certificate(UCBbr(0.8))
    assert ended.stop
    assert ended.model is not None
    assert ended.model.n_samples == 32
    assert ended.bound == ended.terms["counted"]
    assert "two_deviations" not in ended.terms  # it could not have ended the search
    far = optimizer.certificate(UCBbr(0.2))
    assert far.left is not None
    assert far.left.probability > 0.5
    assert far.model is not None
    assert far.model.n_samples == 1


@pytest.mark.parametrize("best", [None, 0.5])
def test_a_gap_that_only_matters_where_it_is_closed_is_the_same_there_and_nowhere_else_small(
    best: float | None,
) -> None:
    optimizer = GPUCB(SQUARE, seed=0, best_possible=best)
    optimizer.replace_history(noisy_bowl(33).history)
    doubted = optimizer.snapshot().over_samples()
    assert doubted is not None
    assert (doubted.model.warp is None) == (best is None)
    closed: list[bool] = []
    for epsilon in (0.02, 0.04, 0.08, 0.16, 0.32):
        whole, found = (counted_gap(doubted, 0.05, epsilon, if_closed=asked) for asked in (False, True))
        closed.append(whole.bound < epsilon)
        if closed[-1]:
            assert (found.bound, found.left, found.mean) == (whole.bound, whole.left, whole.mean)
        else:
            assert found.bound >= epsilon
            assert found.bound < math.inf or found.left > 0.05
    assert closed == sorted(closed)
    assert {True, False} == set(closed)


def test_samples_are_asked_neither_before_nor_at_every_test() -> None:
    history = noisy_bowl(35).history
    ended: list[int] = []
    for n in range(24, 36):
        optimizer = GPUCB(SQUARE, seed=0)
        optimizer.replace_history(history[:n])
        certificate = optimizer.certificate(UCBbr(0.12))
        assert certificate.terms["counted"] < 0.12 < certificate.terms["two_deviations"]
        if certificate.stop:
            ended.append(n)
    assert ended == [31, 33, 35]


def test_the_best_point_is_evaluated_again_once_where_its_noise_decides() -> None:
    history = noisy_bowl(40).history
    points = [tuple(each.params.values()) for each in history]
    assert len(set(points[:29])) == 29
    assert points[29] in points[:29]
    assert len(set(points)) == 39
    optimizer = GPUCB(SQUARE, seed=0)
    optimizer.replace_history(history[:29])
    again, next_to_it = optimizer.ask(epsilon=0.1), optimizer.ask(epsilon=0.1)
    assert tuple(again.values()) == points[29]
    assert next_to_it != again  # which is under way
    for options in ({"epsilon": 10.0}, {}):  # the noise is small beside it, and no decision hangs on it
        optimizer.replace_history(history[:29])
        assert tuple(optimizer.ask(**options).values()) not in points[:29]


def test_samples_end_no_search_whose_noise_nothing_tells_from_structure() -> None:
    jagged = exact_jagged_bowl(40)
    for optimizer, ends in ((noisy_bowl(40), True), (jagged, False)):
        history = optimizer.history
        ended: list[int] = []
        for n in range(30, 41):
            seen = GPUCB(SQUARE, seed=0)
            seen.replace_history(history[:n])
            certificate = seen.certificate(UCBbr(0.1))
            assert certificate.model is not None
            if certificate.model.n_samples > 1:
                ended.append(n)
        assert bool(ended) is ends
    values = {tuple(each.params.values()): each.value for each in jagged.history}
    assert len(values) < 40  # a point was evaluated again, and its value was the same
    assert all(each.value == values[tuple(each.params.values())] for each in jagged.history)


@pytest.mark.parametrize("seed", range(4))
def test_noise_that_alone_keeps_the_experiment_open_is_named(seed: int) -> None:
    """However the points are placed: the experiment's bound is no less at any query than at the floor."""
    history = random_history(SQUARE, 20, seed=seed)
    surrogate = GaussianProcess(noise_std=0.5)
    snapshot = history.told(beta="calibrated", surrogate=surrogate).snapshot()
    ledger = ledger_for(SQUARE, 0.05, 10.0, simultaneous=True)
    (posterior,), scale = snapshot.model.posteriors, snapshot.model.scale
    of_noise = regret_of_noise(snapshot, ledger)
    least = of_noise.value * posterior.prior_std * scale
    assert all(0.0 < least <= two_deviations(snapshot, ledger, trial) for trial in range(0, 20, 5))
    # The rest of it is the grid's.
    widths = of_noise.sqrt_alpha + of_noise.sqrt_eta
    assert widths * std_floor(posterior, 20) * scale <= least
    said = UCBbr(0.1).assess(snapshot)
    needed = (widths * 0.5 / 0.1) ** 2 * snapshot.model.report().inflation ** 2
    assert said.terms["noise_needs"] == pytest.approx(needed)
    assert f"noise of deviation 0.5 alone keeps it there until about {needed:.0f} observations" in said.reason
    assert "noise" not in UCBbr(50.0).assess(snapshot).reason


def test_where_the_count_alone_decides_no_noise_keeps_it_up() -> None:
    history = random_history(SQUARE, 20, seed=3)
    for options in (declared(SQUARE, noise_std=0.5), estimated(hyperparameters="posterior")):
        said = history.told(beta="calibrated", **options).certificate(UCBbr(0.01))
        assert not said.stop
        assert "noise of" not in said.reason
        assert "noise_needs" not in said.terms


def test_values_that_differ_by_less_than_epsilon_say_nothing_yet() -> None:
    few, many = (random_history(SQUARE, n, seed=3) for n in (10, 20))
    spread = max(few.values) - min(few.values)
    for rule in (UCBbr, OptimalityGap):
        said = few.told(**estimated()).certificate(rule(1.01 * spread))
        assert math.isinf(said.bound)
        assert "fewer than 20 observations do not tell" in said.reason
        assert math.isfinite(few.told(**estimated()).certificate(rule(0.99 * spread)).bound)
        assert math.isfinite(few.told(**declared(SQUARE)).certificate(rule(10.0 * spread)).bound)
        assert many.told(**estimated()).certificate(rule(10.0 * spread)).stop


def test_the_gap_can_be_counted_whatever_chooses_the_points() -> None:
    history = random_history(MIXED, 14, seed=3)
    for options in (declared(MIXED), estimated()):
        counted = history.told(beta="calibrated", **options).certificate(UCBbr(0.3))
        for beta in (4.0, "matched"):
            gap = history.told(beta=beta, **options).certificate(OptimalityGap(0.3, beta="calibrated"))
            assert (gap.claim, gap.left, gap.guarantee) == (counted.claim, counted.left, counted.guarantee)
    optimizer = random_history(SQUARE, 12, seed=0).told(surrogate=Unknown())
    assert "derivatives" in optimizer.certificate(OptimalityGap(0.1, beta="calibrated")).reason


@pytest.mark.parametrize("space", [SQUARE, MIXED])
def test_all_certificates_at_once_cost_more(space: Space) -> None:
    history = random_history(space, 14, seed=3)
    optimizer = history.told(beta="calibrated", **declared(space))
    one, all_of_them = (optimizer.certificate(UCBbr(0.3, simultaneous=shared)) for shared in (False, True))
    assert one.bound < all_of_them.bound
    assert one.risk is not None
    assert all_of_them.risk is not None
    assert all_of_them.risk.risk == pytest.approx(0.05 * 6.0 / (math.pi * 12) ** 2)  # the twelfth test
    assert one.risk.risk == 0.05
    assert "0.05 for the test that ends the search" in str(one)


def test_a_surrogate_without_derivatives_says_so_and_searches_on() -> None:
    table = random_history(SPACES["a table"], 8, seed=0).told(beta="calibrated", surrogate=Unknown())
    certificate = table.certificate(UCBbr(0.1))
    assert math.isfinite(certificate.bound)
    assert certificate.guarantee == "heuristic"
    assert "without a proof, since the surrogate's posterior knows no derivatives" in certificate.reason
    optimizer = random_history(SQUARE, 12, seed=0).told(beta="calibrated", surrogate=Unknown())
    assert "slope of draws of this kernel is not known" in optimizer.certificate(UCBbr(0.1)).reason
    assert "derivatives" in optimizer.certificate(OptimalityGap(0.1)).reason
    assert SQUARE.contains(optimizer.ask())


def test_more_parameters_than_can_be_counted_are_searched_all_the_same() -> None:
    space = Space({f"x{j}": Float(0, 1) for j in range(21)})
    optimizer = random_history(space, 30, seed=0).told(beta="calibrated", **declared(space))
    certificate = optimizer.certificate(UCBbr(0.1))
    assert certificate.guarantee == "heuristic"
    assert "at most 20 numeric parameters, and there are 21" in certificate.reason
    by_grid = optimizer.certificate(OptimalityGap(0.1))
    assert (by_grid.guarantee, by_grid.maximum) == ("theorem", "searched")
    assert math.isfinite(by_grid.bound)
    assert space.contains(optimizer.ask())


def test_many_places_at_a_time_are_as_good_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = certificate_of(MIXED).bound
    monkeypatch.setattr("regretstop.bound._maxima._AT_ONCE", 10_000)
    assert certificate_of(MIXED).bound == pytest.approx(whole, rel=0.2)  # other draws of the second derivatives


@pytest.mark.parametrize("space", [LINE, SQUARE, MIXED, SPACES["a table"]])
@pytest.mark.parametrize("noise_std", [0.0, 1e-6])
def test_where_everything_is_known_the_search_goes_on(space: Space, noise_std: float) -> None:
    """Without noise, after more points than a smooth kernel needs, and asked for more."""
    history = random_history(space, 40, seed=4, noise_std=0.0)
    options = declared(space, kernel=SquaredExponential, lengthscale=2.0, noise_std=noise_std)
    optimizer = history.told(beta="calibrated", **options)
    for _ in range(3):
        params = optimizer.ask(epsilon=1e-3)
        assert space.contains(params)
        optimizer.tell(params, 0.0)
    assert optimizer.certificate(UCBbr(1e-3)).bound > 0.0


def test_short_lengthscales_and_large_numbers() -> None:
    space = Space({f"x{j}": Float(0, 1) for j in range(9)})
    history = random_history(space, 30, seed=5)
    for lengthscale, outputscale in ((5e-3, 1e-6), (5e-3, 1e6), (1e3, 1.0)):
        options = declared(space, lengthscale=lengthscale, outputscale=outputscale)
        certificate = history.told(beta="calibrated", **options).certificate(UCBbr(0.1))
        assert 0.0 < certificate.bound < math.inf


def test_units_change_nothing() -> None:
    history = random_history(SQUARE, 15, seed=2)
    plain = history.told(beta="calibrated", **estimated()).certificate(UCBbr(0.1))
    moved = history.with_values([1024.0 * v + 4096.0 for v in history.values])
    other = moved.told(beta="calibrated", **estimated()).certificate(UCBbr(102.4))
    assert other.bound == pytest.approx(1024.0 * plain.bound, rel=1e-6)
    assert other.incumbent == plain.incumbent


def run(kernel: type[Kernel], seed: int, n: int, epsilon: float, delta: float, lengthscale: float) -> bool | None:
    """Search a draw of the declared prior, and return whether the stop was false; None if there was none."""
    rng = np.random.default_rng(seed)
    draw = FourierDraws(kernel, [lengthscale], 1, rng)
    values = draw.values(np.linspace(0.0, 1.0, 1001)[:, None])[:, 0]
    known = kernel(lengthscales=[lengthscale], outputscale=1.0)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=known, noise_std=3e-3)
    optimizer = GPUCB(LINE, beta="calibrated", seed=seed, n_initial=3, surrogate=surrogate)
    for _ in range(n):
        params = optimizer.ask(epsilon=epsilon)
        optimizer.tell(params, float(draw.values(np.array([[params["x"]]]))[0, 0]) + 3e-3 * rng.standard_normal())
        certificate = optimizer.certificate(UCBbr(epsilon, delta))
        if certificate.stop:
            assert certificate.guarantee == "theorem"
            assert certificate.incumbent is not None
            best = optimizer.history[certificate.incumbent].params["x"]
            return bool(values.max() - draw.values(np.array([[best]]))[0, 0] > epsilon)
    return None


@pytest.mark.parametrize("kernel", [Matern52, SquaredExponential])
def test_stops_are_false_no_more_often_than_they_may_be(kernel: type[Kernel]) -> None:
    delta = 0.2
    stops = [run(kernel, seed, 25, 0.1, delta, 0.12) for seed in range(12)]
    decided = [stop for stop in stops if stop is not None]
    assert len(decided) > 6
    assert is_consistent(sum(decided), len(decided), delta)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Matern52, SquaredExponential])
@pytest.mark.parametrize("lengthscale", [0.03, 0.1, 0.3])
def test_many_stops_are_false_no_more_often_than_they_may_be(kernel: type[Kernel], lengthscale: float) -> None:
    delta = 0.2
    stops = [run(kernel, 1000 + seed, 120, 0.1, delta, lengthscale) for seed in range(100)]
    decided = [stop for stop in stops if stop is not None]
    assert len(decided) > 50
    assert is_consistent(sum(decided), len(decided), delta)


def test_points_close_together_and_no_noise() -> None:
    """What floating point can still tell is little, and it says so rather than 0."""
    known = Matern52(lengthscales=[0.3], outputscale=1.0)
    optimizer = GPUCB(
        LINE,
        beta="calibrated",
        seed=0,
        surrogate=GaussianProcess(hyperparameters="fixed", kernel=known, noise_std=0.0),
    )
    for x in np.r_[np.linspace(0.0, 1.0, 30), 0.5 + 1e-6 * np.arange(1, 6)]:
        optimizer.tell({"x": float(x)}, float(np.sin(5.0 * x)))
    certificate = optimizer.certificate(UCBbr(1e-3))
    assert 1e-5 < certificate.bound < 0.1

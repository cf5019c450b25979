"""What continuing buys: the expected regret of every certificate, and the rules on it and on what evaluations cost."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    Categorical,
    Certificate,
    CostAware,
    DeltaCB,
    ExpectedRegret,
    Float,
    GaussianProcess,
    Int,
    Matern52,
    Observation,
    OptimalityGap,
    Patience,
    Space,
    UCBbr,
    minimize,
)
from regretstop.model import HasPaths
from regretstop.rules._remaining import what_paths_say
from tests.changes import changed
from tests.effort import examples
from tests.histories import FINITE, declared, random_history

TWO = Space({"x": Int(0, 1)})


def two_points(noise_std: float = 0.3, told: tuple[float, ...] = (1.0, 1.3, 0.7), **options: Any) -> GPUCB:
    """Two points that tell nothing of each other, prior deviation 2: some values at one, none at the other."""
    kernel = Matern52(lengthscales=[1e-3], outputscale=4.0)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=noise_std)
    model = GPUCB(TWO, surrogate=surrogate, seed=0, **options)
    for value in told:
        model.tell({"x": 0}, value)
    return model


def expected_excess(mean: float, std: float) -> float:
    """Return E[max(D, 0)] of a normal D."""
    return float(std * norm.pdf(mean / std) + mean * norm.cdf(mean / std))


def regret_of_two_points(noise_std: float = 0.3) -> tuple[float, float]:
    """Return E[max(f₁ − f₀, 0)] and the deviation of max(f₁ − f₀, 0)."""
    variance = noise_std**2 / 3
    mean, std = -4.0 / (4.0 + variance), math.sqrt(4.0 + 4.0 * variance / (4.0 + variance))
    value = expected_excess(mean, std)
    square = (mean**2 + std**2) * norm.cdf(mean / std) + mean * std * norm.pdf(mean / std)
    return value, math.sqrt(square - value**2)


def test_the_expected_regret_of_two_points_by_hand() -> None:
    exact, deviation = regret_of_two_points()
    certificate = two_points().certificate(ExpectedRegret(1.0))
    assert certificate.expected_regret is not None
    n = certificate.expected_regret.n_paths
    assert n == certificate.terms["n_paths"] == 512
    # The paths of a round share one set of frequencies, whose variances may be off by some 20 %.
    assert certificate.expected_regret.value == pytest.approx(exact, abs=4 * deviation / math.sqrt(n) + 0.1 * exact)
    assert certificate.expected_regret.error == pytest.approx(deviation / math.sqrt(n), rel=0.25)
    margin: Any = certificate.terms["margin"]
    assert margin == pytest.approx(2.0 * certificate.expected_regret.error, rel=1e-9)
    assert certificate.bound == pytest.approx(certificate.expected_regret.value + margin, rel=1e-9)
    assert (certificate.measure, certificate.guarantee, certificate.stop) == ("expected regret", "heuristic", True)
    assert math.isfinite(certificate.optimality_gap)


def test_few_paths_are_enough_to_go_on() -> None:
    certificate = two_points().certificate(ExpectedRegret(0.1))
    assert (certificate.terms["n_paths"], certificate.stop) == (64, False)


@pytest.mark.parametrize("rule", [UCBbr(0.3), OptimalityGap(0.3), DeltaCB(0.3), AcquisitionThreshold(0.3), PRB(0.3)])
def test_every_certificate_has_it(rule: Any) -> None:
    """Counted, between two points exactly but for the trapezoids, or from the paths of a rule that draws them."""
    certificate = two_points().certificate(rule)
    exact, deviation = regret_of_two_points()
    expected = certificate.expected_regret
    assert expected is not None
    sentence = f"Expected regret, the most that going on can gain on average: about {expected.value:.2g}, by the "
    sentence += "local maxima that are expected."
    if rule == PRB(0.3):
        assert expected.n_paths is not None
        spread = 4 * deviation / math.sqrt(expected.n_paths)
        assert expected.value == pytest.approx(exact, abs=spread + 0.1 * exact)
        said = f"{expected.value:.2g} ± {expected.error:.1g} ({expected.n_paths} posterior paths)."
        sentence = f"Expected regret, the most that going on can gain on average: {said}"
    else:
        assert expected.n_paths is None
        assert 0.99 * exact < expected.value < 1.4 * exact
    assert sentence in str(certificate).splitlines()
    assert certificate.summary().endswith(sentence)
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))) == certificate


def test_a_count_has_it_too_and_a_fact_that_stops() -> None:
    rng = np.random.default_rng(0)
    told = random_history(Space({"x": Float(0, 1), "y": Float(0, 1)}), 12, rng).told()
    counted = told.certificate(OptimalityGap(0.5, beta="calibrated"))
    assert counted.maximum == "counted"
    assert counted.expected_regret is not None
    fact = two_points().certificate(Patience(1))
    assert fact.expected_regret is not None
    assert fact.expected_regret.value == pytest.approx(regret_of_two_points()[0], rel=0.6)
    assert two_points().certificate(Patience(9)).expected_regret is None


@examples(15)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(FINITE)))
def test_it_is_the_mean_of_the_regret_on_a_finite_space(seed: int, name: str) -> None:
    """Each path's maximum by enumeration: the same draws, so the same number."""
    space = FINITE[name]
    history = random_history(space, 6, np.random.default_rng(seed))
    snapshot = history.told(**declared(space)).snapshot()
    incumbent = int(np.argmax(snapshot.data.values))
    drawn = what_paths_say(snapshot, incumbent, 1e-3)
    assert drawn is not None
    expected = drawn.expected
    (posterior,) = snapshot.model.posteriors
    assert isinstance(posterior, HasPaths)
    maximizer_seed = snapshot.model.maximizers[0].seed
    paths = posterior.paths(64, np.random.default_rng([maximizer_seed, snapshot.data.n_observations]))
    trial = snapshot.data.points[incumbent]
    values = paths.values(np.vstack([trial[None], space.enumerate()]))
    gaps = np.max(values, axis=0) - values[0]
    assert expected.value == pytest.approx(float(np.mean(gaps)) * snapshot.model.scale, rel=1e-6, abs=1e-9)


def test_a_search_that_knows_everything_expects_nothing() -> None:
    space = Space({"x": Int(0, 4)})
    model = GPUCB(space, surrogate=GaussianProcess(noise_std=0.0), seed=0)
    for x in range(5):
        model.tell({"x": x}, float(x))
    certificate = model.certificate(ExpectedRegret(0.1))
    assert (certificate.bound, certificate.guarantee, certificate.stop) == (0.0, "theorem", True)
    assert "Given that there is no noise" in str(certificate)


def test_words_of_the_two_rules() -> None:
    certificate = two_points().certificate(ExpectedRegret(1.0))
    assert str(changed(certificate, bound=0.5)).splitlines()[1:3] == [
        "The model expects the optimum to be at most 0.5 better than trial 0 (observed value 1) on average;",
        "that bounds no single case, and there is no proof at these settings.",
    ]
    priced = two_points().certificate(CostAware(0.5, cost=lambda p: 2.0))
    assert str(changed(priced, bound=0.25)).splitlines()[1:3] == [
        "The model expects one more evaluation to improve on trial 0 (observed value 1) by at most 0.25 for a unit of "
        "its cost;",
        "that does not bound how much better the optimum is, and there is no proof at these settings.",
    ]
    assert priced.left is None  # a price is no ε to be better by
    assert priced.summary().count("price = 0.5") == str(priced).count("(CostAware, price = 0.5): ") == 1
    assert priced.reason.endswith(" below the price 0.5")


def test_a_search_looks_for_what_the_expectation_is_made_of() -> None:
    assert ExpectedRegret(0.1).regret_epsilon == 0.1
    assert CostAware(0.1).regret_epsilon is None


# ---- Cost ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [0.5, 2.0])
def test_equal_costs_are_a_threshold_on_the_improvement(cost: float) -> None:
    model = two_points()
    priced = model.certificate(CostAware(0.1, cost=lambda p: cost))
    threshold = model.certificate(AcquisitionThreshold(0.1 * cost))
    assert priced.bound == pytest.approx(threshold.bound / cost, rel=1e-9)
    assert priced.stop == threshold.stop
    terms: Any = priced.terms
    assert (terms["improvement"], terms["cost"]) == (pytest.approx(threshold.bound, rel=1e-9), pytest.approx(cost))


def test_a_dear_point_has_to_promise_more() -> None:
    """Of the other point EI is known; of the trial itself it is what its own deviation gives."""
    improvement = expected_excess(-4.0 / (4.0 + 0.03), 2.0)
    own = math.sqrt(4.0 * 0.03 / 4.03) * norm.pdf(0.0)
    for dear in (1.0, 100.0):
        certificate = two_points().certificate(CostAware(0.01, cost=lambda p, dear=dear: dear if p["x"] else 1.0))
        assert certificate.bound == pytest.approx(max(improvement / dear, own), rel=1e-6)


MIXED = Space({"x": Float(0.0, 1.0), "n": Int(1, 50), "c": Categorical(["a", "b", "c"])})


@examples(10)
@given(seed=st.integers(0, 10**6))
def test_nothing_in_a_dense_set_is_worth_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_history(MIXED, 10, rng).told(**declared(MIXED))

    def cost(p: Any) -> float:
        return 0.1 + p["x"] + 0.05 * p["n"] * (3.0 if p["c"] == "a" else 1.0)

    certificate = model.certificate(CostAware(1.0, cost=cost))
    snapshot = model.snapshot()
    (posterior,) = snapshot.model.posteriors
    points = MIXED.snap(rng.random((3000, 3)) * np.maximum(MIXED.categories - 1, 1))
    mean, std = posterior.mean_std(points)
    best = float(np.max(posterior.mean_std(snapshot.data.points)[0]))
    z = (mean - best) / std
    ratios = std * (norm.pdf(z) + z * norm.cdf(z)) / [cost(MIXED.decode(point)) for point in points]
    assert certificate.bound >= 0.98 * float(np.max(ratios)) * snapshot.model.scale


def timed(seconds: Any, n: int = 14, noise: float = 0.0) -> GPUCB:
    """A search along a line whose evaluations take this long."""
    rng = np.random.default_rng(0)
    space = Space({"x": Float(0.0, 1.0)})
    told: list[Observation] = []
    for i, x in enumerate((rng.permutation(n) + 0.5) / n):
        took = seconds(x) * math.exp(noise * rng.standard_normal())
        told.append(Observation({"x": float(x)}, math.sin(5.0 * x), i, float(i), (100.0 * i, 100.0 * i + took)))
    model = GPUCB(space, direction="maximize", seed=0)
    model.replace_history(told)
    return model


def test_durations_are_predicted() -> None:
    """They double over a tenth of the range, exactly: as good as the function that says so."""

    def seconds(x: float) -> float:
        return 2.0 ** (10.0 * x)

    model = timed(seconds)
    by_time = model.certificate(CostAware(1e-6))
    by_function = model.certificate(CostAware(1e-6, cost=lambda p: seconds(p["x"])))
    assert by_time.bound == pytest.approx(by_function.bound, rel=0.1)


def test_equal_durations_are_a_constant_cost() -> None:
    model = timed(lambda x: 30.0)
    improvement = model.certificate(AcquisitionThreshold()).bound
    assert model.certificate(CostAware(1e-6)).bound == pytest.approx(improvement / 30.0, rel=1e-6)


def test_few_durations_count_by_their_mean() -> None:
    model = timed(lambda x: 10.0 + 20.0 * x)
    history = model.history
    kept = [o if o.number < 2 else Observation(o.params, o.value, o.number, o.ended) for o in history]
    model.replace_history(kept)
    mean = np.mean([o.seconds for o in history[:2]])
    improvement = model.certificate(AcquisitionThreshold()).bound
    assert model.certificate(CostAware(1e-6)).bound == pytest.approx(improvement / mean, rel=1e-6)


def test_without_durations_there_is_no_price() -> None:
    certificate = two_points().certificate(CostAware(0.1))
    assert certificate.bound == math.inf
    assert certificate.reason == "no evaluation has said how long it took, and the cost is its duration"


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_cost_that_is_none_is_named(value: float) -> None:
    with pytest.raises(ValueError, match=rf"^cost must be positive and finite, got {value!r} for \{{'x': "):
        two_points().certificate(CostAware(0.1, cost=lambda p: value))


def test_what_a_cost_raises_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"^cost must be a function .*, but raised KeyError\('y'\) for \{'x': "
    ) as found:
        two_points().certificate(CostAware(0.1, cost=lambda p: p["y"]))
    assert isinstance(found.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0.0,), "price"), ((math.nan,), "price"), (("cheap",), "price"), ((0.1, "time"), "cost"), ((0.1, 3.0), "cost")],
)
def test_bad_arguments_are_named(arguments: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be .*, got {arguments[-1]!r}$"):
        CostAware(*arguments)
    with pytest.raises(ValueError, match=r"^delta must be .*, got 0.0$"):
        CostAware(0.1, delta=0.0)


def test_both_end_a_search() -> None:
    space = Space({"x": Float(-1.0, 2.0)})
    for rule in (ExpectedRegret(0.01), CostAware(0.01, cost=lambda p: 1.0), CostAware(0.01)):
        result = minimize(lambda p: p["x"] ** 2, space, rule=rule, max_trials=40, seed=0)
        if rule != CostAware(0.01):  # whose evaluations take next to no time
            assert result.certificate.stop
            assert result.value < 0.05
        assert math.isfinite(result.certificate.bound)

"""The probability that something better remains: by hand, by brute force, and what the rule makes of it."""

import json
import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from regretstop import (
    GPUCB,
    PRB,
    Certificate,
    GaussianProcess,
    Int,
    Matern52,
    OptimalityGap,
    Space,
    UCBbr,
)
from regretstop.rules import probability_left
from regretstop.rules._remaining import path_regrets
from regretstop.search import Maximizer
from regretstop.snapshot import Snapshot
from tests.changes import with_model
from tests.effort import examples
from tests.histories import FINITE, SPACES, History, declared, histories, options_of, random_history
from tests.oracle import covariance, matern52

NORMAL = statistics.NormalDist()
few = examples(10)


def gaps_of(snapshot: Snapshot, trials: np.ndarray, epsilon: float, n_sets: int = 50) -> np.ndarray:
    """Return gaps on 64 paths for each of many sets of frequencies, shape (k, 64 n_sets)."""
    rng = np.random.default_rng(0)
    return np.hstack([path_regrets(snapshot, trials, 64, epsilon, rng, 1) for _ in range(n_sets)])


def standard_error(p: float, n: int) -> float:
    return math.sqrt(p * (1.0 - p) / n)


# ---- By hand and by brute force ----------------------------------------------------------------------------------


def two_points(noise: float) -> tuple[GPUCB, float, float]:
    """Return an optimizer that saw 1.0 at 1/4 and 0.4 at 3/4, and mean and deviation of f(3/4) − f(1/4), by hand.

    With K = [[1, ρ], [ρ, 1]] + σ² I the difference and the sum are independent: the difference D has the prior
    variance 2(1 − ρ), was seen with noise of variance 2σ², and shrinks by w = (1 − ρ)/(1 − ρ + σ²).
    """
    r = math.sqrt(5.0) * 0.5 / 0.8
    rho = (1.0 + r + r * r / 3.0) * math.exp(-r)
    optimizer = GPUCB(
        Space({"x": Int(0, 1)}),
        surrogate=GaussianProcess(
            hyperparameters="fixed", kernel=Matern52(lengthscales=[0.8], outputscale=1.0), noise_std=noise
        ),
        seed=0,
    )
    for x, value in ((0, 1.0), (1, 0.4), (0, 1.0), (1, 0.4)):  # each twice: noise of variance σ²/2
        optimizer.tell({"x": x}, value)
    weight = (1.0 - rho) / (1.0 - rho + noise**2 / 2.0)
    return optimizer, -0.6 * weight, math.sqrt(2.0 * (1.0 - rho) * (1.0 - weight))


@pytest.mark.parametrize("noise", [0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.02, 0.2])
def test_two_points_by_hand(noise: float, epsilon: float) -> None:
    """P(f* − f(x̂) > ε) is P(D > ε); 3200 paths, and 3 % for what the frequencies do to the deviation."""
    optimizer, mean, std = two_points(noise)
    exact = 1.0 - NORMAL.cdf((epsilon - mean) / std)
    snapshot = optimizer.snapshot()
    gaps = gaps_of(snapshot, snapshot.data.points[:1], epsilon)
    assert np.mean(gaps > epsilon) == pytest.approx(exact, abs=5.0 * standard_error(exact, gaps.size) + 0.03 * exact)
    assert np.all(gaps >= 0.0)
    assert np.mean(gaps == 0.0) == pytest.approx(NORMAL.cdf(-mean / std), abs=0.05)
    left: Any = probability_left(snapshot, 0, epsilon)
    assert left.n_paths is None
    assert left.probability == pytest.approx(exact, rel=1e-6)  # of two settings, one by one


def brute_force(history: History, epsilon: float, options: dict[str, Any]) -> tuple[Snapshot, int, np.ndarray]:
    """Return 100 000 exact draws of f* − f(x̂) on all points of a finite space, for x̂ of the highest mean."""
    snapshot = history.told(**options).snapshot()
    posterior: Any = snapshot.model.posteriors[0]
    space = history.space
    points = space.enumerate()

    def k(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return covariance(one, other, matern52, posterior.lengthscales, space.categories, posterior.prior_std)

    inverse = np.linalg.inv(
        k(posterior.points, posterior.points) + np.diag(posterior.noise_std**2 / posterior.repeats + posterior.jitter)
    )
    cross = k(points, posterior.points)
    mean, _ = posterior.mean_std(points)
    cov = k(points, points) - cross @ inverse @ cross.T
    if options["surrogate"].guarantee == "model":
        rest = 1.0 - cross @ inverse @ np.ones(len(inverse))
        cov += np.outer(rest, rest) / np.sum(inverse)
    best = int(np.argmax(posterior.mean_std(snapshot.data.points)[0]))
    row = int(np.argmin(np.sum((points - snapshot.data.points[best]) ** 2, axis=1)))
    values, vectors = np.linalg.eigh(cov)
    normals = np.random.default_rng(1).standard_normal((len(points), 100_000))
    draws = mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * normals)
    return snapshot, best, (np.max(draws, axis=0) - draws[row]) * snapshot.model.scale


@pytest.mark.parametrize("treatment", ["fixed", "map"])
@pytest.mark.parametrize("name", FINITE)
def test_against_draws_of_the_joint_posterior(name: str, treatment: str) -> None:
    """At the ε that half, a fifth and a twentieth of the exact draws exceed; 3200 paths and 5 % for the frequencies."""
    history = random_history(FINITE[name], 9, seed=4)
    snapshot, best, exact = brute_force(history, 0.1, options_of(treatment, history.space))
    gaps = gaps_of(snapshot, snapshot.data.points[best : best + 1], 0.1)
    for p in (0.5, 0.2, 0.05):
        epsilon = max(float(np.quantile(exact, 1.0 - p)), 1e-6)  # where x̂ is the best, both are 0 up to rounding
        p = float(np.mean(exact > epsilon))
        assert np.mean(gaps > epsilon) == pytest.approx(p, abs=5.0 * standard_error(p, gaps.size) + 0.05 * p)


@pytest.mark.parametrize("name", FINITE)
def test_the_bound_is_above_the_quantile_that_it_stands_for(name: str) -> None:
    """And with hundreds of paths not far above it; 10 % for the frequencies."""
    history = random_history(FINITE[name], 12, seed=4)
    delta = 0.2
    _, best, exact = brute_force(history, 0.1, declared(history.space))
    quantile = float(np.quantile(exact, 1.0 - delta / 2.0))
    # An ε just above what the paths can show makes the rule draw them all.
    certificate = history.told(**declared(history.space)).certificate(PRB(1.3 * quantile + 1e-6, delta))
    assert certificate.incumbent is not None
    assert history.params[certificate.incumbent] == history.params[best]
    assert 0.9 * quantile <= certificate.bound < 2.0 * quantile


# ---- The test of the rule ----------------------------------------------------------------------------------------


@examples(200)
@given(st.integers(16, 1000), st.data(), st.floats(0.01, 0.5), st.floats(-8.0, -1.5))
def test_it_stops_just_when_the_clopper_pearson_limit_is_below_half_of_delta(
    n: int, data: st.DataObject, delta: float, log_risk: float
) -> None:
    count = data.draw(st.integers(0, min(n, 5 + n // 4)))
    risk = 10.0**log_risk
    gaps = np.zeros((1, n))
    gaps[0, :count] = 2.0
    gaps = np.random.default_rng(0).permuted(gaps, axis=1)
    tally, is_hopeless = PRB(1.0, delta)._judge(gaps, risk)
    upper = float(beta.ppf(1.0 - risk, count + 1, n - count)) if count < n else 1.0
    lower = float(beta.ppf(risk, count, n - count + 1)) if count else 0.0
    if not math.isclose(upper, delta / 2, rel_tol=1e-9):
        assert (tally.bound < 1.0) == (upper < delta / 2)
    if not math.isclose(lower, delta / 2, rel_tol=1e-9):
        assert is_hopeless == (lower > delta / 2)
    assert tally.probability_left == count / n


def test_of_several_candidates_the_surest_counts() -> None:
    gaps = np.vstack([np.full(900, 2.0), np.linspace(0.0, 0.5, 900), np.zeros(900)])
    tally, is_hopeless = PRB(1.0)._judge(gaps, 1e-3)
    assert (tally.candidate, tally.bound, is_hopeless) == (2, 0.0, False)


def test_a_space_that_is_known_is_certified() -> None:
    """Every point evaluated with next to no noise: nothing better remains, and the best trial is named."""
    space = FINITE["a table"]
    values = np.random.default_rng(0).permutation(20).astype(float)
    history = History(space, [space.decode(point) for point in space.enumerate()], [float(v) for v in values])
    certificate = history.told(**declared(space, noise_std=1e-6, outputscale=50.0)).certificate(PRB(0.01))
    assert certificate.stop
    assert certificate.bound < 1e-4
    assert certificate.left.probability == 0.0
    assert certificate.incumbent == int(np.argmax(values))
    assert certificate.guarantee == "heuristic"
    assert certificate.maximum == "enumerated"
    assert "below 0.025 (δ/2) with confidence" in certificate.reason
    # The paths are draws of an approximation: the rule estimates; the gap beside it is what the theorem certifies.
    assert "The rule estimates that the optimum is at most" in str(certificate)
    assert certificate.optimality_gap_guarantee == "theorem"


def test_a_search_that_has_hardly_begun_is_not_certified_and_costs_few_paths() -> None:
    history = random_history(SPACES["a square"], 6, seed=0)
    certificate = history.told(**declared(history.space)).certificate(PRB(0.01))
    assert not certificate.stop
    assert certificate.bound == math.inf
    assert certificate.left.probability > 0.5  # type: ignore[operator]
    assert certificate.left.n_paths == 16
    assert "to stop it has to be below 0.025" in certificate.reason
    assert math.isfinite(certificate.optimality_gap)


@few
@given(histories(), st.sampled_from(["fixed", "map"]), st.floats(-2.0, 1.0))
def test_a_larger_epsilon_stops_no_later(history: History, treatment: str, log_epsilon: float) -> None:
    optimizer = history.told(**options_of(treatment, history.space))
    small, large = (optimizer.certificate(PRB(factor * 10.0**log_epsilon)) for factor in (1.0, 3.0))
    assert large.stop or not small.stop
    for certificate in (small, large):
        assert certificate.stop == (certificate.bound < certificate.epsilon)
        trial = optimizer.history[certificate.incumbent or 0]
        assert trial.value == certificate.incumbent_value
        assert 1 <= certificate.terms["candidates"] <= 5  # type: ignore[operator]


@few
@given(histories(), st.sampled_from(["fixed", "map"]))
def test_the_same_data_give_the_same_certificate(history: History, treatment: str) -> None:
    rules = (PRB(0.3), UCBbr(0.3), OptimalityGap(0.3, beta="grid"), OptimalityGap(0.3, beta=4.0))
    one, other = (history.told(**options_of(treatment, history.space)) for _ in range(2))
    first = [one.certificate(rule) for rule in rules]
    assert [other.certificate(rule) for rule in reversed(rules)] == first[::-1]
    for certificate in first:
        text = json.dumps(certificate.to_dict(), allow_nan=False)
        assert Certificate.from_dict(json.loads(text)) == certificate
        assert 0.0 <= certificate.left.probability <= 1.0  # type: ignore[operator]


@few
@given(histories(), st.floats(-150.0, 150.0))
def test_it_scales_with_the_values(history: History, log_factor: float) -> None:
    factor = 10.0**log_factor
    scaled = history.with_values([factor * v for v in history.values])
    one = history.told(**declared(history.space)).certificate(PRB(0.5))
    numbers = {"outputscale": factor**2, "noise_std": 0.1 * factor}
    other = scaled.told(**declared(history.space, **numbers)).certificate(PRB(0.5 * factor))
    assert other.stop == one.stop
    assert other.bound == pytest.approx(factor * one.bound, rel=1e-3)
    assert other.left.probability == pytest.approx(one.left.probability, abs=0.02)


def test_several_posteriors_give_equal_shares() -> None:
    """One that is sure that nothing is left and one that is sure of the contrary: half of the paths exceed."""
    space = FINITE["twelve integers"]
    history = History(space, [{"x": x} for x in range(12)], [float(x) for x in range(12)])
    known = history.told(**declared(space, noise_std=1e-3, outputscale=25.0)).snapshot()
    upside_down = history.with_values([-v for v in history.values])
    other = upside_down.told(**declared(space, noise_std=1e-3, outputscale=25.0)).snapshot()
    both = with_model(
        known,
        posteriors=(*known.model.posteriors, *other.model.posteriors),
        maximizers=(*known.model.maximizers, *other.model.maximizers),
    )
    top = int(np.argmax(known.data.values))
    for snapshot, probability in ((known, 0.0), (other, 1.0), (both, 0.5)):
        left = probability_left(snapshot, top, 0.1)
        assert left is not None
        assert left.probability == pytest.approx(probability, abs=0.01)
    three = with_model(
        both,
        posteriors=(*both.model.posteriors, *known.model.posteriors),
        maximizers=(*both.model.maximizers, *known.model.maximizers),
    )
    certificate = PRB(0.1).assess(three)
    assert not certificate.stop
    assert certificate.left.n_paths % 3 == 0  # type: ignore[operator]


# ---- Where there is nothing to count -----------------------------------------------------------------------------


class WithoutPaths:
    """A posterior of another kind: all that the protocol asks, and no more."""

    def __init__(self, posterior: Any) -> None:
        names = ("prior_std", "noise_std", "jitter", "lengthscales", "kernel", "mean_std", "mean_std_gradient")
        for name in (*names, "condition_on"):
            setattr(self, name, getattr(posterior, name))


def test_a_posterior_without_paths() -> None:
    snapshot = random_history(SPACES["a square"], 9, seed=0).told().snapshot()
    plain: Any = WithoutPaths(snapshot.model.posteriors[0])
    search = Maximizer(plain, snapshot.space, snapshot.data.points, 0)
    snapshot = with_model(snapshot, posteriors=(plain,), maximizers=(search,))
    certificate = PRB(0.1).assess(snapshot)
    assert certificate.bound == math.inf
    assert "cannot be drawn from as functions" in certificate.reason
    other = UCBbr(0.1).assess(snapshot)
    assert math.isfinite(other.bound)
    assert other.left is None
    assert "Estimated probability" not in str(other)


@pytest.mark.parametrize("epsilon", [1e-300, 1e300])
def test_absurd_tolerances(epsilon: float) -> None:
    history = random_history(SPACES["a line"], 8, seed=0)
    certificate = history.told(**declared(history.space)).certificate(PRB(epsilon))
    assert certificate.stop == (epsilon > 1.0)

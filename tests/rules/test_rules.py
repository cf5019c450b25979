"""The stopping rules: two spaces worked by hand, and the properties that every certificate must have."""

import dataclasses
import json
import math
import statistics
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    Certificate,
    DeltaCB,
    DeltaES,
    Float,
    GaussianProcess,
    Int,
    Matern52,
    OptimalityGap,
    Space,
    SquaredExponential,
    UCBbr,
)
from regretstop.bound._slopes import kernel_slopes
from regretstop.model import Posterior, SamplingReport
from regretstop.rules import Rule
from regretstop.search import Maximizer, UpperConfidenceBound
from regretstop.snapshot import Snapshot
from tests.changes import changed, of_samples, with_model
from tests.effort import examples
from tests.histories import FINITE, INFINITE, SPACES, History, declared, histories, options_of, random_history

NORMAL = statistics.NormalDist()
BETAS = ("theory", "matched")
TREATMENTS = ("fixed", "map", "posterior")
LOG_DELTAS = st.floats(-5.0, -0.3)

# A property that fits a model or searches a space costs milliseconds, not microseconds.
few = examples(20)


def upper(p: float) -> float:
    """Return z with P(Z > z) = p."""
    return -NORMAL.inv_cdf(p)


def tail(z: Any) -> float:
    """Return P(Z > z)."""
    return math.erfc(z / math.sqrt(2.0)) / 2.0


def matern52(distance: float, lengthscale: float) -> float:
    r = math.sqrt(5.0) * distance / lengthscale
    return (1.0 + r + r * r / 3.0) * math.exp(-r)


# ---- By hand -----------------------------------------------------------------------------------------------------


TWO = Space({"x": Int(0, 1)})  # coordinates 1/4 and 3/4
SCALE, NOISE, MEAN = 2.0, 0.3, 1.0
SHARES = np.linspace(1e-4, 1.0 - 1e-4, 20_001)


def two_point_optimizer(params_and_values: list[tuple[int, float]], beta: Any = 4.0) -> GPUCB:
    optimizer = GPUCB(
        TWO,
        surrogate=GaussianProcess(
            hyperparameters="fixed",
            kernel=Matern52(lengthscales=[0.5], outputscale=SCALE**2),
            noise_std=NOISE,
            mean=MEAN,
        ),
        beta=beta,
        seed=0,
    )
    for x, value in params_and_values:
        optimizer.tell({"x": x}, value)
    return optimizer


def one_observed_point(values: list[float]) -> tuple[list[float], list[float]]:
    """Return μ and σ_n at both points after these values at the first one."""
    m, rho = len(values), matern52(0.5, 0.5)
    weight = SCALE**2 / (SCALE**2 + NOISE**2 / m)
    residual = sum(values) / m - MEAN
    mean = [MEAN + weight * residual, MEAN + rho * weight * residual]
    variance = [SCALE**2 * (1.0 - weight), SCALE**2 * (1.0 - rho**2 * weight)]
    return mean, [math.sqrt(v) for v in variance]


def two_observed_points(first: list[float], second: list[float]) -> tuple[list[float], list[float]]:
    """Return μ and σ_n at both points after these values at the first and at the second."""
    k = SCALE**2 * matern52(0.5, 0.5)
    a, b = SCALE**2 + NOISE**2 / len(first), SCALE**2 + NOISE**2 / len(second)
    determinant = a * b - k * k
    y = [sum(first) / len(first) - MEAN, sum(second) / len(second) - MEAN]
    w = [(b * y[0] - k * y[1]) / determinant, (a * y[1] - k * y[0]) / determinant]
    mean = [MEAN + SCALE**2 * w[0] + k * w[1], MEAN + k * w[0] + SCALE**2 * w[1]]

    def variance(own: float, other: float, p: float, q: float) -> float:
        return SCALE**2 - (own * own * q - 2.0 * own * other * k + other * other * p) / determinant

    return mean, [math.sqrt(variance(SCALE**2, k, a, b)), math.sqrt(variance(SCALE**2, k, b, a))]


HAND_WORKED = {
    "one point": ([(0, 1.5), (0, 1.9), (0, 1.7)], one_observed_point([1.5, 1.9, 1.7])),
    "both points": ([(0, 1.5), (0, 1.9), (1, 0.4)], two_observed_points([1.5, 1.9], [0.4])),
    "nearly alike": ([(0, 1.5), (0, 1.9), (1, 1.75), (1, 1.6)], two_observed_points([1.5, 1.9], [1.75, 1.6])),
}


@pytest.mark.parametrize("case", HAND_WORKED)
def test_optimality_gap_by_hand(case: str) -> None:
    told, (mean, std) = HAND_WORKED[case]
    delta = 0.1
    certificate = two_point_optimizer(told).certificate(OptimalityGap(epsilon=0.5, delta=delta, beta="grid"))
    risk = delta  # the test's alone: nothing goes to slopes
    half = upper(risk / 2.0)
    seen = sorted({x for x, _ in told})
    incumbent = max(seen, key=lambda x: mean[x] - half * std[x])

    def gap(share: float) -> float:
        sqrt_eta, sqrt_alpha = upper(risk * share), upper(risk * (1.0 - share) / 2.0)
        highest = max(mean[x] + sqrt_alpha * std[x] for x in (0, 1))
        return highest - (mean[incumbent] - sqrt_eta * std[incumbent])

    least = min(gap(float(share)) for share in SHARES)
    # The share is chosen for the maximiser; where two points tie, the minimum is at the kink, and this near it.
    assert least * (1 - 1e-9) <= certificate.bound <= least * 1.01
    # And the bound is exactly what its own widths give.
    terms: Any = certificate.terms
    assert certificate.bound == pytest.approx(gap(NORMAL.cdf(-terms["sqrt_eta"]) / risk), rel=1e-9)
    assert NORMAL.cdf(-terms["sqrt_eta"]) + 2 * NORMAL.cdf(-terms["sqrt_alpha"]) == pytest.approx(risk, rel=1e-9)
    assert told[certificate.incumbent or 0][0] == incumbent
    assert certificate.guarantee == "theorem"
    assert certificate.maximum == "enumerated"


@pytest.mark.parametrize("sqrt_beta", [2.0, 0.5])
@pytest.mark.parametrize("case", HAND_WORKED)
def test_the_calibrated_gap_by_hand(case: str, sqrt_beta: float) -> None:
    told, (mean, std) = HAND_WORKED[case]
    optimizer = two_point_optimizer(told)
    certificate = optimizer.certificate(OptimalityGap(epsilon=0.5, delta=0.1, beta=sqrt_beta**2))
    seen = {x for x, _ in told}
    lower = {x: mean[x] - sqrt_beta * std[x] for x in seen}
    incumbent = max(seen, key=lambda x: lower[x])
    assert certificate.bound == pytest.approx(max(mean[x] + sqrt_beta * std[x] for x in (0, 1)) - lower[incumbent])
    assert told[certificate.incumbent or 0][0] == incumbent
    assert certificate.guarantee == "heuristic"
    assert "no proof at these settings" in str(certificate)
    # The certified gap stands beside it, whatever β is.
    by_grid = optimizer.certificate(OptimalityGap(epsilon=0.5, delta=0.1, beta="grid"))
    assert 0.0 < certificate.optimality_gap < by_grid.bound
    assert (certificate.optimality_gap_incumbent, certificate.optimality_gap_guarantee) == (
        certificate.incumbent,
        "theorem",
    )


@few
@given(histories(), st.sampled_from(TREATMENTS), st.floats(0.1, 9.0))
def test_the_calibrated_gap_on_any_space(history: History, treatment: str, beta: float) -> None:
    """Against a dense set of points; the search may find more, and little less."""
    optimizer = history.told(**options_of(treatment, history.space))
    snapshot = optimizer.snapshot()
    certificate = optimizer.certificate(OptimalityGap(0.5, beta=beta))
    space, root = history.space, math.sqrt(beta)
    points = space.snap(np.random.default_rng(0).random((4000, space.dim)) * np.maximum(space.categories - 1, 1))
    at_data = [posterior.mean_std(snapshot.data.points) for posterior in snapshot.model.posteriors]
    lower = np.array([mean - root * std for mean, std in at_data])
    incumbent = int(np.argmax(np.mean(lower, axis=0)))
    upper = [mean + root * std for mean, std in (posterior.mean_std(points) for posterior in snapshot.model.posteriors)]
    # The worst over the posteriors at their common incumbent; no set of points is dense enough to bound it from above.
    dense = snapshot.model.scale * max(float(np.max(u) - low[incumbent]) for u, low in zip(upper, lower, strict=True))
    found = [search.maximize(UpperConfidenceBound(root)).value for search in snapshot.model.maximizers]
    known = [float(np.max(mean + root * std)) for mean, std in at_data]
    highest = np.maximum(found, known) - lower[:, incumbent]
    assert certificate.bound >= dense * (1 - 1e-4) - 1e-9
    assert certificate.bound == pytest.approx(snapshot.model.scale * float(np.max(highest)))


@pytest.mark.parametrize("case", HAND_WORKED)
def test_ucb_br_by_hand(case: str) -> None:
    told, (mean, std) = HAND_WORKED[case]
    delta, t = 0.1, len(told) + 1
    certificate = two_point_optimizer(told, beta="theory").certificate(UCBbr(epsilon=0.5, delta=delta))
    risk = delta  # the test's alone: nothing goes to slopes
    # Eq. (ucb-bay-beta) without slopes: β_t = 2 log(4 π_t |𝔻| / δ).
    sqrt_beta = math.sqrt(2.0 * math.log(4.0 * math.pi**2 * t**2 / 6.0 * 2.0 / delta))
    query = max((0, 1), key=lambda x: mean[x] + sqrt_beta * std[x])
    sigma = NOISE / SCALE
    c1, c2 = std[query] / SCALE, sigma * math.sqrt(1.0 / (t + sigma**2))

    def regret(share: float) -> tuple[float, float]:
        sqrt_eta, sqrt_alpha = upper(risk * share), upper(risk * (1.0 - share) / 2.0)
        if sqrt_alpha > sqrt_beta:
            return math.inf, sqrt_eta
        return SCALE * ((sqrt_beta + sqrt_eta) * c1 - (sqrt_beta - sqrt_alpha) * c2), sqrt_eta

    at_query, sqrt_eta = min(regret(float(share)) for share in SHARES)
    lower = [m - sqrt_eta * s for m, s in zip(mean, std, strict=True)]
    best = max(lower[x] for x in {x for x, _ in told})
    terms: Any = certificate.terms
    assert terms["sqrt_beta"] == pytest.approx(sqrt_beta, rel=1e-12)
    assert terms["query_bound"] == pytest.approx(at_query, rel=1e-6)
    assert certificate.bound == pytest.approx(at_query + max(0.0, lower[query] - best), rel=1e-5)
    assert certificate.guarantee == "theorem"


@pytest.mark.parametrize("beta", [4.0, "theory", "matched"])
@pytest.mark.parametrize("constants", [{}, {"a": 1.0, "b": 1e4}])
def test_many_integers_count_by_the_smaller_of_values_and_cells(beta: Any, constants: dict[str, float]) -> None:
    """Where the slopes are steep, all 2000 values are the grid, Q(√η) + 2000 Q(√α) = p; else it is a line's."""

    def certificate_on(axis: Int | Float, lengthscale: float) -> Certificate:
        space = Space({"x": axis})
        options = declared(space, lengthscale=lengthscale, noise_std=0.01)
        optimizer = GPUCB(space, beta=beta, seed=0, **options)
        for u, value in ((0.1, 0.3), (0.5, 0.9), (0.8, -0.2), (0.55, 0.8)):
            optimizer.tell(space.decode([u]), value)
        return optimizer.certificate(UCBbr(epsilon=0.1, delta=0.05, **(constants if lengthscale < 0.1 else {})))

    steep = certificate_on(Int(0, 1999), 1e-3).terms
    covered = tail(steep["sqrt_eta"]) + 2000.0 * tail(steep["sqrt_alpha"])
    assert covered == pytest.approx(0.045 * (6.0 / (math.pi**2 * 2**2) if beta == 4.0 else 1.0), rel=1e-6)
    assert certificate_on(Int(0, 10**9), 0.5).bound == pytest.approx(certificate_on(Float(0, 1), 0.5).bound, rel=1e-4)


def test_three_points_and_the_squared_exponential() -> None:
    """The same with numpy's linear algebra."""
    space = Space({"x": Int(0, 2)})
    kernel = SquaredExponential(lengthscales=[0.4], outputscale=1.0)
    optimizer = GPUCB(space, surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.1), seed=0)
    points, values = np.array([1 / 6, 1 / 2, 1 / 6]), np.array([0.2, 0.9, 0.3])
    for u, value in zip(points, values, strict=True):
        optimizer.tell(space.decode([u]), float(value))
    grid = (np.arange(3) + 0.5) / 3
    cross = np.exp(-0.5 * ((grid[:, None] - points) / 0.4) ** 2)
    inverse = np.linalg.inv(np.exp(-0.5 * ((points[:, None] - points) / 0.4) ** 2) + 0.01 * np.eye(3))
    mean = cross @ inverse @ values
    std = np.sqrt(1.0 - np.einsum("ij,jk,ik->i", cross, inverse, cross))
    certificate = optimizer.certificate(OptimalityGap(epsilon=0.5, delta=0.05, beta="grid"))
    risk = 0.05

    def gap(share: float) -> float:
        return float(np.max(mean + upper(risk * (1 - share) / 3) * std) - (mean[1] - upper(risk * share) * std[1]))

    assert certificate.bound == pytest.approx(min(gap(float(w)) for w in SHARES), rel=1e-6)
    assert certificate.incumbent == 1


@few
@given(
    histories({"a line": SPACES["a line"]}), st.sampled_from(["theory", "matched"]), st.sampled_from(["fixed", "map"])
)
def test_bounds_are_their_formulas_on_a_continuous_axis(history: History, beta: str, treatment: str) -> None:
    """From the widths, t, s and h that a certificate states, with maxima over a dense grid instead of a search."""
    optimizer = history.told(beta=beta, **options_of(treatment, history.space))
    snapshot = optimizer.snapshot()
    posterior, scale = snapshot.model.posteriors[0], snapshot.model.scale
    mean, std = posterior.mean_std(np.linspace(0.0, 1.0, 4001)[:, None])
    mean_at_data, std_at_data = posterior.mean_std(snapshot.data.points)

    gap = optimizer.certificate(OptimalityGap(1.0, beta="grid"))
    terms: Any = gap.terms
    lower = mean_at_data - terms["sqrt_eta"] * std_at_data
    highest = float(np.max(mean + terms["sqrt_alpha"] * std))
    (certified,) = np.flatnonzero(snapshot.data.numbers == gap.incumbent)  # not all trials can be certified
    expected = scale * (highest - lower[certified]) + terms["grid_error"]
    assert gap.bound == pytest.approx(expected, rel=1e-4)

    certificate = optimizer.certificate(UCBbr(1.0))
    terms = certificate.terms
    sqrt_beta, sqrt_eta, sqrt_alpha = (terms[name] for name in ("sqrt_beta", "sqrt_eta", "sqrt_alpha"))
    query = int(np.argmax(mean + sqrt_beta * std))
    s, t = terms["prior_std"], terms["t"]
    # An overconfident model is inflated as a whole, but the noise that it names is what was fitted or declared.
    sigma = certificate.noise.noise_std * certificate.model.inflation
    assert sigma == pytest.approx(scale * posterior.noise_std)
    assert t == len(history.values) + 1
    assert s == pytest.approx(scale * posterior.prior_std)
    c1, c2 = terms["posterior_std"] / s, (sigma / s) * math.sqrt(1.0 / (t + (sigma / s) ** 2))
    regret = s * ((sqrt_beta + sqrt_eta) * c1 - (sqrt_beta - sqrt_alpha) * c2 + t ** -terms["s"])
    assert terms["query_bound"] == pytest.approx(regret, rel=1e-9)
    assert sqrt_alpha <= sqrt_beta * (1 + 1e-9)
    # Where two maximisers tie the grid may find the other one, whose deviation differs.
    if terms["posterior_std"] == pytest.approx(scale * std[query], rel=1e-2):
        lower = mean_at_data - sqrt_eta * std_at_data
        handed_on = max(0.0, float(mean[query] - sqrt_eta * std[query] - np.max(lower)))
        assert certificate.bound == pytest.approx(regret + scale * handed_on, rel=1e-3)
        assert certificate.incumbent == snapshot.data.numbers[np.argmax(lower)]


# ---- Where the risk goes -----------------------------------------------------------------------------------------


@few
@given(histories(), st.sampled_from(["fixed", "map"]), LOG_DELTAS, st.floats(1.1, 100.0), st.booleans())
def test_the_gap_spends_no_more_than_its_share(
    history: History, treatment: str, log_delta: float, n_L: float, shared: bool
) -> None:
    """Q(√η) + |grid| Q(√α) ≤ q, or q/π_k, on a grid that covers the space with the stated error."""
    delta = 10.0**log_delta
    optimizer = history.told(**options_of(treatment, history.space))
    certificate = optimizer.certificate(OptimalityGap(1.0, delta, n_L=n_L, simultaneous=shared, beta="grid"))
    terms: Any = certificate.terms
    is_finite = math.isfinite(history.space.size)
    test_risk = delta if is_finite else delta * (1.0 - 1.0 / n_L)
    weight = math.pi**2 * certificate.test**2 / 6.0 if shared else 1.0
    tails = math.exp(log_ndtr(-terms["sqrt_eta"])) + math.exp(terms["log_n_grid"] + log_ndtr(-terms["sqrt_alpha"]))
    assert tails <= test_risk / weight * (1 + 1e-9)
    fewest = 3 if treatment == "fixed" else max(3, history.space.dim + 4)
    assert certificate.test == len(history.params) - fewest + 1
    if is_finite:
        assert terms["grid_error"] == 0.0
        assert terms["log_n_grid"] == pytest.approx(math.log(history.space.size))
        return
    snapshot = optimizer.snapshot()
    error = terms["grid_error"] / (snapshot.model.scale * snapshot.model.posteriors[0].prior_std)
    assert terms["log_n_grid"] >= log_n_covering(snapshot, error, delta / n_L) - 1e-9


def log_n_covering(snapshot: Snapshot, error: float, slope_risk: float) -> float:
    """Return the log of the points of a grid with cells of half-widths error / (d L_j), for every category."""
    posterior = snapshot.model.posteriors[0]
    continuous = np.isinf(snapshot.space.counts)
    log_discrete = float(np.sum(np.log(snapshot.space.counts[~continuous])))
    slopes = kernel_slopes(posterior.kernel, posterior.lengthscales[continuous], log_discrete, risk=slope_risk)
    cells = np.maximum(np.ceil(len(slopes) * slopes / (2.0 * error)), 1.0)
    return log_discrete + float(np.sum(np.log(cells)))


def assert_ucb_br_spends_no_more_than_its_share(
    history: History, log_lengthscales: list[float], noise_std: float, beta: str, delta: float
) -> None:
    lengthscales = [10.0**x for x in log_lengthscales[: history.space.dim]]
    known = Matern52(lengthscales, outputscale=1.0)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=known, noise_std=noise_std)
    optimizer = history.told(beta=beta, surrogate=surrogate)
    certificate = optimizer.certificate(UCBbr(1.0, delta))
    if math.isinf(certificate.bound):
        return
    terms: Any = certificate.terms
    risk = certificate.risk.test_risk
    log_n_grid = log_n_covering(optimizer.snapshot(), terms["t"] ** -terms["s"], delta / terms["n_L"])
    tails = math.exp(log_ndtr(-terms["sqrt_eta"])) + math.exp(log_n_grid + log_ndtr(-terms["sqrt_alpha"]))
    assert tails <= risk * (1 + 1e-6)


@few
@given(
    histories(INFINITE, least=3),
    st.lists(st.floats(-1.5, 1.0), min_size=2, max_size=2),
    st.floats(0.01, 0.3),
    st.sampled_from(BETAS),
    LOG_DELTAS,
)
def test_ucb_br_spends_no_more_than_its_share(
    history: History, log_lengthscales: list[float], noise_std: float, beta: str, log_delta: float
) -> None:
    """The paper's |𝔻| = (d r L t^s)^d + 1 is enough points for slopes that differ from axis to axis."""
    assert_ucb_br_spends_no_more_than_its_share(history, log_lengthscales, noise_std, beta, 10.0**log_delta)


def test_an_irrelevant_axis_does_not_shrink_the_grid() -> None:
    history = random_history(SPACES["a square"], 4, seed=0)
    assert_ucb_br_spends_no_more_than_its_share(history, [0.0, 3.0], 1.0, "theory", 0.1)


# ---- Monotonicity ------------------------------------------------------------------------------------------------


@few
@given(
    histories(),
    st.sampled_from(TREATMENTS),
    st.sampled_from([*BETAS, 4.0]),
    st.floats(0.01, 3.0),
    LOG_DELTAS,
    st.floats(0.001, 1.0),
)
def test_bounds_fall_with_delta(
    history: History, treatment: str, beta: Any, noise_std: float, log_delta: float, step: float
) -> None:
    optimizer = history.told(beta=beta, **options_of(treatment, history.space, noise_std=noise_std))
    small, large = 10.0**log_delta, min(10.0 ** (log_delta + step), 0.9)
    one, other = optimizer.certificate(UCBbr(1.0, small)), optimizer.certificate(UCBbr(1.0, large))
    # Where more than δ is left over samples, the bound is counted anew only where half of it is error.
    is_open_over_samples = treatment == "posterior" and other.optimality_gap >= 1.0
    assert other.optimality_gap <= one.optimality_gap * (1.5 if is_open_over_samples else 1 + 1e-6)
    assert other.bound <= one.bound * (1 + 1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))])
@pytest.mark.parametrize("beta", ["theory", 4.0])
def test_bounds_over_samples_fall_with_delta_where_trials_nearly_tie(seed: int, beta: Any) -> None:
    """Noise decides which trial is the best one: under each sample it may be another, and so for each δ."""
    rng = np.random.default_rng(seed)
    optimizer = GPUCB(
        Space({"x": Float(0.0, 1.0)}), seed=0, beta=beta, surrogate=GaussianProcess(hyperparameters="posterior")
    )
    for x, value in zip(rng.random(11), rng.normal(1.5, 0.05, 11), strict=True):
        optimizer.tell({"x": float(x)}, float(value))
    for kind in (UCBbr, partial(OptimalityGap, beta="grid")):
        deltas = np.geomspace(1e-4, 0.5, 24).tolist()
        values = np.array([optimizer.certificate(kind(1.0, delta)).bound for delta in deltas])
        assert np.all(np.isfinite(values))
        assert np.all(values[1:] <= values[:-1] * (1 + 1e-6))


@examples(10)
@given(histories(least=8), st.sampled_from([*BETAS, 4.0]), st.permutations(range(8)), st.integers(1, 7), st.data())
def test_adding_samples_never_lowers_the_bound_of_a_trial(
    history: History, beta: Any, samples: list[int], n: int, data: st.DataObject
) -> None:
    """Of a given trial: which one is certified may change with the samples, and another one may have less to lose."""
    snapshot = history.told(beta=beta, surrogate=GaussianProcess(hyperparameters="posterior")).snapshot()
    assert len(snapshot.model.posteriors) == 8
    trial = data.draw(st.integers(0, len(snapshot.data.points) - 1))
    some, more = (UCBbr(1.0).assess(of_samples(snapshot, chosen, trial)) for chosen in (samples[:n], samples))
    assert some.incumbent == more.incumbent == snapshot.data.numbers[trial]
    assert more.bound >= some.bound * (1 - 1e-9)
    for rule in (
        OptimalityGap(1.0, beta="grid"),
        OptimalityGap(1.0, beta=4.0),
        DeltaCB(1.0),
        AcquisitionThreshold(1.0),
    ):
        fewer, all_of_them = (rule.assess(of_samples(snapshot, chosen, trial)) for chosen in (samples[:n], samples))
        assert all_of_them.bound >= fewer.bound * (1 - 1e-9)
    # The worst of all is the worst of each: nothing is averaged.
    each = [UCBbr(1.0).assess(of_samples(snapshot, [k], trial)) for k in range(8)]
    assert more.bound == pytest.approx(max(c.bound for c in each))


@pytest.mark.parametrize("rule", [UCBbr(1.0), OptimalityGap(1.0, beta="grid")])
def test_a_certificate_is_the_worst_of_the_samples_at_one_trial(rule: Rule) -> None:
    snapshot = (
        random_history(SPACES["a square"], 12, 3)
        .told(beta=4.0, surrogate=GaussianProcess(hyperparameters="posterior"))
        .snapshot()
    )
    certificate = rule.assess(snapshot)
    trial = snapshot.data.numbers.tolist().index(certificate.incumbent)
    each = [rule.assess(of_samples(snapshot, [k], trial)).bound for k in range(8)]
    # The other trials are candidates of the gap's maximum too, which ascents of their own hardly exceed.
    assert certificate.bound == pytest.approx(max(each), rel=1e-3)
    assert certificate.bound > 1.1 * min(each)
    assert certificate.model.n_samples == 8
    assert certificate.model.sampling == "HMC"
    assert certificate.model.n_divergent == 0
    assert certificate.guarantee == ("heuristic" if isinstance(rule, UCBbr) else "model")
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


@pytest.mark.parametrize("rule", [UCBbr(1.0), OptimalityGap(1.0, beta="grid")])
def test_a_certificate_says_that_nothing_could_be_sampled(rule: Rule) -> None:
    told = (
        random_history(SPACES["a square"], 12, 3)
        .told(beta=4.0, surrogate=GaussianProcess(hyperparameters="posterior"))
        .snapshot()
    )
    at_map = random_history(SPACES["a square"], 12, 3).told(beta=4.0).snapshot()
    stuck = with_model(at_map, sampling=SamplingReport(240, 99, 0.1, "99 of 240 trajectories diverged"))
    certificate = rule.assess(stuck)
    assert certificate.bound == rule.assess(at_map).bound < rule.assess(told).bound
    assert "could not be sampled: 99 of 240 trajectories diverged" in certificate.reason
    assert (certificate.model.sampling, certificate.model.n_samples) == ("mode", 1)


class Inflated:
    """A posterior whose deviations are multiplied by a factor; everything else stays."""

    def __init__(self, posterior: Posterior, factor: float) -> None:
        self._posterior = posterior
        self._factor = factor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._posterior, name)

    def mean_std(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, std = self._posterior.mean_std(points)
        return mean, self._factor * std

    def mean_std_gradient(self, points: np.ndarray) -> tuple[np.ndarray, ...]:
        mean, std, mean_gradient, std_gradient = self._posterior.mean_std_gradient(points)
        return mean, self._factor * std, mean_gradient, self._factor * std_gradient

    def jet(self, *args: Any) -> tuple[np.ndarray, np.ndarray]:
        mean, covariance = self._posterior.jet(*args)
        return mean, self._factor**2 * covariance


def inflated(snapshot: Snapshot, factor: float) -> Snapshot:
    posterior: Any = Inflated(snapshot.model.posteriors[0], factor)
    search = Maximizer(posterior, snapshot.space, snapshot.data.points, 0)
    return with_model(snapshot, posteriors=(posterior,), maximizers=(search,))


@few
@given(histories(), st.sampled_from(BETAS), st.floats(1.0, 2.0), st.floats(1.01, 3.0))
def test_bounds_rise_with_the_posterior_deviation(history: History, beta: Any, first: float, factor: float) -> None:
    snapshot = history.told(beta=beta, **declared(history.space)).snapshot()
    one = UCBbr(1.0).assess(inflated(snapshot, first))
    other = UCBbr(1.0).assess(inflated(snapshot, first * factor))
    assert other.bound >= one.bound * (1 - 1e-6)
    # A count at other hills is one at other places, by which it may fall where it hardly rises.
    assert other.optimality_gap >= one.optimality_gap * ((1 - 1e-6) if factor >= 1.2 else 0.95)


@few
@given(histories(), st.sampled_from(BETAS), st.floats(0.01, 1.0), st.floats(1.1, 5.0))
def test_bounds_rise_with_the_noise(history: History, beta: Any, noise_std: float, factor: float) -> None:
    """On values that say nothing about where f is high: otherwise the noise moves the mean as well."""
    flat = history.with_values([0.0] * len(history.values))
    rule = UCBbr(1.0)
    one = flat.told(beta=beta, **declared(flat.space, noise_std=noise_std)).certificate(rule)
    other = flat.told(beta=beta, **declared(flat.space, noise_std=noise_std * factor)).certificate(rule)
    assert other.optimality_gap >= one.optimality_gap * (1 - 1e-6)
    if beta == "matched":  # the theory's β_t times the floor is subtracted, and the floor rises too
        assert other.bound >= one.bound * (1 - 1e-6)


@few
@given(histories(), st.sampled_from(BETAS), st.sampled_from(TREATMENTS), LOG_DELTAS, st.floats(0.01, 3.0))
def test_the_gap_is_never_above_the_papers_bound(
    history: History, beta: Any, treatment: str, log_delta: float, noise_std: float
) -> None:
    optimizer = history.told(beta=beta, **options_of(treatment, history.space, noise_std=noise_std))
    delta = 10.0**log_delta
    certificate = optimizer.certificate(UCBbr(1.0, delta))
    assert optimizer.certificate(OptimalityGap(1.0, delta, beta="grid")).bound <= certificate.bound * (1 + 1e-6)


# ---- Symmetries --------------------------------------------------------------------------------------------------


@few
@given(
    histories(),
    st.sampled_from([*BETAS, 4.0]),
    st.sampled_from(TREATMENTS),
    st.floats(-6.0, 6.0),
    st.floats(-100.0, 100.0),
)
def test_bounds_scale_with_the_values(
    history: History, beta: Any, treatment: str, log_factor: float, shift: float
) -> None:
    """Values × c with ε × c give bound × c, and a shift changes nothing."""
    factor = 10.0**log_factor
    moved = history.with_values([factor * (v + shift) for v in history.values])
    numbers = {"outputscale": factor**2, "noise_std": 0.1 * factor, "mean": factor * shift}
    original = history.told(beta=beta, **options_of(treatment, history.space))
    scaled = moved.told(beta=beta, **options_of(treatment, history.space, **numbers))
    one, other = original.certificate(UCBbr(0.5)), scaled.certificate(UCBbr(0.5 * factor))
    # An estimate repeats only up to the search for it, which starts from values rounded differently.
    accuracy = 1e-6 if treatment == "fixed" else 1e-3
    assert other.bound == pytest.approx(factor * one.bound, rel=accuracy)
    assert other.optimality_gap == pytest.approx(factor * one.optimality_gap, rel=accuracy)
    assert other.stop == one.stop
    if treatment == "fixed":  # the point, as it may be that of two trials
        assert one.incumbent is not None
        assert other.incumbent is not None
        assert history.params[other.incumbent] == history.params[one.incumbent]


@few
@given(histories(), st.sampled_from([*BETAS, 4.0]), st.sampled_from(TREATMENTS))
def test_minimising_mirrors_maximising(history: History, beta: Any, treatment: str) -> None:
    mean = 0.3
    up = history.told(beta=beta, direction="maximize", **options_of(treatment, history.space, mean=mean))
    mirrored = history.with_values([-v for v in history.values])
    down = mirrored.told(beta=beta, direction="minimize", **options_of(treatment, history.space, mean=-mean))
    for rule in (UCBbr(0.5), OptimalityGap(0.5, beta="grid")):
        one, other = up.certificate(rule), down.certificate(rule)
        assert one.incumbent_value is not None
        assert changed(one, incumbent_value=-one.incumbent_value) == other
    assert up.ask() == down.ask()


@few
@given(st.sampled_from([name for name in SPACES if SPACES[name].dim == 2]), st.integers(0, 2**32 - 1))
def test_the_order_of_the_axes_does_not_matter(name: str, seed: int) -> None:
    history = random_history(SPACES[name], 8, seed)
    turned = Space(dict(reversed(list(history.space.items()))))
    one, other = (
        dataclasses.replace(history, space=space)
        .told(
            beta="theory",
            surrogate=GaussianProcess(
                hyperparameters="fixed", kernel=Matern52(lengthscales, outputscale=1.0), noise_std=0.1
            ),
        )
        .certificate(UCBbr(0.5))
        for space, lengthscales in ((history.space, [0.2, 0.5]), (turned, [0.5, 0.2]))
    )
    # Enumerated, up to rounding; searched, up to the search, which meets other starts.
    accuracy = 1e-9 if math.isfinite(history.space.size) else 1e-3
    assert other.bound == pytest.approx(one.bound, rel=accuracy)


# ---- What a certificate says -------------------------------------------------------------------------------------


@few
@given(histories(), st.sampled_from([*BETAS, 4.0, 0.0]), st.sampled_from(TREATMENTS))
def test_the_words_are_never_stronger_than_true(history: History, beta: Any, treatment: str) -> None:
    optimizer = history.told(beta=beta, **options_of(treatment, history.space))
    proven = "theorem" if treatment == "fixed" else "model"
    for rule in (UCBbr(0.5), OptimalityGap(0.5, beta="grid")):
        certificate = optimizer.certificate(rule)
        is_heuristic = isinstance(rule, UCBbr) and not isinstance(beta, str)
        assert certificate.guarantee == ("heuristic" if is_heuristic else proven)
        assert certificate.optimality_gap_guarantee == proven
        assert ("no proof at these settings" in str(certificate)) == is_heuristic


@few
@given(histories(), st.sampled_from([*BETAS, 4.0]), st.sampled_from(TREATMENTS))
def test_the_incumbent_is_an_evaluated_trial(history: History, beta: Any, treatment: str) -> None:
    optimizer = history.told(beta=beta, **options_of(treatment, history.space))
    for rule in (UCBbr(0.5), OptimalityGap(0.5, beta="grid")):
        certificate = optimizer.certificate(rule)
        assert certificate.incumbent is not None
        assert certificate.optimality_gap_incumbent is not None
        trial = optimizer.history[certificate.incumbent]
        assert trial.value == certificate.incumbent_value
        assert history.space.contains(trial.params)
        assert certificate.n_observations == len(history.values)
        assert certificate.n_excluded == 0
        assert certificate.bound > 0.0


@few
@given(histories(), st.sampled_from([*BETAS, 4.0]), st.sampled_from(TREATMENTS))
def test_certificates_survive_json(history: History, beta: Any, treatment: str) -> None:
    optimizer = history.told(beta=beta, **options_of(treatment, history.space))
    for rule in (UCBbr(0.5), OptimalityGap(0.5, beta="grid")):
        certificate = optimizer.certificate(rule)
        text = json.dumps(certificate.to_dict(), allow_nan=False)
        assert Certificate.from_dict(json.loads(text)) == certificate


RULES: list[Rule] = [
    UCBbr(0.5),
    OptimalityGap(0.5, beta="grid"),
    OptimalityGap(0.5, beta=4.0),
    PRB(0.5),
    DeltaCB(0.5),
    DeltaES(0.5),
    AcquisitionThreshold(0.5),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_observations(rule: Rule, treatment: str, n: int) -> None:
    history = random_history(SPACES["a square"], n, seed=0)
    certificate = history.told(beta="theory", **options_of(treatment, history.space)).certificate(rule)
    assert (certificate.bound, certificate.optimality_gap) == (math.inf, math.inf)
    assert certificate.reason.startswith(f"too few observations: {n} of at least")
    assert certificate.incumbent is None
    assert not certificate.stop


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_estimated_hyperparameters_need_more_observations_than_there_are_of_them(rule: Rule) -> None:
    space = SPACES["a square"]
    five, six = (random_history(space, n, seed=0).told(beta="theory").certificate(rule) for n in (5, 6))
    assert five.reason.startswith("too few observations: 5 of at least 6")
    assert math.isfinite(six.optimality_gap)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("value", [0.0, 1.5, -3e7])
def test_equal_values_certify_nothing(rule: Rule, value: float) -> None:
    history = random_history(SPACES["a square"], 9, seed=0).with_values([value] * 9)
    certificate = history.told(beta="theory").certificate(rule)
    assert certificate.bound == math.inf
    assert "all values are equal" in certificate.reason


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_nothing_inside_the_space(rule: Rule) -> None:
    history = dataclasses.replace(
        random_history(SPACES["a line"], 6, seed=0), params=[{"x": 2.0 + i} for i in range(6)]
    )
    certificate = history.told(beta="theory").certificate(rule)
    assert certificate.bound == math.inf
    assert certificate.reason == "no observation lies in the space"


def test_noise_that_alone_keeps_the_bound_up_is_named() -> None:
    history = random_history(FINITE["twelve integers"], 10, seed=0)
    optimizer = history.told(beta="theory", **declared(history.space, noise_std=1.0))
    assert "noise of deviation 1 alone" in optimizer.certificate(UCBbr(0.01)).reason
    assert "noise" not in optimizer.certificate(UCBbr(100.0)).reason


def test_stopping_says_so() -> None:
    history = random_history(FINITE["a table"], 10, seed=0)
    certificate = history.told(beta="theory", **declared(history.space)).certificate(OptimalityGap(50.0, beta="grid"))
    assert certificate.stop
    assert "below ε = 50" in certificate.reason
    assert str(certificate).startswith("Stop (OptimalityGap, ε = 50)")


def test_the_assumed_lipschitz_constant_can_be_given() -> None:
    """A steeper f needs a finer grid: the bound of beta="matched", whose width is √α, rises with b."""
    history = random_history(SPACES["a square"], 8, seed=0)
    optimizer = history.told(beta="matched", **declared(history.space))
    bounds = [optimizer.certificate(UCBbr(0.5, a=1.0, b=b)).bound for b in (0.5, 5.0, 50.0)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[2]


# ---- Arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [UCBbr, OptimalityGap])
@pytest.mark.parametrize(
    ("name", "value"),
    [("n_L", 1.0), ("n_L", 0.5), ("n_L", math.nan), ("n_L", "10"), ("simultaneous", 1), ("simultaneous", None)],
)
def test_bad_arguments_are_named(rule: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be .*, got {value!r}$"):
        rule(epsilon=0.1, **{name: value})


@pytest.mark.parametrize("value", [0.0, -4.0, math.nan, math.inf, "4", True])
def test_bad_betas_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^beta must be .* number.*, got {value!r}$"):
        OptimalityGap(epsilon=0.1, beta=value)


@pytest.mark.parametrize(("name", "value"), [("a", 0.0), ("b", -1.0), ("a", math.nan), ("b", math.inf)])
def test_bad_lipschitz_assumptions_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got {value!r}$"):
        UCBbr(epsilon=0.1, **{"a": 1.0, "b": 1.0} | {name: value})


def test_a_and_b_go_together() -> None:
    with pytest.raises(ValueError, match=r"a and b go together, got a=1\.0 and b=None"):
        UCBbr(epsilon=0.1, a=1.0)
    with pytest.raises(ValueError, match="side must be positive and finite, got 0"):
        UCBbr(epsilon=0.1, side=0.0)


def test_rules_are_values() -> None:
    assert UCBbr(0.1) == UCBbr(epsilon=0.1, delta=0.05)
    assert UCBbr(0.1) != OptimalityGap(0.1, beta="grid")
    assert len({OptimalityGap(0.1, beta="grid"), OptimalityGap(0.1, beta="grid"), OptimalityGap(0.2, beta="grid")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        UCBbr(0.1).epsilon = 0.2  # type: ignore[misc]


def test_float_is_used() -> None:
    """A space of one continuous axis is never enumerated, and says so."""
    space = Space({"x": Float(0.0, 1.0)})
    certificate = random_history(space, 5, seed=0).told(**declared(space)).certificate(OptimalityGap(0.5, beta="grid"))
    assert certificate.maximum == "searched"

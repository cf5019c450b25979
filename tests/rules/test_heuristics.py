"""The rules without a proof: worked from the kernel on small spaces, and what every one of them must do."""

import dataclasses
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
    AcquisitionThreshold,
    Certificate,
    DeltaCB,
    DeltaES,
    Every,
    GaussianProcess,
    Int,
    Matern52,
    Rule,
    Space,
    SquaredExponential,
)
from regretstop.gap import counted_gap
from regretstop.rules import Heuristic
from regretstop.snapshot import Snapshot
from tests import oracle
from tests.changes import changed, of_samples
from tests.effort import examples
from tests.histories import FINITE, History, declared, histories, options_of, random_history

RULES: list[Any] = [DeltaCB(0.5), DeltaES(0.5), AcquisitionThreshold(0.5)]
each_rule = pytest.mark.parametrize("rule", RULES, ids=[type(rule).__name__ for rule in RULES])
few = examples(20)

# ---- By hand: five points on a line, f with a known mean -----------------------------------------------------------

FIVE = Space({"x": Int(0, 4)})
GRID = (np.arange(5) + 0.5) / 5.0
SCALE, LENGTHSCALE, NOISE, MEAN, DELTA = 2.0, 0.4, 0.3, 1.0, 0.1

Told = list[tuple[int, float]]
HAND_WORKED: dict[str, Told] = {
    "the best stays": [(0, 1.5), (4, 0.2), (0, 1.9), (2, 0.7)],
    "the best moves": [(0, 1.5), (4, 0.2), (0, 1.9), (3, 2.4)],
    "a repeat": [(1, 1.5), (3, 1.4), (1, 1.6)],
    "a repeat moves it": [(1, 1.5), (3, 1.6), (0, 0.3), (3, -1.0)],
    "as foretold": [(0, 1.0), (4, 1.0), (2, 1.0)],
    "a surprise": [(0, 1.5), (1, 1.4), (2, 9.0)],
    "outside": [(0, 1.5), (4, 0.2), (2, 1.9), (7, 2.4)],
}
each_case = pytest.mark.parametrize("case", HAND_WORKED)


def five_points(told: Told, noise_std: float = NOISE, **options: Any) -> GPUCB:
    kernel = Matern52(lengthscales=[LENGTHSCALE], outputscale=SCALE**2)
    optimizer = GPUCB(
        FIVE,
        surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=noise_std, mean=MEAN),
        seed=0,
        **options,
    )
    for x, value in told:
        optimizer.tell({"x": x}, value)
    return optimizer


def coordinates(xs: list[int]) -> np.ndarray:
    return (np.array(xs) + 0.5) / 5.0


def moments(told: Told, at: np.ndarray, noise_std: float = NOISE) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior mean, shape (m,), and covariance, shape (m, m), in the objective's units."""
    x, y = coordinates([x for x, _ in told]), np.array([value for _, value in told])

    def k(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return SCALE**2 * oracle.matern52(((one[:, None] - other) / LENGTHSCALE) ** 2)

    inverse = np.linalg.inv(k(x, x) + noise_std**2 * np.eye(len(x)))
    return MEAN + k(at, x) @ inverse @ (y - MEAN), k(at, at) - k(at, x) @ inverse @ k(x, at)


def seen(told: Told) -> list[int]:
    """Return the points of the space that were observed."""
    return sorted({x for x, _ in told if x < 5})


def confidence_gap(told: Told) -> tuple[float, int]:
    """Return ΔCB and its trial's point: d = 1, and n counts the observation outside too."""
    mean, covariance = moments(told, GRID)
    width = math.sqrt(0.4 * math.log(1 * len(told) ** 2 * math.pi**2 / (6 * DELTA))) * np.sqrt(np.diag(covariance))
    best = max(seen(told), key=lambda x: mean[x] - width[x])
    return float(np.max(mean + width) - (mean - width)[best]), best


@each_case
def test_delta_cb_by_hand(case: str) -> None:
    told = HAND_WORKED[case]
    certificate = five_points(told).certificate(DeltaCB(0.5, DELTA))
    bound, best = confidence_gap(told)
    assert certificate.bound == pytest.approx(bound, rel=1e-9)
    assert certificate.incumbent is not None
    assert told[certificate.incumbent][0] == best
    assert certificate.maximum == "enumerated"
    assert certificate.terms["sqrt_beta"] == pytest.approx(
        math.sqrt(2.0 / 5.0 * math.log(len(told) ** 2 * math.pi**2 / 0.6)), rel=1e-12
    )


def change_of_regret(told: Told, noise_variance: float) -> dict[str, float]:
    """Return the terms of ΔES by their formulas."""
    old = told[:-1]
    (x, y), noise_std = told[-1], math.sqrt(noise_variance)
    mean, covariance = moments(told, GRID, noise_std)
    old_mean, _ = moments(old, GRID, noise_std)
    best, old_best = max(seen(told), key=lambda i: mean[i]), max(seen(old), key=lambda i: old_mean[i])
    improvement = 0.0
    if best != old_best:
        g = mean[old_best] - mean[best]
        v = math.sqrt(covariance[old_best, old_best] - 2 * covariance[old_best, best] + covariance[best, best])
        improvement = float(v * norm.pdf(g / v) + g * norm.cdf(g / v))
    foretold, uncertain = (float(each.item()) for each in moments(old, coordinates([x]), noise_std))
    total = uncertain + noise_variance
    kl = math.log(1 + uncertain / noise_variance) - uncertain / total + uncertain * (y - foretold) ** 2 / total**2
    return {
        "mean_change": abs(float(old_mean[old_best] - mean[best])),
        "improvement": improvement,
        "kl": 0.5 * kl,
        "best": best,
        "old_best": old_best,
    }


@each_case
def test_delta_es_by_hand(case: str) -> None:
    told = HAND_WORKED[case]
    certificate = five_points(told).certificate(DeltaES(0.5, DELTA))
    expected = change_of_regret(told, NOISE**2)
    kappa, _ = confidence_gap(told[:-1])
    terms: Any = certificate.terms
    for name in ("mean_change", "improvement", "kl"):
        assert terms[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-12)
    assert terms["kappa"] == pytest.approx(kappa, rel=1e-9)
    bound = expected["mean_change"] + expected["improvement"] + kappa * math.sqrt(0.5 * expected["kl"])
    assert certificate.bound == pytest.approx(bound, rel=1e-9)
    assert certificate.incumbent is not None
    assert told[certificate.incumbent][0] == expected["best"]
    # An unchanged incumbent improves on itself by nothing; a changed one by something.
    assert (terms["improvement"] > 0.0) == (expected["best"] != expected["old_best"])


def test_the_cases_of_delta_es_are_what_they_are_called() -> None:
    best = {case: change_of_regret(told, NOISE**2) for case, told in HAND_WORKED.items()}
    moved = {case for case, terms in best.items() if terms["best"] != terms["old_best"]}
    assert moved == {"the best moves", "a repeat moves it", "a surprise"}


def test_delta_es_of_one_point_in_scalars() -> None:
    """The same point three times: with w_m = s² / (s² + σ²/m) everything is a number."""
    certificate = five_points([(0, 1.5), (0, 1.9), (0, 1.1)]).certificate(DeltaES(0.5, DELTA))
    before, after = (SCALE**2 / (SCALE**2 + NOISE**2 / m) for m in (2, 3))
    variance, residual = SCALE**2 * (1.0 - before), 0.1 - before * 0.7
    total = variance + NOISE**2
    kl = 0.5 * (math.log(1 + variance / NOISE**2) - variance / total + variance * residual**2 / total**2)
    terms: Any = certificate.terms
    assert terms["mean_change"] == pytest.approx(abs(before * 0.7 - after * 0.5), rel=1e-9)
    assert terms["improvement"] == 0.0
    assert terms["kl"] == pytest.approx(kl, rel=1e-9)


@each_case
def test_the_acquisition_threshold_by_hand(case: str) -> None:
    told = HAND_WORKED[case]
    certificate = five_points(told).certificate(AcquisitionThreshold())
    mean, covariance = moments(told, GRID)
    best = max(seen(told), key=lambda x: mean[x])
    std = np.sqrt(np.diag(covariance))
    z = (mean - mean[best]) / std
    improvement = float(np.max(std * (norm.pdf(z) + z * norm.cdf(z))))
    assert certificate.bound == pytest.approx(improvement, rel=1e-9)
    assert certificate.terms["log_improvement"] == pytest.approx(math.log(improvement), abs=1e-9)
    assert certificate.epsilon == 1e-5
    assert certificate.incumbent is not None
    assert told[certificate.incumbent][0] == best


def test_an_improvement_too_small_for_a_float_still_has_a_logarithm() -> None:
    """Noise of 1e-3 on points whose values are 100 apart: of all others the best is some 1e5 deviations below."""
    told = [(x, -100.0 * x) for x in (1, 2, 3, 4)] + [(0, 0.0)] * 400
    optimizer = five_points(told, noise_std=1e-3)
    certificate = optimizer.certificate(AcquisitionThreshold(1e-300, schedule=Every()))
    terms: Any = certificate.terms
    # The incumbent itself: it is known to σ/√400, of which a standard normal gains 1/√2π.
    assert certificate.bound == pytest.approx(1e-3 / 20.0 / math.sqrt(2.0 * math.pi), rel=1e-6)
    assert terms["log_improvement"] == pytest.approx(math.log(certificate.bound), abs=1e-9)
    noise_free = five_points([(x, -100.0 * x) for x in range(5)], noise_std=0.0).certificate(AcquisitionThreshold())
    assert noise_free.bound < 1e-9
    assert noise_free.stop


# ---- Without noise ---------------------------------------------------------------------------------------------------


def test_a_noise_free_observation_is_an_infinite_change() -> None:
    certificate = five_points([(0, 1.5), (4, 0.2), (2, 0.7)], noise_std=0.0).certificate(DeltaES(0.5))
    assert certificate.bound == math.inf
    assert certificate.terms["kl"] == math.inf
    assert certificate.reason.startswith("the model has no noise: ")
    assert certificate.incumbent == 0
    assert not certificate.stop
    assert "Nothing can be said yet" in str(certificate)


def test_a_noise_free_repeat_changes_nothing() -> None:
    certificate = five_points([(0, 1.5), (4, 0.2), (2, 0.7), (4, 0.2)], noise_std=0.0).certificate(DeltaES(0.5))
    assert certificate.bound == pytest.approx(0.0, abs=1e-6)
    assert certificate.terms["kl"] == 0.0
    assert certificate.stop


def test_a_noise_free_repeat_that_contradicts_is_an_infinite_change() -> None:
    certificate = five_points([(0, 1.5), (4, 0.2), (2, 0.7), (4, 0.9)], noise_std=0.0).certificate(DeltaES(0.5))
    assert certificate.bound == math.inf


def test_jitter_is_noise() -> None:
    """A squared exponential much wider than the space needs jitter, and has a finite divergence by it."""
    space = Space({"x": Int(0, 11)})
    kernel = SquaredExponential(lengthscales=[30.0], outputscale=1.0)
    optimizer = GPUCB(space, surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.0), seed=0)
    for x in (0, 2, 4, 6, 8, 10, 5):
        optimizer.tell({"x": x}, 0.01 * x)
    certificate = optimizer.certificate(DeltaES(0.5))
    terms: Any = certificate.terms
    assert certificate.noise.jitter_std > 0.0
    assert 0.0 < terms["kl"] < 10.0
    assert certificate.bound == pytest.approx(changes(optimizer.snapshot(), 0.05)[0], rel=1e-9)


# ---- Where nothing can be said ---------------------------------------------------------------------------------------


def test_delta_es_needs_a_model_before() -> None:
    """The points before the last one may all lie outside the space."""
    optimizer = five_points([(7, 1.5), (8, 1.0), (9, 0.5), (2, 0.7)])
    certificate = optimizer.certificate(DeltaES(0.5))
    assert certificate.bound == math.inf
    assert certificate.reason.startswith("only the last observation lies in the space")
    assert math.isfinite(optimizer.certificate(DeltaCB(0.5)).bound)


@each_rule
def test_observations_without_a_value_are_as_good_as_none(rule: Rule) -> None:
    nothing = five_points([(x, math.nan) for x in range(5)]).certificate(rule)
    assert nothing.bound == math.inf
    assert nothing.reason == "too few observations: 0 of at least 3"
    assert nothing.n_excluded == 5
    told = HAND_WORKED["the best moves"]
    one, other = (five_points(each).certificate(rule) for each in (told, [*told[:2], (1, math.nan), *told[2:]]))
    assert other.bound == one.bound
    # Nor is a failure the last observation.
    assert five_points([*told, (2, math.inf)]).certificate(rule).bound == one.bound


@pytest.mark.parametrize("rule", [DeltaCB, DeltaES, AcquisitionThreshold])
@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0.0), ("epsilon", math.nan), ("epsilon", "0.1"), ("delta", 0.0), ("delta", 1.0), ("delta", True)],
)
def test_bad_arguments_are_named(rule: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be .*, got {value!r}$"):
        rule(**{"epsilon": 0.1} | {name: value})


def test_they_are_values() -> None:
    assert AcquisitionThreshold() == AcquisitionThreshold(epsilon=1e-5, delta=0.05)
    assert DeltaCB(0.1) != DeltaES(0.1)
    assert len({DeltaES(0.1), DeltaES(0.1), DeltaES(0.2)}) == 2


# ---- On any space ----------------------------------------------------------------------------------------------------


def dense(history: History) -> np.ndarray:
    rng = np.random.default_rng(0)
    return history.space.snap(rng.random((4000, history.space.dim)) * np.maximum(history.space.categories - 1, 1))


@few
@given(histories(), st.sampled_from(["fixed", "map", "posterior"]))
def test_maxima_are_not_below_a_dense_set(history: History, treatment: str) -> None:
    """The worst over the posteriors at the common incumbent."""
    optimizer = history.told(**options_of(treatment, history.space))
    snapshot, points = optimizer.snapshot(), dense(history)
    at_data = [posterior.mean_std(snapshot.data.points) for posterior in snapshot.model.posteriors]
    incumbent = int(np.argmax(np.mean([mean for mean, _ in at_data], axis=0)))
    improvements: list[float] = []
    for posterior, (mean, _) in zip(snapshot.model.posteriors, at_data, strict=True):
        far_mean, far_std = posterior.mean_std(points)
        z = (far_mean - mean[incumbent]) / far_std
        improvements.append(float(np.max(far_std * (norm.pdf(z) + z * norm.cdf(z)))))
    certificate = optimizer.certificate(AcquisitionThreshold())
    assert certificate.bound >= snapshot.model.scale * max(improvements) * (1 - 1e-3)
    assert certificate.incumbent == snapshot.data.numbers[incumbent]


def changes(snapshot: Snapshot, delta: float) -> list[float]:
    """Return ΔES under each sample of a snapshot of a finite space, in the objective's units."""
    last = snapshot.data.last
    assert last is not None
    old = [posterior.without(last.point, last.value) for posterior in snapshot.model.posteriors]  # type: ignore[attr-defined]
    points, old_points = snapshot.data.points, snapshot.data.points[:-1]
    best = int(np.argmax(sum(p.mean_std(points)[0] for p in snapshot.model.posteriors)))
    old_best = int(np.argmax(sum(p.mean_std(old_points)[0] for p in old)))
    n, d = snapshot.data.n_observations - 1, snapshot.space.dim
    root = math.sqrt(0.4 * math.log(d * n**2 * math.pi**2 / (6 * delta)))
    lower = [mean - root * std for mean, std in (p.mean_std(old_points) for p in old)]
    lower_best = int(np.argmax(sum(lower)))
    found: list[float] = []
    for p, q, low in zip(snapshot.model.posteriors, old, lower, strict=True):
        mean, _ = p.mean_std(points[[old_best, best]])
        joint = p.covariance(points[[old_best, best]])  # type: ignore[attr-defined]
        v = math.sqrt(max(joint[0, 0] - 2 * joint[0, 1] + joint[1, 1], 1e-300))
        g = mean[0] - mean[1]
        gained = v * norm.pdf(g / v) + g * norm.cdf(g / v) if best != old_best else 0.0
        everywhere, spread = q.mean_std(snapshot.space.enumerate())
        kappa = np.max(everywhere + root * spread) - low[lower_best]
        (m,), (s,) = q.mean_std(last.point[None])
        noise, total = p.noise_std**2 + p.jitter, s**2 + p.noise_std**2 + p.jitter
        kl = 0.5 * (math.log(1 + s**2 / noise) - s**2 / total + s**2 * (last.value - m) ** 2 / total**2)
        shift = abs(q.mean_std(old_points[[old_best]])[0][0] - mean[1])
        found.append(float(snapshot.model.scale * (shift + gained + kappa * math.sqrt(kl / 2))))
    return found


@examples(10)
@given(histories(FINITE, least=8))
def test_delta_es_is_the_worst_of_the_samples(history: History) -> None:
    optimizer = history.told(surrogate=GaussianProcess(hyperparameters="posterior"))
    certificate = optimizer.certificate(DeltaES(0.5))
    each = changes(optimizer.snapshot(), 0.05)
    assert len(each) == 8
    assert certificate.bound == pytest.approx(max(each), rel=1e-6)


@pytest.mark.parametrize("rule", [DeltaCB(1.0), AcquisitionThreshold(1.0)], ids=["DeltaCB", "AcquisitionThreshold"])
def test_a_certificate_is_the_worst_of_the_samples_at_one_trial(rule: Rule) -> None:
    snapshot = (
        random_history(FINITE["a table"], 12, 3).told(surrogate=GaussianProcess(hyperparameters="posterior")).snapshot()
    )
    certificate = rule.assess(snapshot)
    trial = snapshot.data.numbers.tolist().index(certificate.incumbent)
    each = [rule.assess(of_samples(snapshot, [k], trial)).bound for k in range(8)]
    assert certificate.bound == pytest.approx(max(each), rel=1e-9)
    assert certificate.bound > 1.05 * min(each)
    assert certificate.model.n_samples == 8


@few
@given(histories(least=4))
def test_kappa_is_delta_cb_one_observation_earlier(history: History) -> None:
    options = declared(history.space)
    earlier = dataclasses.replace(history, params=history.params[:-1], values=history.values[:-1])
    kappa = history.told(**options).certificate(DeltaES(0.5)).terms["kappa"]
    assert kappa == pytest.approx(earlier.told(**options).certificate(DeltaCB(0.5)).bound, rel=1e-6)


@each_rule
@few
@given(history=histories(FINITE), seed=st.integers(0, 99))
def test_the_order_before_the_last_observation_does_not_matter(rule: Rule, history: History, seed: int) -> None:
    order = [*np.random.default_rng(seed).permutation(len(history.values) - 1), len(history.values) - 1]
    mixed = History(history.space, [history.params[i] for i in order], [history.values[i] for i in order])
    one, other = (each.told(**declared(each.space)).certificate(rule) for each in (history, mixed))
    assert other.bound == pytest.approx(one.bound, rel=1e-7)


@few
@given(histories(FINITE), st.integers(0, 99))
def test_the_last_observation_matters_to_delta_es_alone(history: History, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(history.values))
    mixed = History(history.space, [history.params[i] for i in order], [history.values[i] for i in order])
    one, other = history.told(**declared(history.space)), mixed.told(**declared(history.space))
    for rule in (DeltaCB(0.5), AcquisitionThreshold(0.5)):
        assert other.certificate(rule).bound == pytest.approx(one.certificate(rule).bound, rel=1e-7)
    last = {len(history.values) - 1, int(order[-1])}
    if len(last) == 2 and len({(str(history.params[i]), history.values[i]) for i in last}) == 2:
        assert other.certificate(DeltaES(0.5)).bound != one.certificate(DeltaES(0.5)).bound


@each_rule
@few
@given(
    history=histories(),
    treatment=st.sampled_from(["fixed", "map"]),
    log_factor=st.floats(-6.0, 6.0),
    shift=st.floats(-100.0, 100.0),
)
def test_bounds_scale_with_the_values(
    rule: Rule, history: History, treatment: str, log_factor: float, shift: float
) -> None:
    factor = 10.0**log_factor
    moved = history.with_values([factor * (v + shift) for v in history.values])
    numbers = {"outputscale": factor**2, "noise_std": 0.1 * factor, "mean": factor * shift}
    one = history.told(**options_of(treatment, history.space)).certificate(rule)
    scaled = dataclasses.replace(rule, epsilon=0.5 * factor)
    other = moved.told(**options_of(treatment, history.space, **numbers)).certificate(scaled)
    # An estimate repeats only up to the search for it, which starts from values rounded differently.
    accuracy = 1e-6 if treatment == "fixed" else 2e-3
    assert other.bound == pytest.approx(factor * one.bound, rel=accuracy)
    assert other.stop == one.stop


@each_rule
@few
@given(history=histories(), treatment=st.sampled_from(["fixed", "map", "posterior"]))
def test_minimising_mirrors_maximising(rule: Rule, history: History, treatment: str) -> None:
    up = history.told(direction="maximize", **options_of(treatment, history.space, mean=0.3))
    mirrored = history.with_values([-v for v in history.values])
    down = mirrored.told(direction="minimize", **options_of(treatment, history.space, mean=-0.3))
    one, other = up.certificate(rule), down.certificate(rule)
    assert one.incumbent_value is not None
    assert changed(one, incumbent_value=-one.incumbent_value) == other


# ---- What they say ---------------------------------------------------------------------------------------------------


@each_rule
@few
@given(history=histories(), treatment=st.sampled_from(["fixed", "map", "posterior"]))
def test_they_claim_no_proof_and_carry_the_certified_gap(rule: Heuristic, history: History, treatment: str) -> None:
    optimizer = history.told(**options_of(treatment, history.space))
    certificate, snapshot = optimizer.certificate(rule), optimizer.snapshot()
    assert certificate.guarantee == "heuristic"
    assert "no proof at these settings" in str(certificate)
    assert "certifies" not in certificate.summary()
    incumbent = snapshot.data.numbers.tolist().index(certificate.incumbent)
    counted = counted_gap(snapshot, rule.delta, rule.epsilon, incumbent)
    assert certificate.optimality_gap == counted.bound
    assert certificate.optimality_gap_guarantee == snapshot.model.guarantee
    assert certificate.measure == rule.measure
    assert 0.0 <= float(certificate.left.probability) <= 1.0
    assert certificate.incumbent is not None
    assert optimizer.history[certificate.incumbent].value == certificate.incumbent_value
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == certificate
    assert rule.assess(optimizer.snapshot()) == certificate


def test_only_a_bound_on_the_regret_is_called_one() -> None:
    optimizer = five_points(HAND_WORKED["the best moves"])
    said = {type(rule): str(optimizer.certificate(rule)) for rule in RULES}
    assert "the optimum is at most" in said[DeltaCB]
    for rule in (DeltaES, AcquisitionThreshold):
        assert "the optimum is at most" not in said[rule]
        assert "does not bound" in said[rule]
    assert "largest expected improvement" in said[AcquisitionThreshold]
    assert "the last observation changed the expected regret by at most" in said[DeltaES]
    stopped = five_points(HAND_WORKED["the best moves"]).certificate(AcquisitionThreshold(50.0))
    assert stopped.stop
    assert "that the expected improvement on trial 3 (value 2.4) is at most" in stopped.summary()

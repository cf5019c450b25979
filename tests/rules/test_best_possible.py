"""The best possible value: a ceiling for every certificate, and statements of a warped model carried back."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from regretstop import (
    GPUCB,
    Certificate,
    CostAware,
    ExpectedRegret,
    Float,
    GaussianProcess,
    Matern52,
    OptimalityGap,
    Patience,
    Rule,
    Space,
    UCBbr,
    minimize,
)
from regretstop.gap import counted_gap
from regretstop.model import GaussianProcessPosterior, LogWarp
from regretstop.rules._ceiling import ceiling_of
from regretstop.snapshot import Snapshot
from tests.draws import FourierDraws, cube_grid
from tests.histories import SPACES, declared, random_history

SQUARE = SPACES["a square"]
TABLE = SPACES["a table"]
LINE = Space({"x": Float(0, 1)})


# ---- The ceiling -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [UCBbr(0.1), OptimalityGap(0.1), ExpectedRegret(0.1)], ids=lambda r: r.label)
def test_without_noise_the_ceiling_is_arithmetic_from_the_first_value(rule: Rule) -> None:
    optimizer = GPUCB(LINE, seed=0, surrogate=GaussianProcess(noise_std=0.0), best_possible=1.0)
    optimizer.tell({"x": 0.5}, 0.85)
    assert not optimizer.certificate(rule).stop
    optimizer.tell({"x": 0.25}, 0.95)
    certificate = optimizer.certificate(rule)
    assert certificate.stop
    assert certificate.bound == certificate.optimality_gap == pytest.approx(0.05)
    assert certificate.guarantee == "theorem"
    assert certificate.maximum == "declared"
    assert certificate.incumbent == 1
    assert "Given the best possible value and that there is no noise, as you declared" in str(certificate)
    assert Certificate.from_dict(certificate.to_dict()) == certificate


@pytest.mark.parametrize(
    ("value", "n", "stops"), [(1.0, 10, True), (0.95, 10, True), (1.0, 9, False), (0.85, 10, False)]
)
def test_equal_values_at_the_ceiling_end_a_search_without_a_proof(value: float, n: int, stops: bool) -> None:
    """Noise that nobody declared may hide in them, but an easy task must not run on for ever."""
    optimizer = GPUCB(LINE, seed=0, best_possible=1.0)
    for _ in range(n):
        optimizer.tell(optimizer.ask(), value)
    certificate = optimizer.certificate(UCBbr(0.1))
    assert certificate.stop == stops
    assert certificate.bound == (pytest.approx(1.0 - value) if stops else math.inf)
    if stops:
        assert certificate.guarantee == "heuristic"
        assert certificate.reason.startswith("all 10 values are equal, and at most")
        assert certificate.optimality_gap == math.inf
        assert Certificate.from_dict(certificate.to_dict()) == certificate
    optimizer.tell(optimizer.ask(), 0.3)
    assert optimizer.certificate(UCBbr(0.1)).guarantee == "model"


def test_of_a_loss_it_is_a_floor() -> None:
    optimizer = GPUCB(LINE, direction="minimize", seed=0, surrogate=GaussianProcess(noise_std=0.0), best_possible=0.0)
    optimizer.tell({"x": 0.5}, 0.05)
    certificate = optimizer.certificate(UCBbr(0.1))
    assert certificate.stop
    assert certificate.bound == pytest.approx(0.05)


def test_with_noise_it_is_what_is_left_above_the_lower_confidence_bound() -> None:
    """By hand from mean and deviation of the trial; what may be better by ε, and on average, likewise."""
    history = random_history(SQUARE, 8, seed=1)
    best = max(history.values) + 0.2
    optimizer = history.told(best_possible=best, **declared(SQUARE, noise_std=0.3))
    certificate, plain = optimizer.certificate(UCBbr(0.3)), history.told(**declared(SQUARE, noise_std=0.3))
    snapshot = optimizer.snapshot()
    trial = snapshot.data.numbers.tolist().index(certificate.incumbent)
    mean, std = (float(each[0]) for each in snapshot.model.posteriors[0].mean_std(snapshot.data.points[[trial]]))
    ceiling = best - (mean - norm.isf(0.05) * std)
    assert ceiling < plain.certificate(UCBbr(0.3)).bound
    assert certificate.bound == certificate.optimality_gap == pytest.approx(ceiling)
    assert certificate.maximum == "declared"
    assert certificate.guarantee == "theorem"
    assert certificate.left is not None
    assert certificate.left.probability == pytest.approx(norm.cdf((best - 0.3 - mean) / std))
    assert ", by the best possible value." in str(certificate)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert certificate.expected_regret is not None
    assert certificate.expected_regret.value <= best - mean + 1e-12
    assert "what is left up to the best possible value that you declared" in str(certificate)


def test_over_samples_it_is_a_quantile_of_their_mean() -> None:
    """Below it the trial is with probability δ if each sample counts alike; one sample would make it larger."""
    history = random_history(SQUARE, 12, seed=1)
    best = max(history.values) + 0.05
    surrogate = GaussianProcess(hyperparameters="posterior", n_samples=16)
    optimizer = history.told(best_possible=best, surrogate=surrogate)
    certificate, snapshot = optimizer.certificate(UCBbr(0.3)), optimizer.snapshot()
    assert certificate.maximum == "declared"
    trial = snapshot.data.numbers.tolist().index(certificate.incumbent)
    at = np.array([np.ravel(p.mean_std(snapshot.data.points[[trial]])) for p in snapshot.model.posteriors])
    level = snapshot.model.units.standardized(best - certificate.bound)
    below = norm.cdf((level - at[:, 0]) / at[:, 1])
    assert np.mean(below) == pytest.approx(0.05, rel=1e-6)
    assert np.max(below) > 0.06


def lucky_search() -> GPUCB:
    """Return a search of a flat top at 0.9 with a noise of 0.06 that is never above 1, as of an accuracy."""
    rng = np.random.default_rng(7)
    optimizer = GPUCB(SQUARE, seed=7, best_possible=1.0)
    for _ in range(8):
        params = optimizer.ask(epsilon=0.05)
        x, _ = SQUARE.encode(params)
        optimizer.tell(params, min(0.9 - 0.3 * (x - 0.4) ** 2 + 0.06 * float(rng.standard_normal()), 1.0))
    return optimizer


def test_a_lucky_score_that_the_mode_takes_for_true_ends_no_search() -> None:
    optimizer = lucky_search()
    certificate, snapshot = optimizer.certificate(UCBbr(0.05)), optimizer.snapshot()
    assert certificate.incumbent is not None
    trial = snapshot.data.numbers.tolist().index(certificate.incumbent)
    at_mode = replace(snapshot, model=replace(snapshot.model, over_samples=None))
    alone, asked = (ceiling_of(each, trial, 0.05, 0.05) for each in (at_mode, snapshot))
    assert alone.bound < 0.05 < asked.bound
    assert not certificate.stop
    assert certificate.bound <= asked.bound


def test_a_price_asks_samples_only_where_it_stops() -> None:
    optimizer = lucky_search()
    asked: list[int] = []
    seen = optimizer.snapshot()
    snapshot = replace(seen, model=replace(seen.model, over_samples=lambda: asked.append(1)))
    for price, times in ((1e-9, 0), (1e3, 1)):
        asked.clear()
        assert CostAware(price, cost=lambda _: 1.0).assess(snapshot).stop is bool(times)
        assert len(asked) == times


def test_a_ceiling_that_is_far_away_changes_nothing_where_the_kernel_is_declared() -> None:
    history = random_history(SQUARE, 12, seed=0)
    plain, far = (history.told(best_possible=b, **declared(SQUARE)).certificate(UCBbr(0.3)) for b in (None, 1e6))
    assert far == plain


def test_rules_that_say_nothing_of_the_regret_keep_their_own_word() -> None:
    history = random_history(SQUARE, 12, seed=0)
    optimizer = history.told(best_possible=max(history.values) + 0.01, **declared(SQUARE, noise_std=0.01))
    certificate = optimizer.certificate(Patience(1))
    assert certificate.stop
    assert certificate.guarantee == "none"
    assert certificate.optimality_gap < 0.1  # what is left up to there stands beside it


# ---- What is wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "best", "beyond"), [("maximize", 1.0, 1.01), ("minimize", 0.0, -0.01), ("minimize", 0.0, -1e-11)]
)
def test_a_value_beyond_it_is_an_error_that_names_the_trial(direction: Any, best: float, beyond: float) -> None:
    optimizer = GPUCB(LINE, direction=direction, seed=0, best_possible=best)
    sign = 1.0 if direction == "maximize" else -1.0
    optimizer.tell({"x": 0.1}, best - 0.3 * sign)
    optimizer.tell({"x": 0.2}, best + 1e-14 * sign)  # rounding, as of a mean
    assert optimizer.certificate(UCBbr(0.1)).incumbent is None  # and no error
    optimizer.tell({"x": 0.5}, beyond)
    for act in (optimizer.ask, lambda: optimizer.certificate(UCBbr(0.1))):
        with pytest.raises(ValueError, match=rf"best_possible is {best}, but trial 2 has the better value {beyond}"):
            act()
    assert optimizer.history[-1].value == beyond  # it is not lost


@pytest.mark.parametrize("value", [math.nan, math.inf, "high", True])
def test_it_has_to_be_a_number(value: Any) -> None:
    with pytest.raises(ValueError, match="best_possible"):
        GPUCB(LINE, best_possible=value)


# ---- The warp -----------------------------------------------------------------------------------------------------


def warped(snapshot: Snapshot, warp: LogWarp) -> Snapshot:
    """Return the snapshot of a model of z as one of the values y that z is the warp of."""
    z = snapshot.data.sign * snapshot.data.values
    return replace(
        snapshot,
        model=replace(snapshot.model, warp=warp),
        data=replace(snapshot.data, values=warp.best - warp.shift * np.expm1(-z)),
    )


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.3])
def test_the_count_on_a_table_is_that_of_draws(epsilon: float) -> None:
    """Of 20 settings, one by one: what is better than x̂ by ε after the warp. 200,000 draws of the joint posterior."""
    snapshot = random_history(TABLE, 9, seed=4).told(**declared(TABLE, noise_std=0.3)).snapshot()
    snapshot = warped(snapshot, LogWarp(1.0, 0.2))
    found = counted_gap(snapshot, 0.05, epsilon)
    posterior = snapshot.model.posteriors[0]
    assert isinstance(posterior, GaussianProcessPosterior)
    points = np.vstack([snapshot.data.points[[found.incumbent]], TABLE.enumerate()])
    mean, _ = posterior.mean_std(points)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(mean, posterior.covariance(points), 200_000, check_valid="ignore")
    y = snapshot.model.units.values(draws)
    regret = np.max(y, axis=1) - y[:, 0]
    expected = float(np.mean(np.sum(y - y[:, :1] > epsilon, axis=1)))
    assert min(expected, 1.0) <= found.left * 1.02 + 2e-3
    assert found.left <= min(1.5 * expected + 0.02, 1.0)  # what the tangent costs
    assert np.mean(regret > found.bound) <= 0.05 + 2e-3
    assert found.bound <= 1.5 * float(np.quantile(regret, 0.95))
    assert found.mean >= float(np.mean(regret)) * 0.95


def is_false_stop(seed: int, lengthscale: float, rule: Rule) -> bool | None:
    """Follow a search of a draw behind a known warp to its stop; return whether it was false, None without one."""
    rng = np.random.default_rng(seed)
    draw = FourierDraws(Matern52, [0.15], 1, rng, n_features=512)
    warp = LogWarp(1.0, 0.2)
    grid = cube_grid(1, 1001)
    z = draw.values(grid)[:, 0]
    best = warp.best - warp.shift * math.expm1(-float(z.max()))
    surrogate = GaussianProcess(
        hyperparameters="fixed",
        kernel=Matern52(lengthscales=[lengthscale], outputscale=1.0),
        noise_std=0.2,
    )
    optimizer = GPUCB(LINE, seed=seed, n_initial=3, surrogate=surrogate)
    truth: list[float] = []
    for _ in range(40):
        params = optimizer.ask()
        own = float(draw.values(np.array([[params["x"]]]))[0, 0])
        truth.append(warp.best - warp.shift * math.expm1(-own))
        optimizer.tell(params, own + 0.2 * float(rng.standard_normal()))
        snapshot = optimizer.snapshot()
        if snapshot.obstacle is not None:
            continue
        certificate = rule.assess(warped(snapshot, warp))
        if certificate.stop:
            assert certificate.incumbent is not None
            return best - truth[certificate.incumbent] > rule.tolerance
    return None


@pytest.mark.slow
def test_stops_of_warped_models_are_false_at_most_as_often_as_they_say() -> None:
    """150 searches; and four times the true lengthscale, as a control, stops falsely too often."""
    rule = UCBbr(0.1, 0.05)
    for lengthscale, is_sound in ((0.15, True), (0.6, False)):
        said = [is_false_stop(seed, lengthscale, rule) for seed in range(150)]
        stops = [each for each in said if each is not None]
        assert len(stops) > 75
        p = binomtest(sum(stops), 150, rule.delta, alternative="greater").pvalue
        assert bool(p > 0.025) is is_sound, (sum(stops), len(stops))


def test_it_closes_sooner_where_values_bend() -> None:
    def objective(params: dict[str, Any]) -> float:
        x = params["x"]
        return 0.02 + 0.3 * (x - 0.3) ** 2 + 0.01 * math.sin(40.0 * x)

    plain, known = (
        minimize(objective, LINE, rule=UCBbr(0.03), max_trials=40, seed=0, **options)
        for options in ({}, {"best_possible": 0.0})
    )
    assert known.certificate.stop
    assert len(known.history) <= len(plain.history)
    assert known.value - 0.0 <= 0.05


def test_in_other_units_it_says_the_same() -> None:
    history = random_history(SQUARE, 16, seed=2)
    best = max(history.values) + 0.1
    one = history.told(best_possible=best).certificate(UCBbr(0.1))
    scaled = history.with_values([64.0 * value for value in history.values])
    other = scaled.told(best_possible=64.0 * best).certificate(UCBbr(6.4))
    assert math.isfinite(one.bound)
    assert other.bound == pytest.approx(64.0 * one.bound, rel=1e-6)
    assert other.incumbent == one.incumbent

"""The model check: residuals, what they say, and what becomes of fits and certificates."""

import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from regretstop import (
    GPUCB,
    PRB,
    Certificate,
    DeltaCB,
    Float,
    Matern52,
    OptimalityGap,
    Space,
    SquaredExponential,
    UCBbr,
)
from regretstop.model import Embedding, Fit, GaussianProcess, Kernel, ModelCheck, merge_duplicates
from regretstop.model._likelihood import Hyperparameters
from regretstop.model._model_check import blocks, judge, residuals
from regretstop.model._posterior import GaussianProcessPosterior
from regretstop.rules import Rule
from tests.draws import data_for

NUMERIC = np.array([0, 0])
MIXED = np.array([0, 3, 0])
TREATMENTS = ("map", "posterior")

each_treatment = pytest.mark.parametrize("treatment", TREATMENTS)

# ---- Residuals ---------------------------------------------------------------------------------------------------


def ahead(
    model: Hyperparameters, points: np.ndarray, values: np.ndarray, categories: np.ndarray, kernel: Kernel, i: int
) -> tuple[float, float]:
    """Return mean and variance of value i from a posterior that is fitted to the values before it."""
    earlier, means, repeats, _ = merge_duplicates(points[:i], values[:i], np.ones(i))
    posterior = GaussianProcessPosterior(
        earlier,
        means,
        repeats,
        kernel=kernel,
        embedding=Embedding(categories),
        lengthscales=model.lengthscales,
        prior_std=model.prior_std,
        noise_std=model.noise_std,
        mean=None,
    )
    mean, std = posterior.mean_std(points[i : i + 1])
    return float(mean[0]), float(std[0] ** 2 + model.noise_std**2)


@pytest.mark.parametrize("kernel", [Matern52(), SquaredExponential()])
@pytest.mark.parametrize("categories", [NUMERIC, MIXED])
@pytest.mark.parametrize("start", [1, 2, 9])
@pytest.mark.parametrize("n_models", [1, 2])
def test_residuals_are_those_of_posteriors_refitted_at_each_value(
    kernel: Kernel, categories: np.ndarray, start: int, n_models: int
) -> None:
    """With repeated points; a mixture has the moments of one of its models drawn at random."""
    points, values = data_for(categories, 14, seed=3, n_repeats=4)
    dim = len(categories)
    models = [
        Hyperparameters(np.linspace(0.3, 0.8, dim), 1.3, 0.2),
        Hyperparameters(np.linspace(2.0, 0.4, dim), 0.6, 0.05),
    ][:n_models]
    expected: list[float] = []
    for i in range(start, 14):
        means, variances = np.array([ahead(m, points, values, categories, kernel, i) for m in models]).T
        variance = np.mean(variances + means**2) - np.mean(means) ** 2
        expected.append((values[i] - np.mean(means)) / math.sqrt(variance + 1e-2**2))
    z = residuals(models, points, values, kernel=kernel, embedding=Embedding(categories), start=start)
    assert z == pytest.approx(np.array(expected), rel=1e-8, abs=1e-8)


def test_the_second_value_by_hand() -> None:
    """Under an unknown mean y₂ − y₁ is all that is known: its variance is 2 (s² (1 − ρ) + σ²)."""
    model = Hyperparameters(np.array([0.5]), 2.0, 0.3)
    z = residuals(
        [model],
        np.array([[0.2], [0.7]]),
        np.array([1.0, -0.5]),
        kernel=SquaredExponential(),
        embedding=Embedding(np.array([0])),
        start=1,
    )
    rho = math.exp(-0.5)  # the points are one lengthscale apart
    assert z == pytest.approx([-1.5 / math.sqrt(2.0 * (4.0 * (1.0 - rho) + 0.09) + 1e-4)], rel=1e-12)


def test_a_shift_of_all_values_is_no_evidence() -> None:
    points, values = data_for(NUMERIC, 12)
    model = Hyperparameters(np.array([0.4, 0.6]), 1.0, 0.1)
    one, other = (
        residuals([model], points, shifted, kernel=Matern52(), embedding=Embedding(NUMERIC), start=3)
        for shifted in (values, values + 100.0)
    )
    assert one == pytest.approx(other, abs=1e-9)


def test_errors_that_do_not_matter_are_no_evidence() -> None:
    """A converged search repeats its best value to a thousandth of the spread: no model is wrong for that."""
    points = np.array([[0.0], [1.0], *[[0.5 + 1e-6 * i] for i in range(10)]])
    values = np.array([-1.0, -1.0, *(1.0 + 1e-3 * (-1.0) ** np.arange(10))])
    model = Hyperparameters(np.array([0.5]), 1.0, 0.0)
    z = residuals([model], points, values, kernel=Matern52(), embedding=Embedding(np.array([0])), start=3)
    assert np.max(np.abs(z)) < 0.3


# ---- What they say -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "quantile"), [(1, 3.841), (4, 9.488), (10, 18.307), (30, 43.773)])
def test_the_inflation_is_the_one_of_the_tables(n: int, quantile: float) -> None:
    """χ²_0.95 as printed in any table; all residuals are 3."""
    check = judge(np.full(n, 3.0))
    assert check.n_residuals == n
    assert check.rms == pytest.approx(3.0)
    assert check.inflation == pytest.approx(math.sqrt(9.0 * n / quantile), rel=1e-4)


def test_the_inflation_starts_at_the_quantile() -> None:
    size = math.sqrt(9.488 / 4.0)
    assert judge(np.full(4, 0.999 * size)).inflation == 1.0
    assert judge(np.full(4, 1.001 * size)).inflation == pytest.approx(1.001, rel=1e-4)


def test_without_residuals_nothing_is_said() -> None:
    check = judge(np.zeros(0))
    assert (check.n_residuals, check.inflation, check.remark()) == (0, 1.0, "")
    assert math.isnan(check.rms)


def test_an_overconfident_model_is_told_so() -> None:
    assert ModelCheck(12, 0.9, 1.0).remark() == ""
    assert ModelCheck(12, 2.04, 1.413).remark() == (
        "; the model was overconfident: it missed the last 12 values by 2 times what it expected, "
        "so its deviations count 1.41 times"
    )


sizes = st.lists(st.floats(0.0, 100.0), min_size=1, max_size=40)


@given(sizes, st.floats(1.0, 3.0), st.data())
def test_larger_errors_never_inflate_less(z: list[float], factor: float, data: st.DataObject) -> None:
    values = np.array(z)
    i = data.draw(st.integers(0, len(z) - 1))
    larger = values.copy()
    larger[i] *= factor
    assert 1.0 <= judge(values).inflation <= judge(larger).inflation
    signs = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(z), max_size=len(z))))
    assert judge(signs * values) == judge(values)


@given(st.integers(1, 5000))
def test_blocks_cover_the_last_half_once(n: int) -> None:
    covered = [list(range(max(a, n // 2), b)) for a, b in blocks(n)]
    assert list(itertools.chain(*covered)) == list(range(max(8, n // 2), n))
    assert all(covered)
    assert all(8 <= a <= b <= min(n, 1.25 * a) for a, b in blocks(n))


@given(st.integers(9, 5000), st.integers(1, 500))
def test_what_predicts_a_value_does_not_depend_on_later_ones(n: int, more: int) -> None:
    """Or nothing that was computed before could be used again."""
    starts, later = ({i: a for a, b in blocks(size) for i in range(max(a, size // 2), b)} for size in (n, n + more))
    assert all(starts[i] == later[i] for i in starts.keys() & later.keys())


# ---- A true model is held back as rarely as it should be ---------------------------------------------------------

GRID = np.linspace(0.0, 1.0, 25)[:, None]
NOISE_STD = 0.1
BEFORE = 4


def covariance_on_grid(lengthscale: float) -> np.ndarray:
    r2 = (GRID - GRID.T) ** 2 / lengthscale**2
    return Matern52.correlation(r2)


def held_back(lengthscale: float, believed: float, n_runs: int, seed: int) -> int:
    """Return in how many runs of a UCB search, which knows the truth, a model with another ℓ is held back."""
    rng = np.random.default_rng(seed)
    prior = covariance_on_grid(lengthscale)
    root = np.linalg.cholesky(prior + 1e-10 * np.eye(len(GRID)))
    model = Hyperparameters(np.array([believed]), 1.0, NOISE_STD)
    count = 0
    for _ in range(n_runs):
        f = root @ rng.standard_normal(len(GRID))
        n = BEFORE + int(rng.integers(8, 33))
        mean, covariance = np.zeros(len(GRID)), prior.copy()
        chosen: list[int] = []
        values: list[float] = []
        for _ in range(n):
            i = int(np.argmax(mean + 2.0 * np.sqrt(np.maximum(covariance.diagonal(), 0.0))))
            chosen.append(i)
            values.append(f[i] + NOISE_STD * rng.standard_normal())
            gain = covariance[i] / (covariance[i, i] + NOISE_STD**2)
            mean = mean + gain * (values[-1] - mean[i])
            covariance -= np.outer(gain, covariance[i])
        z = residuals(
            [model], GRID[chosen], np.array(values), kernel=Matern52(), embedding=Embedding(np.array([0])), start=BEFORE
        )
        count += judge(z).inflation > 1.0
    return count


def test_a_true_model_is_held_back_in_one_run_of_twenty() -> None:
    """Although the points follow the values: 2000 searches of 8 to 32 residuals."""
    count = held_back(0.3, 0.3, 2000, seed=0)
    assert binomtest(count, 2000, 0.05).pvalue > 1e-3


def test_a_model_that_is_too_smooth_is_held_back_in_most_runs() -> None:
    assert held_back(0.1, 0.5, 100, seed=1) > 80


# ---- What becomes of a fit ---------------------------------------------------------------------------------------


def fit_of(points: np.ndarray, values: np.ndarray, categories: np.ndarray = NUMERIC, **options: Any) -> Fit:
    """Return the fit of a surrogate that sees these observations and has seen no others."""
    return surrogate(**options).fit(points, values, categories=categories, sign=1.0)


def surrogate(**options: Any) -> GaussianProcess:
    return GaussianProcess(**options)


def changing(n: int = 24, categories: np.ndarray = NUMERIC, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return a smooth function that jumps up and down by half its range after half of the evaluations."""
    rng = np.random.default_rng(seed)
    points, _ = data_for(categories, n, seed)
    values = np.sin(2.0 * points[:, 0]) + 0.5 * points[:, -1] + 0.05 * rng.standard_normal(n)
    values[n // 2 :] += 0.5 * rng.choice([-1.0, 1.0], n - n // 2)
    return points, values


def check_of(fit: Fit) -> ModelCheck:
    assert fit.check is not None
    return fit.check


@each_treatment
@pytest.mark.parametrize("noise_std", ["learned", 0.1, 0.0])
@pytest.mark.parametrize("categories", [NUMERIC, MIXED])
def test_all_deviations_grow_and_all_means_stay(treatment: str, noise_std: Any, categories: np.ndarray) -> None:
    points, values = changing(categories=categories)
    options = {"hyperparameters": treatment, "noise_std": noise_std, "categories": categories}
    checked, unchecked = fit_of(points, values, **options), fit_of(points, values, model_check=False, **options)
    assert unchecked.check is None
    assert check_of(checked).inflation > 1.2
    assert checked.data.values == pytest.approx(unchecked.data.values, abs=0)
    queries, _ = data_for(categories, 50, seed=9)
    assert len(checked.posteriors) == (8 if treatment == "posterior" else 1)
    for one, other in zip(checked.posteriors, unchecked.posteriors, strict=True):
        mean, std = one.mean_std(queries)
        plain_mean, plain_std = other.mean_std(queries)
        assert mean == pytest.approx(plain_mean, rel=1e-8)
        assert std == pytest.approx(check_of(checked).inflation * plain_std, rel=1e-8)
        assert one.prior_std == pytest.approx(check_of(checked).inflation * other.prior_std, rel=1e-12)


def test_the_mode_that_chooses_the_next_point_is_checked_as_without_samples() -> None:
    """Samples admit more, and are inflated by less; the search stays the one at the mode."""
    points, values = changing()
    sampled, at_mode = (fit_of(points, values, hyperparameters=treatment) for treatment in ("posterior", "map"))
    assert 1.0 < check_of(sampled).inflation < check_of(at_mode).inflation
    assert sampled.mode is not None
    queries, _ = data_for(NUMERIC, 20, seed=9)
    for one, other in zip(sampled.mode.mean_std(queries), at_mode.posteriors[0].mean_std(queries), strict=True):
        assert one.tolist() == other.tolist()


@each_treatment
def test_the_check_does_not_depend_on_the_units(treatment: str) -> None:
    points, values = changing()
    plain = check_of(fit_of(points, values, hyperparameters=treatment))
    assert plain.inflation > 1.0
    for other in (1e6 * values, 1e-6 * values + 3e-5, 1e6 * values - 1e7):
        check = check_of(fit_of(points, other, hyperparameters=treatment))
        assert check.rms == pytest.approx(plain.rms, rel=1e-6)
        assert check.inflation == pytest.approx(plain.inflation, rel=1e-6)


@each_treatment
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e6, 0.0), (1.0, 5.0), (1e-6, 1.0)])
def test_nor_where_the_first_values_are_equal(treatment: str, scale: float, shift: float) -> None:
    """Equal values have no scale: a model of them that is taken at its word would predict in arbitrary units."""
    points, values = changing()
    values[:11] = 0.0
    plain = check_of(fit_of(points, values, hyperparameters=treatment))
    check = check_of(fit_of(points, shift + scale * values, hyperparameters=treatment))
    assert check.n_residuals == plain.n_residuals == 11  # from 13, the first block with a value that differs
    assert check.inflation == pytest.approx(plain.inflation, rel=1e-4)


@each_treatment
def test_nor_on_the_sign(treatment: str) -> None:
    points, values = changing()
    one, other = (fit_of(points, v, hyperparameters=treatment) for v in (values, -values))
    assert one.data.n_clipped == other.data.n_clipped == 0
    assert check_of(one).inflation > 1.0
    assert check_of(other).inflation == pytest.approx(check_of(one).inflation, rel=1e-6)


@each_treatment
def test_nor_on_what_was_fitted_before(treatment: str) -> None:
    """Bit for bit: seen one by one, in jumps after another history, or at once."""
    points, values = changing()
    every, some = surrogate(hyperparameters=treatment), surrogate(hyperparameters=treatment)
    for k in range(1, len(values)):
        every.fit(points[:k], values[:k], categories=NUMERIC, sign=1.0)
    some.fit(*changing(seed=1), categories=NUMERIC, sign=1.0)
    some.fit(points[:17], values[:17], categories=NUMERIC, sign=1.0)
    fresh = fit_of(points, values, hyperparameters=treatment)
    assert check_of(fresh).inflation > 1.0
    for carried in (every, some):
        fit = carried.fit(points, values, categories=NUMERIC, sign=1.0)
        assert fit.check == fresh.check
        for one, other in zip(fit.posteriors, fresh.posteriors, strict=True):
            assert [*one.lengthscales, one.prior_std] == [*other.lengthscales, other.prior_std]


def test_what_is_declared_is_not_checked() -> None:
    points, values = changing()
    kernel = Matern52(lengthscales=[2.0, 2.0], outputscale=1.0)
    fit = fit_of(points, values, kernel=kernel, noise_std=0.1, hyperparameters="fixed")
    assert fit.check is None
    assert (fit.posteriors[0].prior_std, fit.posteriors[0].noise_std) == (1.0, 0.1)


@each_treatment
def test_the_last_half_is_judged_under_models_of_what_came_before(treatment: str) -> None:
    """Put together by hand from fits to the first 11, 13, 16 and 19 of 24 values."""
    points, values = changing()
    fit = fit_of(points, values, hyperparameters=treatment)
    z: list[float] = []
    for start, end in ((11, 13), (13, 16), (16, 19), (19, 23), (23, 24)):
        before = fit_of(points[:start], values[:start], hyperparameters=treatment, model_check=False)
        ratio = before.data.scale / fit.data.scale
        believed = [
            Hyperparameters(p.lengthscales, p.prior_std * ratio, p.noise_std * ratio) for p in before.posteriors
        ]
        part = residuals(
            believed, points[:end], fit.data.values[:end], kernel=Matern52(), embedding=Embedding(NUMERIC), start=start
        )
        z += list(part[max(12 - start, 0) :])
    assert len(z) == 12
    expected = judge(np.array(z))
    assert check_of(fit).rms == pytest.approx(expected.rms, rel=1e-9)
    assert check_of(fit).inflation == pytest.approx(expected.inflation, rel=1e-9)


def test_many_observations_are_checked_on_the_part_that_is_fitted() -> None:
    points, values = changing(300)
    checked, unchecked, half = (
        fit_of(points, values),
        fit_of(points, values, model_check=False),
        fit_of(points[::2], values[::2]),
    )
    assert check_of(checked).n_residuals == 75
    assert check_of(checked).inflation > 1.0
    assert checked.check == half.check
    mean, std = checked.posteriors[0].mean_std(points)
    plain_mean, plain_std = unchecked.posteriors[0].mean_std(points)
    assert mean == pytest.approx(plain_mean, rel=1e-8)
    assert std == pytest.approx(check_of(checked).inflation * plain_std, rel=1e-8)


@each_treatment
@pytest.mark.parametrize("n", [1, 5, 8])
def test_eight_observations_or_fewer_have_no_residuals(treatment: str, n: int) -> None:
    points, values = changing()
    check = check_of(fit_of(points[:n], values[:n], hyperparameters=treatment))
    assert (check.n_residuals, check.inflation) == (0, 1.0)


@each_treatment
def test_nine_have_one(treatment: str) -> None:
    points, values = changing()
    assert check_of(fit_of(points[:9], values[:9], hyperparameters=treatment)).n_residuals == 1


@each_treatment
@pytest.mark.parametrize("value", [0.0, 7.0, -1e9])
def test_equal_values_are_no_evidence(treatment: str, value: float) -> None:
    points, _ = data_for(NUMERIC, 20)
    check = check_of(fit_of(points, np.full(20, value), hyperparameters=treatment))
    assert (check.n_residuals, check.inflation) == (0, 1.0)


@each_treatment
@pytest.mark.parametrize(("at", "n_residuals"), [(0, 10), (9, 10), (15, 4), (19, 0)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_value_that_differs_is_no_trouble(treatment: str, at: int, n_residuals: int, sign: float) -> None:
    """What is predicted from equal values alone has no residual: until 16 if the 16th of 20 is the one."""
    points, _ = data_for(NUMERIC, 20)
    values = np.full(20, 3.0)
    values[at] += sign
    fit = fit_of(points, values, hyperparameters=treatment)
    check = check_of(fit)
    assert check.n_residuals == n_residuals
    assert 1.0 <= check.inflation < math.inf
    mean, std = fit.posteriors[0].mean_std(points)
    assert np.all(np.isfinite(mean) & np.isfinite(std))


# ---- What becomes of a certificate -------------------------------------------------------------------------------

SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})
RULES: dict[str, Rule] = {
    "UCBbr": UCBbr(0.1),
    "gap": OptimalityGap(0.1, beta="grid"),
    "calibrated gap": OptimalityGap(0.1, beta=4.0),
    "PRB": PRB(20.0),
    "DeltaCB": DeltaCB(0.1),
}


def told(points: np.ndarray, values: np.ndarray, treatment: str, **options: Any) -> GPUCB:
    optimizer = GPUCB(SQUARE, beta=4.0, surrogate=surrogate(hyperparameters=treatment, **options), seed=0)
    for point, value in zip(points, values, strict=True):
        optimizer.tell(SQUARE.decode(point), float(value))
    return optimizer


@each_treatment
@pytest.mark.parametrize("name", RULES)
def test_a_misfit_makes_every_bound_larger(name: str, treatment: str) -> None:
    points, values = changing()
    checked, unchecked = (
        told(points, values, treatment, model_check=on).certificate(RULES[name]) for on in (True, False)
    )
    assert checked.model.inflation > 1.0
    assert unchecked.bound < checked.bound
    assert unchecked.optimality_gap <= checked.optimality_gap
    if unchecked.optimality_gap > checked.epsilon:  # it is looked for only as far as ε asks
        assert unchecked.optimality_gap < checked.optimality_gap


@each_treatment
@pytest.mark.parametrize("name", RULES)
def test_the_noise_is_named_as_it_was_declared_or_fitted(name: str, treatment: str) -> None:
    """The bound counts it κ times; what a user reads is the noise."""
    declared = told(*changing(), treatment, noise_std=0.1).certificate(RULES[name])
    assert declared.model.inflation > 1.0
    assert declared.noise.noise_std == pytest.approx(0.1, rel=1e-12)
    checked, unchecked = (told(*changing(), treatment, model_check=on).certificate(RULES[name]) for on in (True, False))
    assert checked.model.inflation > 1.0
    assert checked.noise.noise_std == pytest.approx(unchecked.noise.noise_std, rel=1e-12)


@each_treatment
def test_so_does_the_remark_that_noise_alone_keeps_the_bound_up(treatment: str) -> None:
    """Its number of observations follows from the inflated noise, which is what the bound is made of."""
    checked, unchecked = (
        told(*changing(), treatment, noise_std=0.1, model_check=on).certificate(UCBbr(1e-3)) for on in (True, False)
    )
    numbers: list[float] = []
    for certificate in (checked, unchecked):
        found = re.search(r"noise of deviation 0\.1 alone keeps it there until about (\d+) obs", certificate.reason)
        assert found is not None
        numbers.append(float(found[1]) / (certificate.terms["sqrt_alpha"] + certificate.terms["sqrt_eta"]) ** 2)
    assert numbers[0] / numbers[1] == pytest.approx(float(checked.model.inflation) ** 2, rel=1e-3)


@each_treatment
@pytest.mark.parametrize("name", RULES)
def test_a_certificate_tells_of_the_misfit(name: str, treatment: str) -> None:
    optimizer = told(*changing(), treatment)
    certificate, check = optimizer.certificate(RULES[name]), optimizer.snapshot().model.check
    assert check is not None
    assert check.inflation > 1.0
    assert certificate.model.n_residuals == check.n_residuals == 12
    assert certificate.model.residual_rms == check.rms
    assert certificate.model.inflation == check.inflation
    assert certificate.reason.count(check.remark()) == 1
    assert f"its deviations count {check.inflation:.3g} times" in str(certificate)
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


@each_treatment
def test_a_model_that_fits_is_not_remarked_upon(treatment: str) -> None:
    points, _ = data_for(NUMERIC, 24)
    certificate = told(points, np.sin(2.0 * points[:, 0]) + 0.5 * points[:, 1], treatment).certificate(UCBbr(0.1))
    assert certificate.model.n_residuals == 12
    assert certificate.model.inflation == 1.0
    assert "overconfident" not in certificate.reason


def test_without_residuals_the_report_has_none() -> None:
    points, values = changing()
    for optimizer in (told(points[:8], values[:8], "map"), told(points, values, "map", model_check=False)):
        certificate = optimizer.certificate(UCBbr(0.1))
        assert math.isfinite(certificate.bound)
        assert certificate.model is None or (certificate.model.n_residuals, certificate.model.residual_rms) == (0, None)
        assert "overconfident" not in certificate.reason


def test_minimising_the_negative_is_checked_alike() -> None:
    points, values = changing()
    up, down = GPUCB(SQUARE, seed=0), GPUCB(SQUARE, direction="minimize", seed=0)
    for point, value in zip(points, values, strict=True):
        up.tell(SQUARE.decode(point), float(value))
        down.tell(SQUARE.decode(point), -float(value))
    check = up.snapshot().model.check
    assert check is not None
    assert check.inflation > 1.0
    assert down.snapshot().model.check == check

"""Where the risk goes: slope levels by simulation, grids by hand, and a ledger that never overspends."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats.qmc import Sobol

from regretstop import GPUCB, Categorical, Float, Int, Matern52, OptimalityGap, Space, SquaredExponential
from regretstop.bound import RiskLedger, ledger_for, log_n_exact, sloped_axes, theory_sqrt_beta
from regretstop.bound._grid import Grid
from regretstop.bound._risk import log_pi
from regretstop.bound._slopes import kernel_slopes, slope_levels
from regretstop.model import Kernel
from tests.draws import FourierDraws, cube_grid
from tests.effort import examples
from tests.histories import declared

KERNELS: list[type[Kernel]] = [Matern52, SquaredExponential]

each_kernel = pytest.mark.parametrize("kernel", KERNELS)


# ---- Slopes ------------------------------------------------------------------------------------------------------


@lru_cache
def largest_slopes(kernel: type[Kernel], lengthscales: tuple[float, ...], n_draws: int) -> np.ndarray:
    """Return max |∂_j f| over the unit cube, shape (n_draws, d); the frequencies change every 50 draws.

    On a line over a dense grid; beyond, the best of Sobol points is climbed from.
    """
    rng = np.random.default_rng(0)
    dim = len(lengthscales)
    points = cube_grid(dim, 401) if dim == 1 else Sobol(dim, seed=np.random.default_rng(0)).random(512)
    batches: list[np.ndarray] = []
    for _ in range(n_draws // 50):
        draws = FourierDraws(kernel, lengthscales, 50, rng, n_features=512)
        batches.append(np.stack([draws.largest_slopes(points, j) for j in range(dim)], axis=1))
    return np.concatenate(batches)


# Short, long and mixed lengthscales in every dimension.
SLOPE_CASES = [(scale,) * dim for dim in range(1, 7) for scale in (0.15, 2.0)]
SLOPE_CASES += [tuple((0.15, 2.0, 0.5)[j % 3] for j in range(dim)) for dim in range(2, 7)]
USUAL = [case for case in SLOPE_CASES if len(case) <= 2 or case == (0.15, 2.0, 0.5, 0.15)]
each_slope_case = pytest.mark.parametrize(
    "lengthscales",
    [case if case in USUAL else pytest.param(case, marks=pytest.mark.slow) for case in SLOPE_CASES],
    ids=str,
)
# In one process, since the simulations serve two tests.
slopes_are_simulated = pytest.mark.xdist_group("slopes")


def n_simulated(lengthscales: tuple[float, ...]) -> int:
    """Return how many draws to look at: fewer where each is dear."""
    return 400 if len(lengthscales) <= 2 else 100


@slopes_are_simulated
@each_kernel
@each_slope_case
def test_slope_levels_fail_no_more_often_than_they_may(kernel: type[Kernel], lengthscales: tuple[float, ...]) -> None:
    n = n_simulated(lengthscales)
    slopes = largest_slopes(kernel, lengthscales, n)
    for risk in (0.3, 0.05):
        levels = kernel_slopes(kernel(), np.array(lengthscales), 0.0, risk=risk)
        violations = int(np.sum(np.any(slopes > levels, axis=1)))
        assert binomtest(violations, n, risk, alternative="greater").pvalue >= 0.05
        # The levels are loose, but not by an order: they sit inside a logarithm.
        assert np.all(levels < 10.0 * np.mean(slopes, axis=0))


@slopes_are_simulated
@each_kernel
@each_slope_case
def test_expected_suprema_are_bounded(kernel: type[Kernel], lengthscales: tuple[float, ...]) -> None:
    """The level at a risk of d, where τ √(2 log(d/risk)) vanishes, is the bound m_j on the mean itself."""
    dim = len(lengthscales)
    means = largest_slopes(kernel, lengthscales, n_simulated(lengthscales)).mean(axis=0)
    stds = math.sqrt(kernel.curvature) / np.array(lengthscales)
    risk = 0.5
    suprema = kernel_slopes(kernel(), np.array(lengthscales), 0.0, risk=risk) - stds * math.sqrt(
        2.0 * math.log(dim / risk)
    )
    assert np.all(suprema >= means)


@each_kernel
def test_levels_hold_for_all_settings_of_the_other_axes_at_once(kernel: type[Kernel]) -> None:
    """Thirty independent copies, which is the worst that thirty categories can be."""
    slopes = largest_slopes(kernel, (0.3,), 1500).reshape(-1, 30).max(axis=1)
    risk = 0.3
    levels = kernel_slopes(kernel(), np.array([0.3]), math.log(30.0), risk=risk)
    violations = int(np.sum(slopes > levels[0]))
    assert binomtest(violations, len(slopes), risk, alternative="greater").pvalue >= 0.05
    stds = math.sqrt(kernel.curvature) / 0.3
    assert levels[0] - stds * math.sqrt(2.0 * math.log(1.0 / risk)) >= slopes.mean()
    assert levels[0] > kernel_slopes(kernel(), np.array([0.3]), 0.0, risk=risk)[0]


@each_kernel
def test_the_simulation_can_fail(kernel: type[Kernel]) -> None:
    """The paper's a = b = 1, P(sup |∂f| > L) ≤ exp(−L²), is false for these kernels; the same check says so."""
    slopes = largest_slopes(kernel, (0.33, 0.33), 100)
    risk = 0.05
    level = math.sqrt(math.log(2.0 / risk))
    violations = int(np.sum(np.any(slopes > level, axis=1)))
    assert violations > 90
    assert binomtest(violations, 100, risk, alternative="greater").pvalue < 0.05


def test_simulated_slopes_have_the_kernels_deviation() -> None:
    rng = np.random.default_rng(0)
    for kernel in KERNELS:
        draws = FourierDraws(kernel, [0.4, 0.8], 200, rng, n_features=4096)
        point = np.array([[0.3, 0.6]])
        for j, lengthscale in enumerate((0.4, 0.8)):
            std = np.sqrt(np.mean(draws.slopes(point, j) ** 2))
            assert std == pytest.approx(math.sqrt(kernel.curvature) / lengthscale, rel=0.2)
        step = np.array([[1e-6, 0.0]])
        numeric = (draws.values(point + step) - draws.values(point - step)) / 2e-6
        assert draws.slopes(point, 0) == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def test_slope_levels_by_hand() -> None:
    levels = slope_levels(np.array([1.0, 2.0]), np.array([3.0, 5.0]), risk=0.1)
    assert levels == pytest.approx([3.0 + math.sqrt(2 * math.log(20)), 5.0 + 2 * math.sqrt(2 * math.log(20))])


@given(st.floats(0.01, 10.0), st.floats(1.1, 10.0), st.floats(-6.0, -0.1), st.floats(0.01, 3.0))
def test_levels_rise_with_less_risk_and_with_shorter_lengthscales(
    lengthscale: float, factor: float, log_risk: float, step: float
) -> None:
    def level(lengthscale: float, risk: float) -> float:
        return float(kernel_slopes(Matern52(), np.array([lengthscale]), 0.0, risk=risk)[0])

    risk = 10.0**log_risk
    assert level(lengthscale, risk * 10.0**-step) > level(lengthscale, risk)
    assert level(lengthscale, risk) >= level(lengthscale * factor, risk)


@pytest.mark.parametrize("risk", [0.0, 1.0, -0.1, math.nan])
def test_bad_risk(risk: float) -> None:
    with pytest.raises(ValueError, match=rf"risk must be in \(0, 1\), got {risk!r}"):
        slope_levels(np.ones(2), np.ones(2), risk=risk)


# ---- Grids -------------------------------------------------------------------------------------------------------


def grid(slopes: list[float], counts: list[float], n_exact: float = 1.0) -> Grid:
    return Grid(np.array(slopes), np.array(counts), math.log(n_exact))


@pytest.mark.parametrize(
    ("slopes", "counts", "n_exact", "error", "size"),
    [
        # ⌈1 · 8 / (2 · 0.5)⌉ = 8 cells of width 1/8: no point is further than 1/16 from a centre, 8/16 = 0.5 in f.
        ([8.0], [math.inf], 1.0, 0.5, 8),
        ([8.1], [math.inf], 1.0, 0.5, 9),
        # ⌈2 · 3 / 1⌉ · ⌈2 · 5 / 1⌉
        ([3.0, 5.0], [math.inf, math.inf], 1.0, 0.5, 60),
        # One cell at least, however flat.
        ([1e-9], [math.inf], 1.0, 0.5, 1),
        ([1e-9, 5.0], [math.inf, math.inf], 1.0, 0.5, 10),
        # Categories multiply.
        ([8.0], [math.inf], 7.0, 0.5, 56),
        # An integer axis of 5 values is cheaper than its 60 cells, and leaves all of the error to the other axis.
        ([30.0, 5.0], [5.0, math.inf], 1.0, 0.5, 5 * 5),
        # One of 5,000 values is dearer than its 60 cells.
        ([30.0, 5.0], [5000.0, math.inf], 1.0, 0.5, 60 * 10),
        # A billionth of a slope needs one cell, whatever the count.
        ([1e-9], [10_000.0], 1.0, 0.5, 1),
        # 10,000 integers: cells of two values each, or every value where cells would be smaller still.
        ([100.0], [10_000.0], 1.0, 0.01, 5_000),
        ([100.0], [10_000.0], 1.0, 0.001, 10_000),
        # Both exact.
        ([30.0, 50.0], [5.0, 6.0], 1.0, 0.5, 30),
    ],
)
def test_grid_sizes_by_hand(slopes: list[float], counts: list[float], n_exact: float, error: float, size: int) -> None:
    assert grid(slopes, counts, n_exact).log_size(error) == pytest.approx(math.log(size), abs=1e-12)


@examples(60)
@given(
    st.lists(st.tuples(st.floats(0.1, 50.0), st.sampled_from([3, 17, math.inf])), min_size=1, max_size=3),
    st.floats(0.05, 2.0),
    st.integers(0, 2**32 - 1),
)
def test_the_grid_covers_the_space(axes: list[tuple[float, float]], error: float, seed: int) -> None:
    """There is a grid of that many points that leaves no more than the error: build it, and measure."""
    slopes, counts = np.array([a[0] for a in axes]), np.array([a[1] for a in axes])
    log_size = Grid(slopes, counts, 0.0).log_size(error)
    # Every way to make some of the discrete axes exact is a valid grid; the stated size must be one of them.
    sizes: list[float] = []
    discrete = np.flatnonzero(np.isfinite(counts))
    rng = np.random.default_rng(seed)
    for choice in range(2 ** len(discrete)):
        exact = np.zeros(len(axes), dtype=bool)
        exact[discrete] = [bool(choice >> i & 1) for i in range(len(discrete))]
        sloped = ~exact
        cells = np.maximum(np.ceil(np.sum(sloped) * slopes / (2.0 * error)), 1.0)
        points = rng.random((200, len(axes)))
        nearest = np.where(exact, points, (np.minimum(np.floor(points * cells), cells - 1) + 0.5) / cells)
        assert np.all(np.abs(points - nearest) @ slopes <= error * (1 + 1e-9))
        sizes.append(float(np.sum(np.log(np.where(sloped, cells, counts)))))
    assert any(log_size == pytest.approx(size, abs=1e-9) for size in sizes)


@given(st.floats(0.5, 100.0), st.sampled_from([5.0, 2000.0, math.inf]), st.floats(-1.0, 8.0))
def test_the_smooth_stand_in_is_close_and_differentiable(slope: float, count: float, x: float) -> None:
    g = Grid(np.array([slope, 2.0]), np.array([count, math.inf]), math.log(3.0))
    value, derivative = g.smooth(x)
    above, below = g.smooth(x + 1e-6)[0], g.smooth(x - 1e-6)[0]
    assert derivative == pytest.approx((above - below) / 2e-6, abs=1e-5)
    assert abs(value - g.log_size(math.exp(-x))) < 2.0
    assert derivative >= 0.0


def test_finite_grids() -> None:
    assert grid([], [], 12.0).is_finite
    assert grid([], [], 12.0).log_size(0.1) == pytest.approx(math.log(12.0))
    assert not grid([1.0], [math.inf]).is_finite


@pytest.mark.parametrize(("lengthscale", "exact"), [(5.0, False), (0.003, True)])
def test_an_integer_axis_counts_by_the_smaller_of_values_and_cells(lengthscale: float, exact: bool) -> None:
    space = Space({"n": Int(0, 9_999)})
    optimizer = GPUCB(space, seed=0, **declared(space, lengthscale=lengthscale, noise_std=0.01))
    for n in range(0, 10_000, 700):
        optimizer.tell({"n": n}, math.sin(n / 3000.0))
    n_grid = math.exp(float(optimizer.certificate(OptimalityGap(0.1, beta="grid")).terms["log_n_grid"]))
    assert n_grid == pytest.approx(10_000.0) if exact else 100.0 < n_grid < 2_000.0


def test_which_axes_need_a_slope() -> None:
    space = Space(
        {
            "x": Float(0, 1),
            "few": Int(1, 1000),
            "many": Int(0, 1000),
            "step": Float(0, 1, step=0.5),
            "c": Categorical(["a", "b"]),
        }
    )
    assert sloped_axes(space).tolist() == [True, False, True, False, False]
    assert log_n_exact(space) == pytest.approx(math.log(1000 * 3 * 2))
    assert ledger_for(space, 0.1, 10.0).slope_risk == pytest.approx(0.01)
    finite = Space({"c": Categorical(["a", "b"]), "n": Int(0, 3)})
    assert ledger_for(finite, 0.1, 10.0).slope_risk == 0.0
    assert ledger_for(finite, 0.1, 10.0).test_risk == 0.1


# ---- The ledger --------------------------------------------------------------------------------------------------

LEDGERS: Any = st.builds(
    RiskLedger,
    delta=st.floats(1e-9, 0.999),
    n_L=st.one_of(st.floats(1.0001, 1e6), st.just(math.inf)),
    simultaneous=st.booleans(),
)


@given(LEDGERS, st.lists(st.integers(1, 10**6), max_size=300))
def test_the_ledger_never_overspends(ledger: RiskLedger, tests: list[int]) -> None:
    """Whatever tests are made, in any order, repeated or skipped."""
    assert ledger.spent(tests) <= ledger.delta * (1 + 1e-12)


@given(LEDGERS, st.integers(1, 3000))
def test_not_even_when_every_test_is_made(ledger: RiskLedger, last: int) -> None:
    assert ledger.spent(range(1, last + 1)) <= ledger.delta * (1 + 1e-12)
    assert ledger.spent([*range(1, last + 1), 1, 1, last]) == pytest.approx(ledger.spent(range(1, last + 1)))


def test_of_a_stop_each_test_has_all_that_is_not_the_slopes() -> None:
    ledger = RiskLedger(0.1, 10.0)
    assert ledger.slope_risk == pytest.approx(0.01)
    assert [ledger.risk_of(k) for k in (1, 2, 1000)] == pytest.approx([0.09] * 3)
    assert ledger.spent([1000]) == 0.1


def test_an_open_end_approaches_delta() -> None:
    assert math.fsum(math.exp(-log_pi(k)) for k in range(1, 100_000)) == pytest.approx(1.0, abs=1e-4)
    assert RiskLedger(0.1, math.inf, simultaneous=True).spent(range(1, 100_000)) == pytest.approx(0.1, rel=1e-4)


@given(LEDGERS, st.integers(1, 300))
def test_the_risk_of_one_test(ledger: RiskLedger, test: int) -> None:
    share = math.exp(-log_pi(test)) if ledger.simultaneous else 1.0
    assert ledger.risk_of(test) == pytest.approx(ledger.test_risk * share, rel=1e-9)
    assert ledger.spent([test]) == pytest.approx(ledger.slope_risk + ledger.test_risk * share, rel=1e-9)


# ---- β -----------------------------------------------------------------------------------------------------------


@given(st.integers(2, 1000), st.integers(1, 8), st.floats(1e-4, 0.5), st.floats(0.01, 100.0), st.floats(1.0, 5.0))
def test_theory_beta_rises_with_time_and_falls_with_delta(
    t: int, dim: int, delta: float, reach: float, factor: float
) -> None:
    beta = theory_sqrt_beta(t, dim, delta, reach)
    assert theory_sqrt_beta(2 * t, dim, delta, reach) >= beta
    assert theory_sqrt_beta(t, dim, min(delta * factor, 0.99), reach) <= beta
    assert theory_sqrt_beta(t, dim, delta, reach * factor) >= beta

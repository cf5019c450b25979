"""Do certificates hold as often as they say? GP-UCB on draws of the very prior that it declares.

A false certificate is a bound below the true regret of its incumbent, at any test along a path. A path has one or
none, with probability at most δ. The tests fail if the number of paths with one is more than chance explains at the
95 % level, and the same simulation with a prior of a third of the true deviation must fail them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import cholesky
from scipy.optimize import minimize
from scipy.stats import binomtest

from regretstop import GPUCB, Categorical, Float, Int, Matern52, OptimalityGap, Space, SquaredExponential, UCBbr
from regretstop.model import Kernel
from tests import oracle
from tests.draws import FourierDraws, cube_grid
from tests.histories import FINITE, declared, random_history

DELTA = 0.1
NOISE_STD = 0.1
LENGTHSCALE = 0.3
CORRELATIONS = {Matern52: oracle.matern52, SquaredExponential: oracle.squared_exponential}


@dataclass(frozen=True)
class Objective:
    """A draw of the prior: its noise-free value at encoded points, shape (m, d), and its maximum over the space."""

    values: Callable[[np.ndarray], np.ndarray]
    maximum: float


def finite_draws(space: Space, kernel: type[Kernel], n: int, rng: np.random.Generator) -> list[Objective]:
    """Exact draws at all points of a finite space."""
    points = space.enumerate()
    lengthscales = np.full(space.dim, LENGTHSCALE)
    K = oracle.covariance(points, points, CORRELATIONS[kernel], lengthscales, space.categories, 1.0)
    draws = cholesky(K + 1e-10 * np.eye(len(K)), lower=True) @ rng.standard_normal((len(K), n))

    def objective(values: np.ndarray) -> Objective:
        table = {tuple(point): value for point, value in zip(points, values, strict=True)}
        return Objective(lambda x: np.array([table[tuple(point)] for point in x]), float(values.max()))

    return [objective(values) for values in draws.T]


def continuous_draws(space: Space, kernel: type[Kernel], n: int, rng: np.random.Generator) -> list[Objective]:
    """Draws by random Fourier features, each of its own frequencies; the maximum on a grid, then by ascent."""
    grid = cube_grid(space.dim, {1: 501, 2: 61}[space.dim])
    objectives: list[Objective] = []
    for _ in range(n):
        draw = FourierDraws(kernel, [LENGTHSCALE] * space.dim, 1, rng, n_features=512)
        values = draw.values(grid)[:, 0]
        best = minimize(
            lambda x, draw=draw: -float(draw.values(x[None])[0, 0]),
            grid[int(np.argmax(values))],
            bounds=[(0.0, 1.0)] * space.dim,
        )
        objectives.append(Objective(lambda x, draw=draw: draw.values(x)[:, 0], max(float(values.max()), -best.fun)))
    return objectives


def false_certificates(
    space: Space, kernel: type[Kernel], objective: Objective, beta: Any, seed: int, n_tests: int, prior_std: float
) -> tuple[bool, bool]:
    """Run one path, and return whether UCBbr and the optimality gap were false at any of its tests."""
    options = declared(space, kernel=kernel, lengthscale=LENGTHSCALE, outputscale=prior_std**2, noise_std=NOISE_STD)
    optimizer = GPUCB(space, beta=beta, seed=seed, n_initial=3, **options)
    noise = np.random.default_rng(seed)
    truth: list[float] = []
    failed, gap_failed = False, False
    for n in range(1, n_tests + 3):
        params = optimizer.ask()
        truth.append(float(objective.values(space.encode(params)[None])[0]))
        optimizer.tell(params, truth[-1] + NOISE_STD * float(noise.standard_normal()))
        if n < 3:
            continue
        certificate = optimizer.certificate(UCBbr(0.1, DELTA, simultaneous=True))
        gap = optimizer.certificate(OptimalityGap(0.1, DELTA, simultaneous=True, beta="grid"))
        assert certificate.guarantee == gap.guarantee == "theorem"
        assert certificate.incumbent is not None
        assert gap.incumbent is not None
        failed |= certificate.bound < objective.maximum - truth[certificate.incumbent]
        gap_failed |= gap.bound < objective.maximum - truth[gap.incumbent]
    return failed, gap_failed


@dataclass(frozen=True)
class Case:
    """One simulation; its paths take the betas in turn."""

    space: Space
    kernel: type[Kernel]
    draw: Callable[[Space, type[Kernel], int, np.random.Generator], list[Objective]]
    n_tests: int
    betas: tuple[str, ...] = ("theory", "matched")


THIRTY = Case(Space({"x": Int(0, 29)}), Matern52, finite_draws, 8)
EIGHT_BY_EIGHT = Case(Space({"x": Int(0, 7), "y": Int(0, 7)}), SquaredExponential, finite_draws, 8)
CASES = {
    "30 integers, theory": replace(THIRTY, betas=("theory",)),
    "30 integers, matched": replace(THIRTY, betas=("matched",)),
    "8 by 8 integers, theory": replace(EIGHT_BY_EIGHT, betas=("theory",)),
    "8 by 8 integers, matched": replace(EIGHT_BY_EIGHT, betas=("matched",)),
    "a line": Case(Space({"x": Float(0, 1)}), SquaredExponential, continuous_draws, 4),
    "a square": Case(Space({"x": Float(0, 1), "y": Float(0, 1)}), Matern52, continuous_draws, 3),
}


def count(case: Case, n: int, prior_std: float = 1.0) -> tuple[int, int]:
    """Return how many of n paths have a false certificate: by UCBbr, and by the optimality gap."""
    objectives = case.draw(case.space, case.kernel, n, np.random.default_rng(20240229))
    failures = [
        false_certificates(
            case.space, case.kernel, objective, case.betas[i % len(case.betas)], i, case.n_tests, prior_std
        )
        for i, objective in enumerate(objectives)
    ]
    return sum(f for f, _ in failures), sum(g for _, g in failures)


def is_consistent(failures: int, n: int, risk: float = DELTA, level: float = 0.05) -> bool:
    """Return whether so many failures of n are no surprise, at this level, if each has at most this probability."""
    return bool(binomtest(failures, n, risk, alternative="greater").pvalue >= level)


@pytest.mark.parametrize("n", [40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_false_certificates_are_as_rare_as_promised(name: str, n: int) -> None:
    failures, gap_failures = count(CASES[name], n)
    print(f"{name}: false by UCBbr {failures}, by the optimality gap {gap_failures}, of {n} paths (δ = {DELTA})")
    assert is_consistent(failures, n)
    assert is_consistent(gap_failures, n)


@pytest.mark.parametrize("name", ["30 integers, theory", "8 by 8 integers, matched", "a line", "a square"])
def test_the_simulation_can_fail(name: str) -> None:
    """A prior of a tenth of the true deviation makes both rules overclaim, and the same check sees it."""
    n = 30
    failures, gap_failures = count(CASES[name], n, prior_std=0.1)
    print(f"{name}, overconfident: false by UCBbr {failures}, by the optimality gap {gap_failures}, of {n} paths")
    assert not is_consistent(failures, n)
    assert not is_consistent(gap_failures, n)


@pytest.mark.slow
def test_a_prior_of_a_third_of_the_deviation_is_enough_to_fail_the_gap() -> None:
    _, gap_failures = count(EIGHT_BY_EIGHT, 100, prior_std=1 / 3)
    print(f"8 by 8 integers, a third of the deviation: false by the optimality gap {gap_failures} of 100")
    assert not is_consistent(gap_failures, 100)


# ---- The one that ends a search ----------------------------------------------------------------------------------

# In prior deviations: what all searches of two dozen evaluations get down to.
EPSILON = 0.3


def count_stops(case: Case, n: int, lengthscale: float = LENGTHSCALE) -> dict[str, tuple[int, int]]:
    """Return how many of n searches each rule ended, and how many of these falsely; every search is looked at alone."""
    rules = {"UCBbr": UCBbr(EPSILON, DELTA), "OptimalityGap": OptimalityGap(EPSILON, DELTA, beta="grid")}
    counts = dict.fromkeys(rules, (0, 0))
    options = declared(case.space, kernel=case.kernel, lengthscale=lengthscale, noise_std=NOISE_STD)
    for seed, objective in enumerate(case.draw(case.space, case.kernel, n, np.random.default_rng(7))):
        optimizer = GPUCB(case.space, beta=case.betas[seed % len(case.betas)], seed=seed, n_initial=3, **options)
        noise, truth, ended = np.random.default_rng(seed), [], set()
        for _ in range(case.n_tests):
            params = optimizer.ask()
            truth.append(float(objective.values(case.space.encode(params)[None])[0]))
            optimizer.tell(params, truth[-1] + NOISE_STD * float(noise.standard_normal()))
            for name, rule in rules.items():
                certificate = optimizer.certificate(rule)
                if name in ended or not certificate.stop:
                    continue
                ended.add(name)
                assert certificate.incumbent is not None
                is_false = objective.maximum - truth[certificate.incumbent] > EPSILON
                counts[name] = counts[name][0] + 1, counts[name][1] + is_false
    return counts


ENDING = replace(THIRTY, n_tests=24)


@pytest.mark.parametrize("n", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_searches_end_by_a_false_certificate_as_rarely_as_promised(n: int) -> None:
    """Each test takes the whole of δ, after every observation, and still no more than δ of the searches end falsely."""
    counts = count_stops(ENDING, n)
    print(f"ended, falsely: {counts} of {n} (δ = {DELTA})")
    for ended, false in counts.values():
        assert ended >= n / 2
        assert is_consistent(false, n)


def test_the_simulation_of_stops_can_fail() -> None:
    """A kernel that is far too smooth makes both rules overclaim, and the same check sees it."""
    counts = count_stops(ENDING, 30, lengthscale=2.0)
    print(f"overconfident: ended, falsely: {counts} of 30")
    for _, false in counts.values():
        assert not is_consistent(false, 30)


# ---- One certificate, given its data -----------------------------------------------------------------------------


@pytest.mark.parametrize("beta", ["theory", "matched"])
@pytest.mark.parametrize("name", FINITE)
def test_given_the_data_a_certificate_fails_no_more_often_than_its_test_may(name: str, beta: str) -> None:
    """On a finite space the risk of one test is conditional on the data: draw f from its posterior.

    That is δ itself; the union bound is nearly tight here.
    """
    space, delta, n_samples, n_histories = FINITE[name], 0.3, 2000, 15
    rng = np.random.default_rng(1)
    everything = space.enumerate()
    worst = {"bound": 0, "optimality_gap": 0}
    for seed in range(n_histories):
        history = random_history(space, 3, seed)
        certificate = history.told(beta=beta, **declared(space)).certificate(UCBbr(0.1, delta))
        points = np.array([space.encode(params) for params in history.params])
        numbers: Any = {"lengthscales": np.full(space.dim, 0.3), "categories": space.categories, "prior_std": 1.0}
        K = oracle.covariance(points, points, oracle.matern52, **numbers) + 0.01 * np.eye(3)
        cross = oracle.covariance(everything, points, oracle.matern52, **numbers)
        mean = cross @ np.linalg.solve(K, np.array(history.values))
        covariance = oracle.covariance(everything, everything, oracle.matern52, **numbers)
        covariance -= cross @ np.linalg.solve(K, cross.T)
        samples = rng.multivariate_normal(mean, covariance, size=n_samples, method="cholesky")
        for kind, number in (
            ("bound", certificate.incumbent),
            ("optimality_gap", certificate.optimality_gap_incumbent),
        ):
            assert number is not None
            at = int(np.flatnonzero(np.all(np.isclose(everything, points[number]), axis=1))[0])
            regrets = samples.max(axis=1) - samples[:, at]
            worst[kind] = max(worst[kind], int(np.sum(regrets > getattr(certificate, kind))))
    print(f"{name}, beta={beta}: of {n_samples} at δ = {delta}, at worst false {worst}")
    for failures in worst.values():
        assert is_consistent(failures, n_samples, delta, level=0.05 / n_histories)


def test_one_certificate_is_nearly_tight_on_two_points() -> None:
    """Half of the two-sided risk of a far, unobserved point is really run: nothing is wasted by a factor."""
    space = Space({"c": Categorical(["seen", "unseen"])})
    delta, rng = 0.2, np.random.default_rng(0)
    optimizer = GPUCB(space, seed=0, **declared(space, noise_std=1e-3))  # categories at 1/ℓ: nearly independent
    for _ in range(3):
        optimizer.tell({"c": "seen"}, 0.0)
    bound = optimizer.certificate(OptimalityGap(0.1, delta, beta="grid")).bound
    rho = float(oracle.matern52(np.array([1.0 / 0.3**2]))[0])
    unseen = math.sqrt(1.0 - rho**2) * rng.standard_normal(20_000)
    failures = int(np.sum(np.maximum(unseen, 0.0) > bound))
    assert is_consistent(failures, 20_000, delta)
    assert failures > 0.4 * delta * 20_000

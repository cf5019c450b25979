"""A surrogate of one's own: what the core asks of it, and what it says where the slopes of the kernel are not known."""

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from regretstop import (
    GPUCB,
    AcquisitionThreshold,
    Certificate,
    DeltaCB,
    DeltaES,
    Matern52,
    OptimalityGap,
    Rule,
    Space,
    Surrogate,
    UCBbr,
    minimize,
)
from regretstop.model import Fit, GaussianProcess, Posterior
from tests.histories import FINITE, INFINITE, SPACES, random_history

RULES = [UCBbr(0.1), OptimalityGap(0.1, beta="grid"), UCBbr(0.1, a=1.0, b=2.0)]
each_rule = pytest.mark.parametrize("rule", RULES, ids=["UCBbr", "OptimalityGap", "UCBbr with a and b"])
each_beta = pytest.mark.parametrize("beta", [4.0, "theory", "matched"])


class Anonymous:
    """A posterior that does not tell its kernel."""

    kernel = None

    def __init__(self, posterior: Posterior) -> None:
        self.known = posterior
        self.prior_std, self.noise_std, self.jitter = posterior.prior_std, posterior.noise_std, posterior.jitter
        self.lengthscales = posterior.lengthscales
        self.mean_std, self.mean_std_gradient = posterior.mean_std, posterior.mean_std_gradient

    def condition_on(self, points: np.ndarray, values: np.ndarray | None = None) -> "Anonymous":
        return Anonymous(self.known.condition_on(points, values))


class Unknown:
    """The native surrogate, saying less."""

    def __init__(self, **options: Any) -> None:
        self.native = GaussianProcess(**options)
        self.guarantee = self.native.guarantee
        self.n_estimated = self.native.n_estimated

    def fit(self, points: np.ndarray, values: np.ndarray, *, categories: np.ndarray, sign: float) -> Fit:
        fit = self.native.fit(points, values, categories=categories, sign=sign)
        return replace(fit, posteriors=tuple(Anonymous(p) for p in fit.posteriors))


def test_one_surrogate_serves_several_spaces() -> None:
    """Its caches are about the data that it is shown, not about who asked last."""
    shared = GaussianProcess()
    spaces = [SPACES["a square"], SPACES["a line and categories"], SPACES["a table"]]
    histories = [random_history(space, 12, seed=1) for space in spaces]
    together = [history.told(surrogate=shared) for history in histories]
    for _ in range(2):
        for history, optimizer in zip(histories, together, strict=True):
            alone = history.told(surrogate=GaussianProcess())
            optimizer.replace_history([])
            optimizer.replace_history(alone.history)
            assert optimizer.certificate(UCBbr(0.1)) == alone.certificate(UCBbr(0.1))


def test_minimize_takes_it() -> None:
    space = INFINITE["a line"]
    results = [
        minimize(lambda p: (p["x"] - 0.3) ** 2, space, rule=UCBbr(0.05), max_trials=9, seed=0, **options)
        for options in ({}, {"surrogate": GaussianProcess()})
    ]
    assert results[0] == results[1]


# ---- Slopes that are not known -----------------------------------------------------------------------------------


def without_paths(certificate: Certificate) -> Certificate:
    """The certificate without what derivatives and posterior paths say, which a surrogate need not have."""
    gap = replace(certificate.gap, bound=math.inf, incumbent=None)
    return replace(certificate, left=None, expected_regret=None, gap=gap)


@each_beta
@each_rule
@pytest.mark.parametrize("name", FINITE)
def test_a_finite_space_needs_no_slope(name: str, rule: Rule, beta: Any) -> None:
    history = random_history(FINITE[name], 8, seed=2)
    known = history.told(beta=beta, surrogate=GaussianProcess())
    unknown = history.told(beta=beta, surrogate=Unknown())
    assert without_paths(unknown.certificate(rule)) == without_paths(known.certificate(rule))
    assert math.isfinite(unknown.certificate(OptimalityGap(0.1, beta="grid")).bound)
    assert unknown.ask() == known.ask()


@each_beta
@pytest.mark.parametrize("rule", RULES[:2], ids=["UCBbr", "OptimalityGap"])
@pytest.mark.parametrize("name", INFINITE)
def test_nothing_is_certified_on_a_continuous_axis(name: str, rule: Rule, beta: Any) -> None:
    history = random_history(INFINITE[name], 12, seed=2)
    certificate = history.told(beta=beta, surrogate=Unknown()).certificate(rule)
    assert certificate.bound == certificate.optimality_gap == math.inf
    assert not certificate.stop
    assert "slope of draws of this kernel is not known" in certificate.reason
    assert (certificate.n_observations, certificate.guarantee) == (12, "model")


@each_beta
@pytest.mark.parametrize("name", INFINITE)
def test_a_declared_lipschitz_assumption_is_enough_for_the_papers_rule(name: str, beta: Any) -> None:
    """Its bound is that of a known kernel, which it does not look at; the certified gap does, and is left out."""
    history = random_history(INFINITE[name], 12, seed=2)
    rule = UCBbr(0.1, a=1.0, b=2.0)
    known = history.told(beta=beta, surrogate=GaussianProcess()).certificate(rule)
    unknown = history.told(beta=beta, surrogate=Unknown()).certificate(rule)
    assert unknown.optimality_gap == math.inf
    assert "Certified optimality gap: none." in str(unknown)
    assert unknown.bound < math.inf
    assert without_paths(unknown) == without_paths(known)


@each_beta
@pytest.mark.parametrize("name", INFINITE)
def test_the_search_goes_on_without_slopes(name: str, beta: Any) -> None:
    history = random_history(INFINITE[name], 8, seed=4)
    optimizer = history.told(beta=beta, surrogate=Unknown())
    for _ in range(3):
        assert history.space.contains(optimizer.ask())


def test_theory_without_slopes_is_the_width_of_a_space_without_sloped_axes() -> None:
    """β = 2 log(4 π_t |settings| / δ), t = 9: the maximiser among the candidates has that width's value."""
    history = random_history(INFINITE["a line and categories"], 8, seed=4)
    asked = history.told(beta="theory", surrogate=Unknown()).ask()
    beta = 2.0 * math.log(4.0 * (math.pi**2 * 9**2 / 6.0) * 2 / 0.05)
    assert asked == history.told(beta=beta, surrogate=Unknown()).ask()


# ---- Wrong use ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["native", Matern52(), GaussianProcess, Unknown])
def test_what_is_no_surrogate(wrong: Any) -> None:
    with pytest.raises(ValueError, match="surrogate must have guarantee, n_estimated and fit"):
        GPUCB(INFINITE["a line"], surrogate=wrong)


def test_what_does_not_go_with_the_space_is_reported_before_work_starts() -> None:
    two_scales = {"kernel": Matern52([0.3, 0.3], 1.0), "noise_std": 0.1, "hyperparameters": "fixed"}
    optimizer = GPUCB(INFINITE["a line"], surrogate=Unknown(**two_scales))
    for act in (optimizer.ask, lambda: optimizer.certificate(UCBbr(0.1))):
        with pytest.raises(ValueError, match=r"one number per free axis \(1\), got \(0\.3, 0\.3\)"):
            act()


def test_the_fewest_observations_are_the_surrogates_affair() -> None:
    """This one estimates eight numbers in one dimension, and nine observations are one more."""
    space: Space = INFINITE["a line"]
    surrogate = Unknown()
    surrogate.n_estimated = lambda categories: 7 + len(categories)
    assert isinstance(surrogate, Surrogate)
    certificate = random_history(space, 8, seed=0).told(surrogate=surrogate).certificate(UCBbr(0.1, a=1.0, b=1.0))
    assert certificate.reason == (
        "too few observations: 8 of at least 9, one more than the 8 numbers that the model estimates from them"
    )
    assert random_history(space, 9, seed=0).told(surrogate=surrogate).certificate(UCBbr(0.1, a=1.0, b=1.0)).terms


def test_it_is_pickled_with_the_optimizer() -> None:
    optimizer = random_history(INFINITE["a square"], 8, seed=0).told(surrogate=GaussianProcess())
    certificate = optimizer.certificate(UCBbr(0.1))
    copied = pickle.loads(pickle.dumps(optimizer))
    assert copied.certificate(UCBbr(0.1)) == certificate
    assert copied.ask() == optimizer.ask()


def test_rules_that_need_no_slopes_and_one_that_looks_back() -> None:
    """ΔCB and EI ask for mean and deviation only; ΔES for a posterior that can take an observation back."""
    history = random_history(SPACES["a square"], 9, seed=2)
    optimizer = history.told(surrogate=Unknown())
    native = history.told(surrogate=GaussianProcess())
    for rule in (DeltaCB(0.1), AcquisitionThreshold(0.1)):
        certificate = optimizer.certificate(rule)
        assert certificate.bound == native.certificate(rule).bound
        assert (certificate.optimality_gap, certificate.optimality_gap_incumbent) == (math.inf, None)
        assert certificate.left is None
    certificate = optimizer.certificate(DeltaES(0.1))
    assert certificate.bound == math.inf
    assert "cannot take an observation back" in certificate.reason

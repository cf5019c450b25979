"""Exceedance sampling: which points it chooses, when, and for which ε."""

import math
from typing import Any

import numpy as np
import pytest

from regretstop import GPUCB, AcquisitionThreshold, Float, GaussianProcess, Int, OptimalityGap, Rule, Space, minimize
from regretstop.model._posterior import GaussianProcessPosterior
from regretstop.search import exceeding_point
from tests.histories import FINITE, SPACES, History, declared, random_history


def test_it_draws_from_the_maximisers_of_paths_that_exceed() -> None:
    """Against draws of the exact joint posteriors of a finite space, where one of two models seldom exceeds."""
    history, epsilon = random_history(FINITE["twelve integers"], 5, seed=1), 0.2
    told = [history.told(**declared(history.space, lengthscale=ell)).snapshot() for ell in (0.1, 0.3)]
    maximizers = [snapshot.model.maximizers[0] for snapshot in told]
    points = history.space.enumerate()
    at_points, at_data = (
        np.array([s.posterior.mean_std(where)[0] for s in maximizers]) for where in (points, told[0].data.points)
    )
    best = int(np.argmin(np.abs(points[:, 0] - told[0].data.points[np.argmax(at_data.mean(axis=0)), 0])))
    rng = np.random.default_rng(0)
    counts = np.zeros((2, len(points)))
    for k, search in enumerate(maximizers):
        assert isinstance(search.posterior, GaussianProcessPosterior)
        draws = rng.multivariate_normal(at_points[k], search.posterior.covariance(points), 20_000)
        exceeding = draws[np.max(draws, axis=1) - draws[:, best] > epsilon]
        counts[k] = np.bincount(np.argmax(exceeding, axis=1), minlength=len(points))
    assert counts[1].sum() < 0.5 * counts[0].sum()

    n = 500
    chosen = np.array([exceeding_point(maximizers, told[0].data.points, lambda _: epsilon, rng) for _ in range(n)])
    found = np.bincount(np.argmin(np.abs(points - chosen[:, 0]), axis=0), minlength=len(points))
    distance = 0.5 * np.sum(np.abs(found / n - counts.sum(axis=0) / counts.sum()))
    assert distance < 0.1  # about 0.04 is chance


def asked(history: History, **options: Any) -> dict[str, Any]:
    return history.told(**declared(history.space), **options).ask()


def test_an_exceedance_that_no_path_reaches_changes_nothing() -> None:
    for n in (7, 8):
        history = random_history(SPACES["a square"], n, seed=0)
        assert asked(history, exceedance=100.0) == asked(history)


def test_every_other_point_comes_from_a_path() -> None:
    history = random_history(SPACES["a square"], 7, seed=0)
    even = random_history(SPACES["a square"], 8, seed=0)
    assert asked(history, exceedance=0.1) != asked(history)
    assert asked(history, exceedance=0.1) == asked(history, exceedance=0.1)
    assert asked(even, exceedance=0.1) == asked(even)


def test_it_looks_where_something_better_may_be() -> None:
    """Of two regions UCB with β = 0 exploits the known one; paths that exceed have their maxima in the other."""
    space = Space({"x": Float(0, 1)})
    xs = [0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24]
    history = History(space, [{"x": x} for x in xs], [1.0 - abs(x - 0.12) for x in xs])
    options = declared(space, lengthscale=0.2, noise_std=1e-3) | {"beta": 0.0}
    assert history.told(**options).ask()["x"] < 0.3
    assert history.told(exceedance=0.2, **options).ask()["x"] > 0.3


def test_under_samples_its_paths_are_those_of_all_samples_and_the_other_points_those_of_the_mode() -> None:
    history, epsilon = random_history(SPACES["a square"], 9, seed=0), 0.1
    sampled = history.told(surrogate=GaussianProcess(hyperparameters="posterior"), exceedance=epsilon)
    snapshot = sampled.snapshot()
    assert len(snapshot.model.maximizers) == 8
    rng = np.random.default_rng([0, 9, 0])
    point = exceeding_point(
        snapshot.model.maximizers, snapshot.data.points, lambda _: epsilon / snapshot.model.scale, rng
    )
    assert point is not None
    asked_for = sampled.ask()
    assert asked_for == history.space.decode(point)
    assert asked_for != history.told(surrogate=GaussianProcess(hyperparameters="map"), exceedance=epsilon).ask()
    constant = (
        history.told(surrogate=GaussianProcess(hyperparameters=treatment), exceedance=None).ask()
        for treatment in ("posterior", "map")
    )
    assert next(constant) == next(constant)


def test_pending_and_failed_points_are_kept_away_from() -> None:
    """On four points with one good one known, running and failed ones leave the last."""
    space = Space({"x": Int(0, 3)})
    optimizer = GPUCB(space, seed=0, n_initial=1, exceedance=0.1, **declared(space, lengthscale=0.05, noise_std=1e-3))
    optimizer.tell({"x": 0}, 0.0)
    optimizer.tell({"x": 1}, math.nan)
    optimizer.tell({"x": 0}, 0.0)
    seen = {optimizer.ask()["x"], optimizer.ask()["x"]}
    assert seen == {2, 3}


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "0.1", True])
def test_bad_exceedances_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^exceedance must be a positive number, got {value!r}$"):
        GPUCB(SPACES["a line"], exceedance=value)
    with pytest.raises(ValueError, match=rf"^epsilon must be a positive number, got {value!r}$"):
        GPUCB(SPACES["a line"]).ask(epsilon=value)


@pytest.mark.parametrize(
    ("options", "sought"),
    [
        ({}, 0.1),
        ({"exceedance": "rule"}, 0.1),
        ({"exceedance": None}, None),
        ({"exceedance": 0.2}, 0.2),
        ({"beta": "theory"}, None),
        ({"beta": "matched"}, None),
        ({"beta": "matched", "exceedance": 0.2}, 0.2),
    ],
)
def test_the_epsilon_that_it_is_asked_with_counts_by_the_rule_only(
    options: dict[str, Any], sought: float | None
) -> None:
    history = random_history(SPACES["a square"], 7, seed=0)
    options |= declared(history.space)
    optimizer = history.told(**options)
    assert optimizer.needs_epsilon == (sought == 0.1)
    assert optimizer.ask(epsilon=0.1) == history.told(**options | {"exceedance": sought}).ask()


@pytest.mark.parametrize(
    ("rule", "options", "sought"),
    [
        (OptimalityGap(0.01, beta="grid"), {}, 0.01),
        (OptimalityGap(0.01, beta="grid"), {"exceedance": None}, None),
        (OptimalityGap(0.01, beta="grid"), {"exceedance": 0.1}, 0.1),
        (OptimalityGap(0.01, beta="grid"), {"beta": "matched"}, None),
        (AcquisitionThreshold(1e-9), {}, None),
    ],
)
def test_a_loop_looks_for_what_its_rule_would_not_stop_for(
    rule: Rule, options: dict[str, Any], sought: float | None
) -> None:
    def bumps(params: dict[str, Any]) -> float:
        return -math.sin(9.0 * params["x"]) - params["x"]

    space = SPACES["a line"]
    result = minimize(bumps, space, rule=rule, max_trials=8, seed=0, **options)
    optimizer = GPUCB(space, direction="minimize", seed=0, **options | {"exceedance": sought})
    for observation in result.history:
        assert optimizer.ask() == observation.params
        optimizer.tell(observation.params, observation.value)

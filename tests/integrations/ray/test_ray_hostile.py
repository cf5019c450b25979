"""Bad and extreme inputs, as they reach the searcher and the stopper."""

import math

import numpy as np
import pytest
from ray import tune
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of

from regretstop import GaussianProcess, OptimalityGap, UCBbr
from tests.integrations.ray.objectives import value
from tests.integrations.ray.test_ray_complaints import over
from tests.integrations.ray.test_ray_search import result, run, searcher


def decided(values_of, epsilon, n=9):
    """Run n trials; return their configurations and the bounds, in units of ε."""
    search = searcher()
    stopper = RegretBoundStopper(search, rule=OptimalityGap(epsilon, beta="grid"))
    configs, bounds = [], []
    for i in range(n):
        configs += run(search, 1, f=values_of, first=i)
        stopper.stop_all()
        bounds.append(certificate_of(stopper).bound / epsilon)
    return configs, bounds, certificate_of(stopper)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_trials(n):
    search = searcher()
    stopper = RegretBoundStopper(search, epsilon=100.0)
    run(search, n)
    assert not stopper.stop_all()
    if n == 0:
        assert certificate_of(stopper) is None
    else:
        assert certificate_of(stopper).bound == math.inf
        assert "too few observations" in certificate_of(stopper).reason
    assert isinstance(search.suggest("next"), dict)


@pytest.mark.parametrize(("around", "spread"), [(1.0, 0.0), (1.0, 1e-13), (0.0, 1e-322)])
def test_values_that_differ_by_rounding_only_are_not_taken_for_a_flat_function(around, spread):
    configs, bounds, certificate = decided(lambda c: around + spread * c["x"], 1e-3)
    assert len(configs) == 9
    assert all(map(math.isinf, bounds))
    assert "all values are equal" in certificate.reason


@pytest.mark.parametrize(("scale", "shift"), [(1e200, 0.0), (1e-200, 0.0), (1.0, 1e4), (0.1, 72.0), (1.0, 1e8)])
def test_scaled_and_shifted_values_lead_to_the_same_decisions(scale, shift):
    plain, plain_bounds, _ = decided(value, 0.1)
    configs, bounds, _ = decided(lambda c: scale * value(c) + shift, 0.1 * scale)
    tolerance = 1e-6 if shift < 1e8 else 0.2  # 1e8 leaves eight digits of the values
    assert np.allclose([c["x"] for c in configs], [c["x"] for c in plain], atol=tolerance)
    assert np.allclose(bounds, plain_bounds, rtol=10 * tolerance)


def test_one_bad_outlier_does_not_hide_good_values():
    search = searcher()
    run(search, 1, f=lambda _: 1e6)
    assert min(map(value, run(search, 25, first=1))) < 0.01


def test_one_good_outlier_is_what_the_search_is_for():
    search = searcher()
    run(search, 1, f=lambda _: -1e6)
    stopper = RegretBoundStopper(search, epsilon=0.1)
    run(search, 12, first=1)
    assert not stopper.stop_all()
    assert certificate_of(stopper).trial_id == "trial-0"


def test_the_same_search_with_another_offset_stops_at_the_same_trial():
    """Percentages, and losses that are far from zero: what is decided does not depend on the offset."""
    ends = []
    for offset in (0.0, 72.0, 1e4):
        search = searcher()
        stopper = RegretBoundStopper(search, epsilon=0.02)
        configs = run(search, 40, f=lambda c, offset=offset: value(c) + offset)
        certificate = certificate_of(stopper)
        assert certificate.stop
        ends.append((len(configs), certificate.trial_id, certificate.config["model"]["k"]))
    assert ends == ends[:1] * 3


def test_points_as_close_as_rounding_allows():
    search = searcher()
    for i in range(12):
        search.add_evaluated_point({"x": 0.5 + 1e-9 * i, "model": {"k": 0}}, 0.04)
    run(search, 4)
    stopper = RegretBoundStopper(search, epsilon=1e-9)
    stopper.stop_all()
    assert certificate_of(stopper).n_observations == 16


def test_a_small_finite_space_is_certified_by_enumeration():
    search = over({"a": tune.choice(["p", "q"]), "b": tune.randint(0, 2)}, surrogate=GaussianProcess(noise_std=0.0))
    stopper = RegretBoundStopper(search, rule=OptimalityGap(1e-6, beta="grid"))
    configs = run(search, 30, f=lambda c: 2.0 * (c["a"] == "q") + c["b"])
    assert {(c["a"], c["b"]) for c in configs} == {("p", 0), ("p", 1), ("q", 0), ("q", 1)}
    assert stopper.stop_all()
    assert certificate_of(stopper).maximum == "evaluated"
    assert certificate_of(stopper).incumbent_value == 0.0


def test_many_mixed_parameters():
    spec = {f"u{i}": tune.uniform(0, 1) for i in range(10)}
    spec |= {f"l{i}": tune.loguniform(1e-5, 1) for i in range(6)} | {f"n{i}": tune.randint(0, 100) for i in range(6)}
    spec |= {f"c{i}": tune.choice(list("abc")) for i in range(5)} | {"many": tune.choice(list(range(50)))}
    spec |= {"one": tune.choice(["only"]), "fixed": tune.randint(3, 4)}
    search = over(spec)
    stopper = RegretBoundStopper(search, rule=UCBbr(1e-9))
    configs = run(search, 40, f=lambda c: c["u0"] + c["n0"] / 100)
    stopper.stop_all()
    assert len(configs) == 40
    assert all(c["one"] == "only" and c["fixed"] == 3 for c in configs)
    assert certificate_of(stopper).n_observations == 40


def test_many_duplicates_in_thirty_dimensions():
    search = over({f"x{i}": tune.uniform(0, 1) for i in range(30)})
    points = np.random.default_rng(0).random((50, 30))
    for i in range(500):
        search.add_evaluated_point(
            {f"x{j}": float(v) for j, v in enumerate(points[i % 50])}, float(points[i % 50].sum())
        )
    assert len(search.suggest("next")) == 30


def test_a_failing_objective_is_left_behind():
    """Half of the space fails: the search ends up in the other half."""
    search = GPUCBSearch(seed=0)
    search.set_search_properties("loss", "min", {"x": tune.uniform(0, 1)})
    tried = []
    for i in range(20):
        tried.append(search.suggest(str(i))["x"])
        if tried[-1] > 0.5:
            search.on_trial_complete(trial_id=str(i), error=True)
        else:
            search.on_trial_complete(trial_id=str(i), result=result({"x": tried[-1]}, -tried[-1]))
    assert sum(x <= 0.5 for x in tried[10:]) >= 5
    assert max(x for x in tried if x <= 0.5) > 0.4

"""A finite space of which every point was evaluated without noise: nothing is left to bound, whatever the model."""

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    Categorical,
    Certificate,
    DeltaCB,
    DeltaES,
    Every,
    GaussianProcess,
    Int,
    OptimalityGap,
    Space,
    UCBbr,
)
from regretstop.rules import Rule
from tests.histories import FINITE, History, declared, estimated

EPSILON = 1e-12
OF_REGRET: dict[str, Rule] = {
    "UCBbr": UCBbr(EPSILON),
    "gap": OptimalityGap(EPSILON, beta="grid"),
    "calibrated gap": OptimalityGap(EPSILON, beta=4.0),
    "PRB": PRB(EPSILON),
    "DeltaCB": DeltaCB(EPSILON),
}
each_rule = pytest.mark.parametrize("rule", OF_REGRET.values(), ids=OF_REGRET)
each_treatment = pytest.mark.parametrize("treatment", ["fixed", "map", "posterior"])
FORTY = Space({"n": Int(1, 40)})  # a matrix so close to singular that it needs jitter


def whole(space: Space, seed: int = 0, **more: Any) -> History:
    """Return every point of the space in random order, with values that nothing is known about."""
    rng = np.random.default_rng(seed)
    points = rng.permutation(space.enumerate())
    return History(space, [space.decode(x) for x in points], rng.standard_normal(len(points)).tolist(), **more)


def noise_free(treatment: str, space: Space) -> dict[str, Any]:
    if treatment == "fixed":
        return declared(space, noise_std=0.0)
    return estimated(hyperparameters=treatment, noise_std=0.0)


@each_rule
@each_treatment
@pytest.mark.parametrize("space", [*FINITE.values(), FORTY], ids=[*FINITE, "forty integers"])
def test_the_bound_is_zero(space: Space, treatment: str, rule: Rule) -> None:
    history = whole(space)
    certificate = history.told(**noise_free(treatment, space)).certificate(rule)
    assert certificate.bound == certificate.optimality_gap == 0.0
    assert certificate.stop
    assert certificate.incumbent == certificate.optimality_gap_incumbent == int(np.argmax(history.values))
    assert certificate.incumbent_value == max(history.values)
    assert certificate.guarantee == certificate.optimality_gap_guarantee == "theorem"
    words = "Given that there is no noise, as you declared, the optimum is at most 0 better than trial "
    assert f"{words}{certificate.incumbent} (observed value" in str(certificate)
    assert "proof" not in str(certificate)
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


@each_rule
def test_not_before_the_last_point(rule: Rule) -> None:
    history = whole(FINITE["a table"])
    optimizer = GPUCB(history.space, surrogate=GaussianProcess(noise_std=0.0), seed=0)
    for params, value in zip(history.params[:-1], history.values[:-1], strict=True):
        optimizer.tell(params, value)
    before = optimizer.certificate(rule)
    assert before.bound > 0.0
    assert before.guarantee != "theorem"
    optimizer.tell(history.params[-1], math.nan)  # a failure is no value
    assert optimizer.certificate(rule).bound > 0.0
    optimizer.tell(history.params[-1], history.values[-1])
    assert optimizer.certificate(rule).bound == 0.0


@pytest.mark.parametrize("noise_std", ["learned", 1e-6])
def test_with_noise_it_is_what_it_was(noise_std: Any) -> None:
    certificate = (
        whole(FINITE["a table"])
        .told(surrogate=GaussianProcess(noise_std=noise_std))
        .certificate(OptimalityGap(1e-3, beta="grid"))
    )
    assert certificate.bound > 0.0
    assert certificate.guarantee == "model"
    assert certificate.maximum == "enumerated"


def test_values_that_contradict_the_declaration_are_not_believed() -> None:
    history = whole(FINITE["a table"])
    again = dataclasses.replace(history, params=[*history.params, history.params[0]])
    same = again.with_values([*history.values, history.values[0]])
    other = again.with_values([*history.values, history.values[0] + 0.1])
    assert (
        same.told(surrogate=GaussianProcess(noise_std=0.0)).certificate(OptimalityGap(1e-3, beta="grid")).bound == 0.0
    )
    contradicted = other.told(surrogate=GaussianProcess(noise_std=0.0)).certificate(OptimalityGap(1e-3, beta="grid"))
    assert (contradicted.guarantee, contradicted.maximum) == ("model", "enumerated")


def test_a_point_outside_the_space_or_between_its_values_is_not_one_of_it() -> None:
    space = Space({"n": Int(0, 3)})
    optimizer = GPUCB(space, surrogate=GaussianProcess(noise_std=0.0), seed=0)
    for n, value in [(0, 0.1), (1, 0.3), (2, 0.2), (2.5, 7.0), (9, 9.0)]:
        optimizer.tell({"n": n}, value)
    assert optimizer.certificate(OptimalityGap(1e-3, beta="grid")).bound > 0.0
    optimizer.tell({"n": 3}, 0.0)
    certificate = optimizer.certificate(OptimalityGap(1e-3, beta="grid"))
    assert (certificate.bound, certificate.incumbent, certificate.incumbent_value) == (0.0, 1, 0.3)


@each_rule
@pytest.mark.parametrize("values", [[0.3, 0.1], [0.2, 0.2]])
def test_it_needs_no_model(rule: Rule, values: list[float]) -> None:
    """Two observations are too few to fit, and equal values have no scale."""
    optimizer = GPUCB(
        Space({"c": Categorical(["a", "b"])}), direction="minimize", surrogate=GaussianProcess(noise_std=0.0), seed=0
    )
    for choice, value in zip("ab", values, strict=True):
        optimizer.tell({"c": choice}, value)
    certificate = optimizer.certificate(rule)
    assert certificate.bound == 0.0
    assert certificate.incumbent_value == min(values)


@pytest.mark.parametrize("rule", [DeltaES(1e-9), AcquisitionThreshold(1e-9)], ids=["DeltaES", "AcquisitionThreshold"])
def test_what_bounds_no_regret_is_left_alone(rule: Rule) -> None:
    certificate = whole(FINITE["a table"]).told(surrogate=GaussianProcess(noise_std=0.0)).certificate(rule)
    assert certificate.guarantee == "heuristic"
    assert certificate.measure == rule.measure != "regret"


@pytest.mark.parametrize("schedule", [Every(7), Every()])
def test_a_test_that_is_not_due_is_not_needed_and_one_between_tests_waits(schedule: Every) -> None:
    history = whole(FINITE["twelve integers"])
    rule = OptimalityGap(EPSILON, schedule=schedule, beta="grid")
    optimizer = history.told(surrogate=GaussianProcess(noise_std=0.0))
    waits = schedule.m == 7  # the test at 7 is the last one that is due
    assert (optimizer.certificate(rule).bound > 0.0) == waits
    for params in history.params[:2]:
        optimizer.tell(params, history.values[history.params.index(params)])
    assert optimizer.certificate(rule).bound == 0.0

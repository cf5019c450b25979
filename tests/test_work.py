"""What is done again and what is not: counted, since a search of thousands of evaluations pays for it each time."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    DeltaCB,
    DeltaES,
    Every,
    Float,
    Matern52,
    Observation,
    OptimalityGap,
    Space,
    Thinning,
    UCBbr,
)
from regretstop.history import HistoryEncoder
from regretstop.model import GaussianProcess
from regretstop.rules import Rule

KERNEL = Matern52(lengthscales=[0.4], outputscale=1.0)
RULES = [UCBbr, OptimalityGap, PRB, DeltaCB, DeltaES, AcquisitionThreshold]


class CountingSpace(Space):
    """A space that counts the points it encodes."""

    n_encoded = 0

    def encode(self, params: Mapping[str, Any]) -> NDArray[np.float64]:
        self.n_encoded += 1
        return super().encode(params)


class CountingSurrogate(GaussianProcess):
    """A surrogate that remembers how many observations it was fitted to."""

    def __init__(self) -> None:
        super().__init__(kernel=KERNEL, noise_std=0.1, hyperparameters="fixed", mean=0.0)
        self.fits: list[int] = []

    def fit(self, points: Any, values: Any, **options: Any) -> Any:
        self.fits.append(len(values))
        return super().fit(points, values, **options)


def observation(number: int) -> Observation:
    x = (0.37 * number) % 1.0
    return Observation({"x": x}, math.sin(5 * x), number, float(number))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("are_new_objects", [False, True])
def test_a_growing_history_is_fitted_at_its_tests_and_each_point_is_encoded_once(
    rule: type[Rule], are_new_objects: bool
) -> None:
    space, surrogate = CountingSpace({"x": Float(0.0, 1.0)}), CountingSurrogate()
    optimizer = GPUCB(space, surrogate=surrogate, seed=0)
    history: list[Observation] = []
    schedule = Thinning(dense=8, ratio=1.5)
    for number in range(60):
        history = [*history, observation(number)]
        seen = list(map(dataclasses.replace, history)) if are_new_objects else history
        optimizer.replace_history(seen)
        optimizer.certificate(rule(1e-9, schedule=schedule))
    assert surrogate.fits == [3, 4, 5, 6, 7, 8, 12, 18, 27, 41]
    assert space.n_encoded == 60


@pytest.mark.parametrize("rule", RULES)
def test_an_evaluation_that_is_no_observation_costs_no_fit(rule: type[Rule]) -> None:
    surrogate = CountingSurrogate()
    optimizer = GPUCB(Space({"x": Float(0.0, 1.0)}), surrogate=surrogate, seed=0)
    history = [observation(number) for number in range(6)]
    for number in range(6, 30):
        optimizer.replace_history(history)
        certificate = optimizer.certificate(rule(1e-9))
        assert (certificate.n_observations, certificate.n_excluded) == (6, number - 6)
        failed = {0: None, 1: math.nan, 2: math.inf}[number % 3]
        history.append(Observation({"x": 0.5}, failed, number, float(number)))
    assert surrogate.fits == [6]


def test_rules_share_a_fit() -> None:
    surrogate = CountingSurrogate()
    optimizer = GPUCB(Space({"x": Float(0.0, 1.0)}), surrogate=surrogate, seed=0)
    optimizer.replace_history([observation(number) for number in range(9)])
    for rule in RULES:
        optimizer.certificate(rule(1e-9))
        optimizer.certificate(rule(1e-9, schedule=Every()))
    assert surrogate.fits == [9]


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_what_is_encoded_bit_by_bit_is_what_is_encoded_at_once(data: st.DataObject) -> None:
    """Histories that grow, get something inserted, shrink, or become another one."""
    space = Space({"x": Float(0.0, 1.0)})
    encoder = HistoryEncoder(space, -1.0)
    values = st.one_of(st.none(), st.floats(), st.floats(-10, 10))
    made: list[Observation] = []
    for _ in range(data.draw(st.integers(1, 6))):
        for x in data.draw(st.lists(st.one_of(st.floats(-1, 2), st.just("no number")), max_size=4)):
            made.insert(
                data.draw(st.integers(0, len(made))),
                Observation({"x": x}, data.draw(values), len(made), float(len(made))),
            )
        if made and data.draw(st.booleans()):
            del made[data.draw(st.integers(0, len(made) - 1))]
        one, other = encoder.encode(made), HistoryEncoder(space, -1.0).encode(made)
        assert one.fits_as(other)
        assert np.array_equal(one.inside, other.inside)
        assert np.array_equal(one.ended, other.ended)
        assert one.n_excluded == other.n_excluded == len(made) - len(one.values)

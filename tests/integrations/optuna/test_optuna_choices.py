"""Choices that Optuna cannot tell apart, because they are equal."""

import logging
import math
from typing import Any

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of
from regretstop_optuna._space import _warn_of_equal_choices

from regretstop import GaussianProcess, UCBbr
from tests.effort import examples
from tests.logs import Log

CHOICES = [True, False, 0, 1, 0.0, 1.0, -0.0, 2, 2.0, None, "1", "sqrt", "", math.nan, 0.5]
mixed = st.lists(st.sampled_from(CHOICES), min_size=2, max_size=6)


def is_same(one: Any, other: Any) -> bool:
    return one == other or (one != one and other != other)


def rank(choices: list[Any], value: Any) -> int:
    return next(i for i, choice in enumerate(choices) if is_same(choice, value))


def searched(choices: list[Any], n: int, storage: str | None = None) -> tuple[optuna.Study, list[Any]]:
    """Return a study whose best choice is the last of the distinct ones, and what its objective was given."""
    study = optuna.create_study(sampler=GPUCBSampler(seed=0, surrogate=GaussianProcess(noise_std=0.0)), storage=storage)
    given: list[Any] = []

    def objective(trial: optuna.Trial) -> float:
        given.append(trial.suggest_categorical("c", choices))
        return 0.5 * trial.suggest_int("n", 0, 1) - float(rank(choices, given[-1]))

    study.optimize(objective, n_trials=n)
    return study, given


@examples(6)
@given(mixed, st.booleans())
def test_equal_choices_are_one(tmp_path_factory: pytest.TempPathFactory, choices: list[Any], on_disk: bool) -> None:
    """The objective is given choices that the records agree with, and the best of those is found and certified."""
    storage = f"sqlite:///{tmp_path_factory.mktemp('study') / 'a.db'}" if on_disk else None
    distinct = sorted({rank(choices, choice) for choice in choices})
    study, given = searched(choices, 2 * len(distinct), storage)
    for value, trial in zip(given, study.trials, strict=True):
        recorded = trial.params["c"]
        assert any(value is choice or (type(value) is type(choice) and is_same(value, choice)) for choice in choices)
        assert type(value) is type(recorded)
        assert is_same(value, recorded)
    # Nothing is tried twice, so everything was; a choice that nobody can tell from another is no part of it.
    certificate = certificate_of(study, UCBbr(0.1))
    assert certificate.bound == 0.0
    assert certificate.incumbent is not None
    assert rank(choices, study.trials[certificate.incumbent].params["c"]) == distinct[-1]


@pytest.mark.parametrize("choices", [[1, 1.0, "sqrt"], [True, 1], [1.0, True, 0, False]])
def test_equal_choices_are_warned_of_once(choices: list[Any], log: Log) -> None:
    _warn_of_equal_choices.cache_clear()
    study, given = searched(choices, n=10)
    for _ in range(2):
        certificate_of(study, UCBbr(0.1))
    (warning,) = log.at(logging.WARNING)
    assert repr(tuple(choices)) in warning
    assert {type(value) for value in given if value == 1} == {type(next(c for c in choices if c == 1))}


def test_equal_choices_alone_are_no_parameter() -> None:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    callback = RegretBoundCallback(epsilon=0.1)
    study.optimize(lambda t: float(t.suggest_categorical("c", [True, 1])), n_trials=4, callbacks=[callback])
    assert "no parameter that varies" in certificate_of(study).reason
    assert {type(t.params["c"]) for t in study.trials} == {bool}

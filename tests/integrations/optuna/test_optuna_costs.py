"""A cost that is a function: of what the objective has for parameters, and whatever it does."""

import functools
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import optuna
import pytest
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, replay, should_stop
from regretstop_optuna._settings import words_for

from regretstop import CostAware, Every, Patience, UCBbr


def flat(trial: optuna.Trial) -> float:
    trial.suggest_int("n", 100, 100)
    trial.suggest_categorical("how", ["one"])
    return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2


def ranges(trial: optuna.Trial) -> float:
    """One parameter with two ranges, and one whose only value depends on the branch."""
    model = trial.suggest_categorical("model", ["a", "b"])
    trial.suggest_int("fixed", *((1, 1) if model == "a" else (2, 2)))
    return 0.1 * trial.suggest_int("depth", 1, 4 if model == "a" else 9)


def branches(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("model", ["a", "b"]) == "a":
        trial.suggest_int("trees", 7, 7)
        return trial.suggest_float("x", 0.0, 1.0)
    return trial.suggest_float("y", 0.0, 1.0) + 0.5


def nothing_to_translate(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0)


@pytest.mark.parametrize("objective", [flat, ranges, branches, nothing_to_translate])
@pytest.mark.parametrize("combined", [False, True])
def test_a_cost_is_a_function_of_the_objectives_parameters(objective, combined) -> None:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    asked: list[Mapping[str, Any]] = []

    def cost(params: Mapping[str, Any]) -> float:
        asked.append(dict(params))
        objective(optuna.trial.FixedTrial(params))  # raises if one is missing
        return 1.0

    rule = CostAware(1e-9, cost=cost)
    callback = RegretBoundCallback(rule=rule | Patience(99) if combined else rule)
    study.optimize(objective, n_trials=20, callbacks=[callback])
    certificate = certificate_of(study)
    assert certificate is not None
    assert math.isfinite(certificate.bound)
    kinds = {tuple(sorted(trial.params)) for trial in study.trials}
    assert {tuple(sorted(params)) for params in asked} == kinds
    if objective is ranges:
        assert all(params["fixed"] == "ab".index(params["model"]) + 1 for params in asked)
    assert math.isfinite(replay(study, rule, after_stop=Every()).certificates[-1].bound)


def test_a_test_is_not_made_again_until_the_next_is_due() -> None:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    calls: list[int] = []

    def cost(params: Mapping[str, Any]) -> float:
        calls.append(params["n"])
        return 1.0

    rule = CostAware(1e-9, cost=cost, schedule=Every(15))
    study.optimize(flat, n_trials=15, callbacks=[RegretBoundCallback(rule=rule)])
    n = len(calls)
    assert n
    study.optimize(flat, n_trials=5, callbacks=[RegretBoundCallback(rule=rule)])
    assert len(calls) == n


def broken(params: Mapping[str, Any]) -> float:
    raise OSError("no such table")


@pytest.mark.parametrize(
    ("cost", "why"),
    [
        (broken, "raised OSError('no such table') for {'n': 100, 'how': 'one', 'x': 0."),
        (lambda p: p["nope"], "raised KeyError('nope') for {'n': 100"),
        (lambda p: None, "cost must be a number"),
        (lambda p: -1.0, "must be positive and finite, got -1.0 for {'n': 100"),
        (lambda p: math.nan, "must be positive and finite, got nan for {'n': 100"),
    ],
)
@pytest.mark.parametrize("combined", [False, True])
def test_a_cost_that_fails_ends_no_study_and_is_named(cost, why, combined) -> None:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    rule = CostAware(0.01, cost=cost)
    callback = RegretBoundCallback(rule=rule | UCBbr(1e-9) if combined else rule)
    study.optimize(flat, n_trials=12, callbacks=[callback])
    assert len(study.trials) == 12
    certificate = certificate_of(study)
    assert certificate is not None
    assert why in certificate.reason


Cost = Callable[[Mapping[str, Any]], float]


def constant(params: Mapping[str, Any], value: float) -> float:
    return value


class Bare:
    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, params: Mapping[str, Any]) -> float:
        return self.value

    def method(self, params: Mapping[str, Any]) -> float:
        return self.value


@dataclass
class Said:
    value: float

    def __call__(self, params: Mapping[str, Any]) -> float:
        return self.value


def local(value: float) -> Cost:
    def inner(params: Mapping[str, Any]) -> float:
        return value

    return inner


MAKERS: list[Callable[[float], Cost]] = [
    lambda value: lambda p: value,
    local,
    lambda value: functools.partial(constant, value=value),
    lambda value: Bare(value),
    lambda value: Bare(value).method,
    Said,
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_one_function_decided_counts_for_no_other(make) -> None:
    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(flat, n_trials=12)
    dear = CostAware(0.01, cost=make(1.0))
    assert should_stop(study, rule=dear)
    computed = certificate_of(study)
    for _ in range(3):
        cheap = CostAware(0.01, cost=make(1e-12))  # it may get the address that another one had
        assert certificate_of(study, cheap).bound > computed.bound
        assert not should_stop(study, rule=cheap)
    assert should_stop(study, rule=dear)
    assert certificate_of(study) == computed


@pytest.mark.parametrize("make", MAKERS)
def test_words_are_the_same_for_the_same_function_only(make) -> None:
    functions = [make(float(i)) for i in range(20)]
    assert len({words_for(function) for function in functions}) == 20
    assert [words_for(function) for function in functions] == [words_for(function) for function in functions]
    freed = {words_for(make(0.5)) for _ in range(20)}
    assert len(freed) == (1 if make is Said else 20)


def test_words_of_what_has_a_name_are_those_of_another_process() -> None:
    named = "math.sqrt, collections.Counter, json.dumps, 'duration', 1.5"
    imports = "import math, collections, json; from regretstop_optuna._settings import words_for"
    script = f"{imports}; print([*map(words_for, [{named}])])"
    first, second = (subprocess.run([sys.executable, "-c", script], capture_output=True, text=True) for _ in range(2))
    assert first.stdout == second.stdout
    assert "'math.sqrt', 'collections.Counter', 'json.dumps'" in first.stdout
    assert words_for(broken) == f"{__name__}.broken"

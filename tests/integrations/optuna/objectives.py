"""Objectives that the tests share."""

import math

import optuna

BRANIN_MINIMUM = 0.397887
_TABLE = (3.0, 1.0, 0.0, 2.0, 5.0, 4.0)


def table(trial: optuna.Trial) -> float:
    """Six points: certified exactly, by enumeration, once they are known."""
    return _TABLE[trial.suggest_int("k", 0, 5)]


def parabola(trial: optuna.Trial) -> float:
    return (trial.suggest_float("x", -5, 5) - 1) ** 2


def bumps(trial: optuna.Trial) -> float:
    """Many-sided enough that no few trials settle it; two free axes, one of them logarithmic."""
    x = trial.suggest_float("x", -5, 10)
    y = trial.suggest_float("y", 0.01, 10, log=True)
    return (x - 2) ** 2 / 20 + (y - 3) ** 2 / 10 + abs((3 * x) % 4 - 2)


def branin(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def proposal(trial: optuna.trial.FrozenTrial) -> dict[str, float]:
    """What was published of the trial's point: a number for each parameter."""
    return {
        name: value
        for name, value in trial.system_attrs.get("regretstop:proposal", {}).items()
        if name != "regretstop:proposed_at"
    }

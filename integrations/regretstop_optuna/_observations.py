"""What a single trial says about the objective: an observation, or a point to stay away from."""

import datetime
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from regretstop import Observation
from regretstop.rules import standard_error
from regretstop_optuna._attributes import SCORES, point_of, proposed_at
from regretstop_optuna._constraints import constraints_of, is_feasible
from regretstop_optuna._space import Distributions, is_single

# A trial that has been running for this many times as long as the longest completed one, and this
# many seconds on top, is taken for dead: its process was killed before it could say so.
_STALE_FACTOR = 10.0
_STALE_SECONDS = 600.0


def observation_of(trial: FrozenTrial) -> Observation:
    """Return the finished trial as an observation.

    A pruned trial was cut short and its last intermediate value is not one of the objective, so it has none; a failed
    one is NaN. The infinities that Optuna lets pass are left to the model, which fits none of these.
    """
    started, ended = (None if t is None else t.timestamp() for t in (trial.datetime_start, trial.datetime_complete))
    span = None if started is None or ended is None else (started, ended)
    value = trial.value if trial.state == TrialState.COMPLETE else math.nan
    if trial.state == TrialState.PRUNED:
        value = None
    scores = trial.system_attrs.get(SCORES)
    error = None if scores is None else standard_error(scores)
    return Observation(
        trial.params, value, trial.number, ended or 0.0, span, error, is_feasible(trial), constraints_of(trial)
    )


def without_a_night(observation: Observation, longest: float) -> Observation:
    """Return the observation of a failed trial without the time for which nobody knew that its process was dead.

    Optuna has such a trial end when the next process finds that its heartbeat stopped.

    Args:
        observation: Of any trial.
        longest: For how many seconds the longest completed trial ran.
    """
    if observation.value is None or not math.isnan(observation.value) or observation.span is None:
        return observation
    start, end = observation.span
    latest = start + _patience(longest)
    # The very object if nothing is wrong with it, by which it is known to be encoded.
    return observation if end <= latest else replace(observation, span=(start, latest))


def has_value(trial: FrozenTrial) -> bool:
    """Return whether the trial is complete and its value finite."""
    return trial.state == TrialState.COMPLETE and trial.value is not None and math.isfinite(trial.value)


def has_choice(trial: FrozenTrial) -> bool:
    """Return whether any parameter of the trial could have been another: without one it is no point of any space."""
    return any(not is_single(distribution) for distribution in trial.distributions.values())


def running_points(
    trials: Sequence[FrozenTrial], distributions: Distributions, longest: float, *, but: FrozenTrial
) -> list[dict[str, Any]]:
    """Return the points that other trials are evaluating.

    Args:
        trials: All trials.
        distributions: Of the parameters that make a point.
        longest: For how many seconds the longest completed trial ran.
        but: The trial that asks.
    """
    return [
        point_of(t, distributions)
        for t in trials
        if t.state == TrialState.RUNNING and t.number != but.number and _age(t) <= _patience(longest)
    ]


def _age(trial: FrozenTrial) -> float:
    """Return for how many seconds a trial has been running, whatever its host's time zone if its point tells."""
    proposed = proposed_at(trial)
    return seconds_of(trial, datetime.datetime.now()) if proposed is None else time.time() - proposed


def _patience(longest: float) -> float:
    return _STALE_FACTOR * longest + _STALE_SECONDS


def seconds_of(trial: FrozenTrial, now: datetime.datetime) -> float:
    """Return for how long the trial ran, until now if it still does."""
    if trial.datetime_start is None:
        return 0.0
    return ((trial.datetime_complete or now) - trial.datetime_start).total_seconds()

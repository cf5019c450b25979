"""What a study's trials say about the objective: observations, and points to stay away from."""

import datetime
import math
from collections.abc import Sequence
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from regretstop import Observation
from regretstop_optuna._attributes import point_of
from regretstop_optuna._space import Distributions

# A trial that has been running for this many times as long as the longest completed one, and this
# many seconds on top, is taken for dead: its process was killed before it could say so.
_STALE_FACTOR = 10.0
_STALE_SECONDS = 600.0


def observations(trials: Sequence[FrozenTrial]) -> list[Observation]:
    """Return the finished trials as observations, in order of number.

    A pruned trial was cut short and its last intermediate value is not one of the objective, so it has none; a failed
    one is NaN. The infinities that Optuna lets pass are left to the model, which fits none of these.
    """
    return [Observation(t.params, _value(t), t.number, _ended(t)) for t in trials if t.state.is_finished()]


def _value(trial: FrozenTrial) -> float | None:
    if trial.state == TrialState.PRUNED:
        return None
    return trial.value if trial.state == TrialState.COMPLETE else math.nan


def _ended(trial: FrozenTrial) -> float:
    return trial.datetime_complete.timestamp() if trial.datetime_complete is not None else 0.0


def n_observations(trials: Sequence[FrozenTrial]) -> int:
    """Return the number of trials that the model can be fitted to."""
    return sum(map(is_observation, trials))


def running_points(
    trials: Sequence[FrozenTrial], distributions: Distributions, *, but: FrozenTrial
) -> list[dict[str, Any]]:
    """Return the points that other trials are evaluating."""
    now = datetime.datetime.now()
    longest = max((_seconds(t, now) for t in trials if t.state == TrialState.COMPLETE), default=0.0)
    patience = _STALE_FACTOR * longest + _STALE_SECONDS
    return [
        point_of(t, distributions)
        for t in trials
        if t.state == TrialState.RUNNING and t.number != but.number and _seconds(t, now) <= patience
    ]


def is_observation(trial: FrozenTrial) -> bool:
    """Return whether the trial gives the model something to fit: it is complete, its value finite."""
    return trial.state == TrialState.COMPLETE and trial.value is not None and math.isfinite(trial.value)


def _seconds(trial: FrozenTrial, now: datetime.datetime) -> float:
    """Return for how long the trial ran, until now if it still does."""
    if trial.datetime_start is None:
        return 0.0
    return ((trial.datetime_complete or now) - trial.datetime_start).total_seconds()

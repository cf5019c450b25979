"""The constraints of a study: where Optuna keeps their values, and what they say."""

import math
from collections.abc import Callable, Sequence

from optuna.study import Study
from optuna.trial import FrozenTrial

from regretstop_optuna._storage import publish

ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]

# Optuna's own key: what a sampler's `constraints_func` returned. `Trial.set_constraint`, since Optuna 5, has a key for
# each constraint, this one with ":" and the constraint's name.
_KEY = "constraints"


def constraints_of(trial: FrozenTrial) -> tuple[float, ...] | None:
    """Return the values of the trial's constraints, those with a name in the order of the names; None without any."""
    attributes = trial.system_attrs
    named = [attributes[key] for key in sorted(attributes) if key.startswith(f"{_KEY}:")]
    values = (*(attributes.get(_KEY) or ()), *named)
    return tuple(map(float, values)) if values else None


def is_feasible(trial: FrozenTrial) -> bool:
    """Return whether no constraint of the trial is violated: Optuna's are met where they are at most 0.

    A trial without constraints is feasible, as for Optuna; one whose constraints could not be computed is not.
    """
    could_be_computed = trial.system_attrs.get(_KEY, ()) is not None
    return could_be_computed and all(value <= 0.0 for value in constraints_of(trial) or ())


def store_constraints(study: Study, trial: FrozenTrial, function: ConstraintsFunc) -> None:
    """Compute the constraints of a trial that is about to end, and store them as Optuna's own samplers do.

    Raises:
        ValueError: If one is NaN. Whatever the function raises is passed on; that there are none is stored before.
    """
    values: tuple[float, ...] | None = None
    try:
        found = tuple(map(float, function(trial)))
        if any(map(math.isnan, found)):
            raise ValueError(f"a constraint of trial {trial.number} is NaN, got {found}")
        values = found
    finally:
        publish(study, trial, _KEY, values)

"""The few things of Optuna that have no public name, in one place.

A sampler has to write to a trial that is still running, and under `HyperbandPruner` it is handed a
view that hides the other brackets. Optuna's own samplers reach for the storage in both cases.
"""

from collections.abc import Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial


def all_trials(study: Study) -> Sequence[FrozenTrial]:
    """Return every trial of the study, in order of number; the trials must not be modified.

    `Study.get_trials` of a Hyperband bracket shows that bracket only, but a completed trial is an
    observation of the objective whichever bracket it ran in.
    """
    return study._storage.get_all_trials(  # pyright: ignore[reportPrivateUsage]
        study._study_id,  # pyright: ignore[reportPrivateUsage]
        deepcopy=False,
    )


def user_attributes(study: Study) -> dict[str, Any]:
    """Return the study's user attributes; the values must not be modified.

    `Study.user_attrs` copies all of them deeply, which after some hundred trials costs more than the rest.
    """
    attributes = study._storage.get_study_user_attrs(study._study_id)  # pyright: ignore[reportPrivateUsage]
    return dict(attributes)  # another thread may be writing to the original


def publish(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a system attribute of a running trial, seen at once by every thread and process."""
    study._storage.set_trial_system_attr(  # pyright: ignore[reportPrivateUsage]
        trial._trial_id,  # pyright: ignore[reportPrivateUsage]
        key,
        value,
    )

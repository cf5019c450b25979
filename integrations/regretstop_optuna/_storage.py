"""The few things of Optuna that have no public name, in one place.

A sampler has to write to a trial that is still running, and under `HyperbandPruner` it is handed a
view that hides the other brackets. Optuna's own samplers reach for the storage in both cases.
"""

import sys
from collections.abc import Sequence
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial


def reading_errors() -> tuple[type[Exception], ...]:
    """Return what storages raise where they cannot be read for the moment.

    A database may be locked, a journal on a file system of the network gone, and a proxy out of reach.
    """
    grpc = sys.modules.get("grpc")
    return (StorageInternalError, OSError, *((grpc.RpcError,) if grpc is not None else ()))


def place_of(study: Study) -> tuple[BaseStorage, int]:
    """Return where the study is kept: the storage, and the study's number in it."""
    return study._storage, study._study_id  # pyright: ignore[reportPrivateUsage]


def keeps_objects(study: Study) -> bool:
    """Return whether the storage gives categorical choices back as the very objects, and not by way of JSON."""
    return isinstance(study._storage, InMemoryStorage)  # pyright: ignore[reportPrivateUsage]


def all_trials(study: Study) -> Sequence[FrozenTrial]:
    """Return every trial of the study, in order of number; the trials must not be modified.

    `Study.get_trials` of a Hyperband bracket shows that bracket only, but a completed trial is an
    observation of the objective whichever bracket it ran in.
    """
    storage, number = place_of(study)
    return storage.get_all_trials(number, deepcopy=False)


def user_attributes(study: Study) -> dict[str, Any]:
    """Return the study's user attributes; the values must not be modified.

    `Study.user_attrs` copies all of them deeply.
    """
    storage, number = place_of(study)
    return dict(storage.get_study_user_attrs(number))  # another thread may be writing to the original


def publish(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a system attribute of a running trial, seen at once by every thread and process."""
    storage, _ = place_of(study)
    storage.set_trial_system_attr(trial._trial_id, key, value)  # pyright: ignore[reportPrivateUsage]


def is_same_trial(one: FrozenTrial, other: FrozenTrial) -> bool:
    """Return whether two finished trials, read at different times, are one and the same.

    Storages mostly give the same object again. A number alone is no proof: a study may have been deleted, and another
    one created in its place.
    """
    if one is other:
        return True
    return (one._trial_id, one.datetime_complete, one.state) == (  # pyright: ignore[reportPrivateUsage]
        other._trial_id,  # pyright: ignore[reportPrivateUsage]
        other.datetime_complete,
        other.state,
    )

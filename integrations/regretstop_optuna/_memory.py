"""What this process remembers of a study between two calls."""

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.study import Study

from regretstop_optuna._digest import Digest, View
from regretstop_optuna._history import Row
from regretstop_optuna._models import Models
from regretstop_optuna._storage import all_trials, place_of

# A process works on one study at a time, or on a few.
_KEPT = 4


class Memory:
    """What this process remembers of a study. Nothing of it is needed: it saves work, and survives failed writes.

    Attributes:
        lock: Hold it while using the attributes below.
        models: For whoever asks about a study whose sampler lends none.
        rows: What this process computed, by rule: to be in the stored history.
        unsaved: Decisions, by rule, that could not be stored.
        told: Up to which moment people were told where the study stands, by rule.
        given: The distributions that the objective gave for parameters which were sampled independently, by name.
        has_warned: Whether a failed write was reported.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.models = Models(seed=0)
        self._reset()

    def _reset(self) -> None:
        self._digest = Digest()
        self.rows: dict[str, list[Row]] = {}
        self.unsaved: dict[str, Mapping[str, Any]] = {}
        self._said: set[str] = set()
        self.told: dict[str, int] = {}
        self.given: dict[str, BaseDistribution] = {}
        self.has_warned = False

    def is_news(self, kind: str) -> bool:
        """Return whether people were not told of this yet, a kind of obstacle or a change; from now on they were."""
        with self.lock:
            is_new = kind not in self._said
            self._said.add(kind)
        return is_new

    def view(self, study: Study) -> View:
        """Return what the study's trials say now; those that were known are not read again."""
        with self.lock:
            trials = all_trials(study)
            if not self._digest.is_of(trials):  # another study in the same place
                self._reset()
            return self._digest.read(trials)


_memories: WeakKeyDictionary[BaseStorage, dict[int, Memory]] = WeakKeyDictionary()
_lock = threading.Lock()


def memory_of(study: Study) -> Memory:
    """Return the memory of the study, the same for all objects that stand for the study on one storage object."""
    storage, number = place_of(study)
    with _lock:
        memories = _memories.setdefault(storage, {})
        memory = memories.pop(number, None) or Memory()
        memories[number] = memory  # the last one used comes last
        for oldest in list(memories)[:-_KEPT]:
            del memories[oldest]
        return memory


def view_of(study: Study) -> View:
    """Return what the study's trials say now."""
    return memory_of(study).view(study)

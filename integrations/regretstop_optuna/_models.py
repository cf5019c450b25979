"""GPUCB objects that outlive a trial, so that what was fitted once is not fitted again."""

import threading
from typing import Any

from optuna.study import Study, StudyDirection

from regretstop import GPUCB
from regretstop.propose import check_search
from regretstop_optuna._tree import Tree

# A study has one space at a time. A few are kept for samplers that serve several studies.
_KEPT = 4


class Models:
    """One GPUCB for each search space and direction.

    Args:
        **options: Arguments of `GPUCB`.

    Attributes:
        options: The arguments.
        lock: Hold it while calling `get` and while using what it returned.

    Raises:
        ValueError: If an option is out of its range.
    """

    def __init__(self, **options: Any) -> None:
        check_search(**options)
        self.options = options
        self._entries: list[tuple[Tree, StudyDirection, GPUCB]] = []
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.Lock()

    def get(self, study: Study, tree: Tree) -> GPUCB:
        """Return the model for the space; its axes are in alphabetical order.

        Raises:
            ValueError: If it is no space, or declared lengthscales do not fit it.
        """
        key = tree, study.direction
        found = [entry for entry in self._entries if entry[:2] == key]
        others = [entry for entry in self._entries if entry[:2] != key]
        entry = found[0] if found else (*key, self._new(*key))
        self._entries = [entry, *others[: _KEPT - 1]]
        return entry[2]

    def _new(self, tree: Tree, direction: StudyDirection) -> GPUCB:
        return GPUCB(
            tree.space(),
            direction="maximize" if direction == StudyDirection.MAXIMIZE else "minimize",
            **self.options,
        )

"""The stoppers on a log: which of them belong to the experiment that runs."""

import weakref
from typing import Protocol

from regretstop import Rule


class Watcher(Protocol):
    """What may end a search: a stopper."""

    @property
    def rule(self) -> Rule:
        """The stopping rule."""
        ...

    @property
    def asked_in(self) -> int | None:
        """Number of the experiment in which Tune asked it last, None before it did."""
        ...

    def ends_the_search(self) -> bool:
        """Whether no further trial is wanted."""
        ...


class Watchers:
    """The stoppers that a log has met, and the number of the experiment that it serves at present."""

    def __init__(self) -> None:
        self.experiment = 0
        self._met: weakref.WeakSet[Watcher] = weakref.WeakSet()

    def add(self, watcher: Watcher) -> None:
        """Take note of a stopper, for as long as it lives."""
        self._met.add(watcher)

    def __len__(self) -> int:
        return len(self._met)

    @property
    def present(self) -> list[Watcher]:
        """Those of this experiment: whom Tune has asked in it; before it asks any, whom it has never asked."""
        return self._asked_in(self.experiment) or self._asked_in(None)

    def end_the_search(self) -> bool:
        """Ask the present ones whether one wants no further trial; a search that is good enough is to cost no more."""
        decisions = [watcher.ends_the_search() for watcher in self.present]  # each of them is to know
        return any(decisions)

    @property
    def epsilon(self) -> float | None:
        """The smallest ε of the present ones' rules, None if none bounds a regret."""
        found = [watcher.rule.regret_epsilon for watcher in self.present]
        return min((epsilon for epsilon in found if epsilon is not None), default=None)

    def _asked_in(self, experiment: int | None) -> list[Watcher]:
        return [watcher for watcher in self._met if watcher.asked_in == experiment]

"""Where people changed the space of a study between two trials: another range, a parameter more or less.

A study that is resumed with an edited objective has trials of two spaces, and nothing in it says so. What tells them
from the branches of one space is time: before some trial all are of the one, and from it on all of the other.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from regretstop.spaces import Item, Record
from regretstop_optuna._infer import Inferred

# A parameter that depends on the value of a continuous one may look like one that was added, while few trials have it.
_FEWEST = 3
# Of more it is not asked which of them was a change, since each has to be tried.
_MOST_MOMENTS = 16


class Seen(NamedTuple):
    """What a trial says of the space: its number, its parameters, and whether it is an observation."""

    number: int
    record: Record
    is_observed: bool


Infer = Callable[[Sequence[Seen]], Inferred]
"""Returns what trials say of the space as if it had always been the same."""


def last_change(trials: Sequence[Seen], unexplained: Set[str], infer: Infer) -> tuple[int, Inferred] | None:
    """Return the number of the trial since which the space is another, and that space.

    None if no change explains the trials: before it they have to make a space, or have been changed likewise; and no
    threshold of a parameter that both have may tell them apart, or that could be what decides.

    Args:
        trials: In order of number.
        unexplained: The parameters that they have in some trials only, or with several ranges.
        infer: What trials say of the space.
    """
    moments = sorted(set(_moments(trials, unexplained)))
    for moment in moments if len(moments) <= _MOST_MOMENTS else ():
        before, since = trials[:moment], trials[moment:]
        if sum(trial.is_observed for trial in since) < _FEWEST or _is_told_apart(before, since):
            continue
        found = infer(since)
        if found.unexplained:
            continue
        earlier = infer(before).unexplained
        if not earlier or last_change(before, earlier, infer) is not None:
            return since[0].number, found
    return None


def _moments(trials: Sequence[Seen], names: Set[str]) -> Iterator[int]:
    """Yield the places, but for both ends, where such a parameter is there for the first time, or no longer."""
    first, last = dict[Item, int](), dict[Item, int]()
    for place, trial in enumerate(trials):
        for item in trial.record.items:
            if item[0] in names:
                first.setdefault(item, place)
                last[item] = place
    yield from (place for place in first.values() if place > 0)
    yield from (place + 1 for place in last.values() if place + 1 < len(trials))


def _is_told_apart(before: Sequence[Seen], since: Sequence[Seen]) -> bool:
    """Return whether all trials since have a greater value of some parameter than all before, or a smaller one."""
    older, newer = (frozenset[Item]().union(*(trial.record.items for trial in part)) for part in (before, since))
    for item in older & newer:
        old, new = ([t.record.values[item[0]] for t in part if item in t.record.items] for part in (before, since))
        if max(old) < min(new) or max(new) < min(old):
            return True
    return False

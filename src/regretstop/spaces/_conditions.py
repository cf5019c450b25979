"""Conditions: which parameters there are depends on the values of others, their parents.

A parameter is active where each of its parents is active and has one of the values that are named. A setting of the
parents thus decides which parameters are active; settings that decide alike are one branch. Branches are what the rest
of the package sees (`Branch` in `_branches`); here are the user's words, checked and made explicit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from regretstop.spaces._categorical import Categorical
from regretstop.spaces._numbers import to_number
from regretstop.spaces._numeric import Float, Int

Parameter = Float | Int | Categorical
When = Mapping[str, Mapping[str, Iterable[Any]]]
Indices = frozenset[int]
"""Values of a parameter, by their numbers 0 … count−1."""

# Any value of a parent may be a branch of its own, which has to be tried before anything is known. A search tries all
# values of an axis that is no longer than that, so it cannot overlook a branch.
MOST_VALUES = 20
# Branches are listed one by one; eight parameters that are each switched on or off make so many.
MOST_BRANCHES = 256


@dataclass(frozen=True)
class Conditions:
    """What makes each parameter active, checked.

    Attributes:
        order: The names, parents before their children.
        needed: For each parameter that is not always active, which values each parameter above it must have.
        choices: For each parameter that decides about another, its values in groups that decide alike.
    """

    order: tuple[str, ...]
    needed: Mapping[str, Mapping[str, Indices]]
    choices: Mapping[str, tuple[Indices, ...]]

    @classmethod
    def of(cls, parameters: Mapping[str, Parameter], when: When) -> "Conditions":
        """Return the conditions in these words.

        A condition that names all values of a parent only asks that the parent is active.

        Raises:
            ValueError: If a condition names what is not there, cannot be a parent, or can never hold.
        """
        if not isinstance(when, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"when must map parameters to their parents, got when={when!r}")
        own = {name: _checked(parameters, name, when[name]) for name in when}
        order = _in_order(parameters, own)
        needed: dict[str, dict[str, Indices]] = {}
        decisive: dict[str, list[Indices]] = {}
        for name in order:
            wanted: dict[str, Indices] = {}
            for parent, values in own.get(name, {}).items():
                lists = [needed.get(parent, {})]
                if len(values) < parameters[parent].count:
                    decisive.setdefault(parent, []).append(values)
                    lists.append({parent: values})
                for above, its in chain.from_iterable(each.items() for each in lists):
                    wanted[above] = wanted.get(above, its) & its
            if not all(wanted.values()):
                raise ValueError(f"{name!r} can never be active: its parents never are together, in when={when!r}")
            if wanted:
                needed[name] = wanted
        choices = {parent: _groups(int(parameters[parent].count), lists) for parent, lists in decisive.items()}
        return cls(order, needed, choices)

    def branches(self) -> list[dict[str, Indices]]:
        """Return for each branch the values that the parameters which decide have in it, where they are active.

        Raises:
            ValueError: If there are too many.
        """
        found: list[dict[str, Indices]] = [{}]
        for name in self.order:
            if name not in self.choices:
                continue
            split: list[dict[str, Indices]] = []
            for branch in found:
                groups = self.choices[name] if self.is_active(name, branch) else ()
                split += [branch | {name: group} for group in groups] or [branch]
            found = split
            if len(found) > MOST_BRANCHES:
                raise ValueError(f"when must not make more than {MOST_BRANCHES} branches, got {len(found)} and more")
        return found

    def is_active(self, name: str, branch: Mapping[str, Indices]) -> bool:
        """Return whether a parameter is active in a branch, which knows all that is above the parameter."""
        return all(above in branch and branch[above] <= values for above, values in self.needed.get(name, {}).items())


def _checked(
    parameters: Mapping[str, Parameter], name: str, parents: Mapping[str, Iterable[Any]]
) -> dict[str, Indices]:
    """Return which values each parent of a parameter must have; raise if that makes no sense."""
    if name not in parameters:
        raise ValueError(f"when names {name!r}, which is no parameter; there are {', '.join(map(repr, parameters))}")
    if not isinstance(parents, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"when[{name!r}] must map parents to their values, got {parents!r}")
    return {parent: _indices(parameters, name, parent, values) for parent, values in parents.items()}


def _indices(parameters: Mapping[str, Parameter], name: str, parent: str, values: Iterable[Any]) -> Indices:
    where = f"when[{name!r}][{parent!r}]"
    if parent == name:
        raise ValueError(f"when[{name!r}] makes {name!r} depend on itself")
    if parent not in parameters:
        raise ValueError(f"when[{name!r}] names {parent!r}, which is no parameter")
    parameter = parameters[parent]
    if not isinstance(parameter, Categorical) and not (isinstance(parameter, Int) and parameter.count <= MOST_VALUES):
        raise ValueError(
            f"when[{name!r}] names {parent!r}, which must be a Categorical or an Int with at most {MOST_VALUES} values "
            f"to decide about others, got {parameter!r}"
        )
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"{where} must be a collection of values, got {values!r}")
    found: set[int] = set()
    for value in values:
        if not parameter.contains(value):
            raise ValueError(f"{where} has {value!r}, which is no value of {parent!r}: {parameter!r}")
        found.add(index_of(parameter, value))
    if not found:
        raise ValueError(f"{where} must not be empty, got {values!r}")
    return frozenset(found)


def index_of(parameter: Parameter, value: Any) -> int:
    """Return the number of a value, or of the nearest one, of a parameter that can be a parent."""
    if isinstance(parameter, Categorical):
        return round(parameter.encode(value))
    step = 1 if parameter.step is None else parameter.step
    return min(max(round((to_number(value) - parameter.low) / step), 0), int(parameter.count) - 1)


def _in_order(parameters: Mapping[str, Parameter], own: Mapping[str, Mapping[str, Indices]]) -> tuple[str, ...]:
    """Return the names in their order, but parents before children; raise if there is no such order."""
    order: dict[str, None] = {}

    def visit(name: str, below: tuple[str, ...]) -> None:
        if name in below:
            circle = " on ".join(map(repr, (*below[below.index(name) :], name)))
            raise ValueError(f"when must not go round in circles, and makes {circle} depend")
        if name not in order:
            for parent in own.get(name, {}):
                visit(parent, (*below, name))
            order[name] = None

    for name in parameters:
        visit(name, ())
    return tuple(order)


def _groups(count: int, lists: list[Indices]) -> tuple[Indices, ...]:
    """Return the values 0 … count−1 in groups: those in a group are in the same of the lists."""
    groups: dict[tuple[bool, ...], list[int]] = {}
    for index in range(count):
        groups.setdefault(tuple(index in values for values in lists), []).append(index)
    return tuple(map(frozenset, groups.values()))

"""Which parameters are there where: a tree of branches, inferred from the trials.

At a node of the tree, some parameters are in all of its trials with one range. If those are not all that its trials
have, then one of them that is discrete has to decide about the others: the one whose values tell best which trials have
them. Each of its values is a node of its own. Nothing is kept from one time to the next: a trial that contradicts the
tree makes another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from scipy.special import gammaln

from regretstop.spaces import MOST_VALUES
from regretstop_optuna._space import is_single
from regretstop_optuna._tree import Axis, Tree

Item = tuple[str, int]
"""A parameter with one of its ranges: its name, and the number of the range among those that it has had."""
Point = Mapping[str, float]
"""Values of parameters by their names, in Optuna's internal form."""

_SAME = 1e-9


@dataclass(frozen=True)
class Record:
    """What a trial says of the space: its parameters with their ranges, and their values."""

    items: frozenset[Item]
    values: Point


@dataclass
class Inferred:
    """What the trials say of the space.

    Attributes:
        tree: The space.
        unexplained: Parameters that are in some trials only, or have several ranges, and nothing discrete tells where.
        untried: Points with a value of a deciding parameter that no observation has: what is there is not known.
    """

    tree: Tree = field(default_factory=lambda: Tree({}))
    unexplained: set[str] = field(default_factory=set[str])
    untried: list[Point] = field(default_factory=list[Point])


@dataclass
class _Node:
    """A part of the study in which all trials have the same values of some parameters.

    Attributes:
        point: Those values.
        own: What all trials here have, and not all trials above.
        parent: The parameter that decides about the rest; None if nothing is left.
        children: By the values of that.
    """

    point: Point
    own: list[Item]
    parent: Item | None = None
    children: dict[float, "_Node"] = field(default_factory=dict[float, "_Node"])

    def below(self) -> set[Item]:
        """Return what trials here may have, what all above have left out."""
        return set(self.own).union(*(child.below() for child in self.children.values()))


def infer(
    observed: Sequence[Record], others: Sequence[Record], ranges: Mapping[str, Sequence[BaseDistribution]]
) -> Inferred:
    """Return what the trials say of the space.

    Args:
        observed: Of the observations, at least one: trials that have all parameters of their branches.
        others: Of trials that ended before they had a value: they may lack some.
        ranges: The ranges of each parameter.
    """
    found = Inferred()
    root = _grow(observed, frozenset(), {}, ranges, found)
    for record in others:
        found.unexplained |= {name for name, _ in record.items - _possible(root, record)}
    found.tree = _tree_of(root, ranges)
    return found


def _grow(
    records: Sequence[Record],
    inherited: frozenset[Item],
    point: Point,
    ranges: Mapping[str, Sequence[BaseDistribution]],
    found: Inferred,
) -> _Node:
    shared = frozenset[Item].intersection(*(record.items for record in records))
    node = _Node(point, sorted(shared - inherited))
    rest = sorted(frozenset[Item].union(*(record.items for record in records)) - shared)
    if not rest:
        return node
    candidates = [(name, i) for name, i in sorted(shared) if name not in point and possible_values(ranges[name][i])]
    node.parent = _best_parent(records, candidates, rest, ranges)
    if node.parent is None:
        found.unexplained |= {name for name, _ in rest}
        return node
    name, number = node.parent
    for value in possible_values(ranges[name][number]):
        own = [record for record in records if record.values[name] == value]
        there = {**point, name: value}
        if own:
            node.children[value] = _grow(own, shared, there, ranges, found)
        else:
            found.untried.append(there)
    return node


def _possible(root: _Node, record: Record) -> frozenset[Item]:
    """Return what a trial may have, wherever it would have got to; all that it has where nothing is known."""
    found: set[Item] = set()
    node = root
    while node.parent is not None and node.parent in record.items:
        found |= set(node.own)
        child = node.children.get(record.values[node.parent[0]])
        if child is None:
            return record.items
        node = child
    return frozenset(found | node.below())


def possible_values(distribution: BaseDistribution) -> tuple[float, ...]:
    """Return the values of a parameter that may decide about others, in Optuna's internal form; else nothing.

    Each value of it has to be tried, so they must not be many: categories, and at most 20 integers.
    """
    if is_single(distribution):
        return ()
    if isinstance(distribution, CategoricalDistribution):
        choices = distribution.choices
        return tuple(float(i) for i, choice in enumerate(choices) if distribution.to_internal_repr(choice) == i)
    if isinstance(distribution, IntDistribution):
        low, high, step = distribution.low, distribution.high, distribution.step
        return tuple(map(float, range(low, high + 1, step))) if (high - low) // step < MOST_VALUES else ()
    return ()


# ---- The parent ----------------------------------------------------------------------------------------------------


def _best_parent(
    records: Sequence[Record],
    candidates: Sequence[Item],
    rest: Sequence[Item],
    ranges: Mapping[str, Sequence[BaseDistribution]],
) -> Item | None:
    """Return the parameter whose values tell best which trials have the rest; None if none tells anything.

    Values that few trials share tell much by chance alone: each of as many values as trials would tell all. So what
    counts is how much more they tell than they would if the trials had them in another order (the adjusted mutual
    information of Vinh, Epps & Bailey 2010, unnormalised). Of equals, it is the one with the fewest values.
    """
    has = np.array([[item in record.items for item in rest] for record in records])
    best: tuple[float, int] | None = None
    chosen: Item | None = None
    for name, number in candidates:
        values = np.array([record.values[name] for record in records])
        told, by_chance = _information(values, has)
        if told <= _SAME:
            continue
        rank = round(told - by_chance, 9), -len(possible_values(ranges[name][number]))
        if best is None or rank > best:
            best, chosen = rank, (name, number)
    return chosen


def _information(values: NDArray[np.float64], has: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how much values tell of who has what, n times the mutual information in nats, and how much by chance."""
    n, totals = len(has), has.sum(axis=0)
    told = by_chance = float(np.sum(n * _entropy(totals / n)))
    for value in np.unique(values):
        group = has[values == value]
        size = len(group)
        told -= float(np.sum(size * _entropy(group.sum(axis=0) / size)))
        by_chance -= sum(size * _expected_entropy(n, int(total), size) for total in totals)
    return told, by_chance


def _entropy(share: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.clip(share, 1e-300, 1.0)
    outside = np.clip(1.0 - share, 1e-300, 1.0)
    return -share * np.log(inside) - (1.0 - share) * np.log(outside)


@lru_cache(maxsize=4096)
def _expected_entropy(n: int, total: int, size: int) -> float:
    """Return the mean entropy of a share of a group of that size, drawn from n of which `total` have something."""
    k = np.arange(max(0, size - (n - total)), min(size, total) + 1)

    def log_choose(above: int, below: NDArray[np.intp]) -> NDArray[np.float64]:
        return gammaln(above + 1) - gammaln(below + 1) - gammaln(above - below + 1)

    log_p = log_choose(total, k) + log_choose(n - total, size - k) - log_choose(n, np.array([size]))
    return float(np.exp(log_p) @ _entropy(k / size))


# ---- As axes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A parameter with one range, where it is.

    Attributes:
        item: The parameter.
        above: What decides about it, as numbers of places, and the values of that: all but the last.
        parent: The last that decides; None where nothing does.
        values: The values of the last.
    """

    item: Item
    above: tuple[tuple[int, float], ...]
    parent: int | None
    values: list[float]


def _tree_of(root: _Node, ranges: Mapping[str, Sequence[BaseDistribution]]) -> Tree:
    """Return the axes of the nodes: one where children of the same node share a parameter with one range."""
    places: list[_Place] = []
    _place(root, {}, (), ranges, places)
    names = [place.item[0] for place in places]
    axes: dict[str, Axis] = {}
    keys: list[str] = []
    for place in places:
        name, number = place.item
        when = {keys[above]: (value,) for above, value in place.above}
        key = name
        if place.parent is not None:
            parent = keys[place.parent]
            when[parent] = tuple(place.values)
            if names.count(name) > 1:
                key = f"{name} ({', '.join(f'{above} = {_said(axes[above], when[above])}' for above in when)})"
        while key in axes or (key != name and key in names):
            key += "'"
        keys.append(key)
        axes[key] = Axis(name, ranges[name][number], when)
    return Tree(axes)


def _place(
    node: _Node,
    known: Mapping[Item, int],
    path: tuple[tuple[int, float], ...],
    ranges: Mapping[str, Sequence[BaseDistribution]],
    places: list[_Place],
) -> None:
    """Add what is at a node and below it to the places, of which those above are known by their numbers."""
    known = dict(known)
    above, last = path[:-1], path[-1] if path else None
    for item in node.own:
        if is_single(ranges[item[0]][item[1]]):
            continue
        if last is None:
            number = len(places)
            places.append(_Place(item, (), None, []))
        else:
            same = [i for i, at in enumerate(places) if (at.item, at.above, at.parent) == (item, above, last[0])]
            number = same[0] if same else len(places)
            if not same:
                places.append(_Place(item, above, last[0], []))
            places[number].values.append(last[1])
        known[item] = number
    for value, child in sorted(node.children.items()):
        assert node.parent is not None
        _place(child, known, (*path, (known[node.parent], value)), ranges, places)


def _said(axis: Axis, values: Sequence[float]) -> str:
    return " or ".join(repr(axis.distribution.to_external_repr(value)) for value in values)

"""Which parameters there are where, inferred from points: a tree of branches.

At a node of the tree, some parameters are in all of its points with one range. If those are not all that its points
have, then one of them that is discrete has to decide about the others: the one whose values tell best which points have
them. Each of its values is a node of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Item = tuple[str, int]
"""A parameter with one of its ranges: its name, and the number of the range among those that it has had."""
Point = Mapping[str, float]
"""Values of parameters by their names, as numbers."""
PossibleValues = Callable[[Item], Sequence[float]]
"""Returns the values of a parameter that may decide about others, nothing for one that may not."""

_SAME = 1e-9


@dataclass(frozen=True)
class Record:
    """A point: its parameters with their ranges, and their values."""

    items: frozenset[Item]
    values: Point


@dataclass
class Node:
    """A part of the space in which some parameters have the same values.

    Attributes:
        point: Those values.
        own: What all points here have, and not all points above.
        parent: The parameter that decides about the rest; None if nothing is left.
        children: By the values of that.
    """

    point: Point
    own: list[Item]
    parent: Item | None = None
    children: dict[float, "Node"] = field(default_factory=dict[float, "Node"])

    def below(self) -> set[Item]:
        """Return what points here may have, what all above have left out."""
        return set(self.own).union(*(child.below() for child in self.children.values()))


@dataclass
class InferredBranches:
    """What points say of their space.

    Attributes:
        root: The tree.
        unexplained: Parameters that are in some points only, or have several ranges, and nothing discrete tells where.
        untried: Values of a deciding parameter, and of those above it, that no point has: what is there is not known.
    """

    root: Node = field(default_factory=lambda: Node({}, []))
    unexplained: set[str] = field(default_factory=set[str])
    untried: list[Point] = field(default_factory=list[Point])


def infer_branches(
    points: Sequence[Record], others: Sequence[Record], possible_values: PossibleValues
) -> InferredBranches:
    """Return what points say of their space.

    Args:
        points: At least one, each with all parameters of its branch.
        others: Points that may lack some.
        possible_values: Of parameters that may decide about others.
    """
    found = InferredBranches()
    found.root = _grow(points, frozenset(), {}, possible_values, found)
    for record in others:
        found.unexplained |= {name for name, _ in record.items - _possible(found.root, record)}
    return found


def _grow(
    records: Sequence[Record],
    inherited: frozenset[Item],
    point: Point,
    possible_values: PossibleValues,
    found: InferredBranches,
) -> Node:
    shared = frozenset[Item].intersection(*(record.items for record in records))
    node = Node(point, sorted(shared - inherited))
    rest = sorted(frozenset[Item].union(*(record.items for record in records)) - shared)
    if not rest:
        return node
    candidates = [item for item in sorted(shared) if item[0] not in point and possible_values(item)]
    node.parent = _best_parent(records, candidates, rest, possible_values)
    if node.parent is None:
        found.unexplained |= {name for name, _ in rest}
        return node
    name, _ = node.parent
    for value in possible_values(node.parent):
        own = [record for record in records if record.values[name] == value]
        there = {**point, name: value}
        if own:
            node.children[value] = _grow(own, shared, there, possible_values, found)
        else:
            found.untried.append(there)
    return node


def _possible(root: Node, record: Record) -> frozenset[Item]:
    """Return what a point may have, wherever it would have got to; all that it has where nothing is known."""
    found: set[Item] = set()
    node = root
    while node.parent is not None and node.parent in record.items:
        found |= set(node.own)
        child = node.children.get(record.values[node.parent[0]])
        if child is None:
            return record.items
        node = child
    return frozenset(found | node.below())


def _best_parent(
    records: Sequence[Record],
    candidates: Sequence[Item],
    rest: Sequence[Item],
    possible_values: PossibleValues,
) -> Item | None:
    """Return the parameter whose values tell best which points have the rest; None if none tells anything.

    Values that few points share tell much by chance alone: each of as many values as points would tell all. So what
    counts is how much more they tell than they would if the points had them in another order (the adjusted mutual
    information of Vinh, Epps & Bailey 2010, unnormalised). Of equals, it is the one with the fewest values.
    """
    has = np.array([[each in record.items for each in rest] for record in records])
    best: tuple[float, int] | None = None
    chosen: Item | None = None
    for item in candidates:
        values = np.array([record.values[item[0]] for record in records])
        told, by_chance = _information(values, has)
        if told <= _SAME:
            continue
        rank = round(told - by_chance, 9), -len(possible_values(item))
        if best is None or rank > best:
            best, chosen = rank, item
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

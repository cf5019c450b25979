"""The branches of a study, inferred from its trials: `regretstop.spaces.infer_branches`, in Optuna's words.

Nothing is kept from one time to the next: a trial that contradicts the tree makes another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from regretstop.spaces import MOST_VALUES, Item, Node, Point, Record, infer_branches
from regretstop_optuna._space import is_single
from regretstop_optuna._tree import Axis, Tree

Ranges = Mapping[str, Sequence[BaseDistribution]]
"""The different distributions of each parameter."""


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


def infer(observed: Sequence[Record], others: Sequence[Record], ranges: Ranges) -> Inferred:
    """Return what the trials say of the space.

    Args:
        observed: Of the observations, at least one: trials that have all parameters of their branches.
        others: Of trials that ended before they had a value: they may lack some.
        ranges: The ranges of each parameter.
    """
    found = infer_branches(observed, others, lambda item: possible_values(ranges[item[0]][item[1]]))
    return Inferred(_tree_of(found.root, ranges), found.unexplained, found.untried)


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


def _tree_of(root: Node, ranges: Ranges) -> Tree:
    """Return the axes of the nodes: one where children of the same node share a parameter with one range."""
    places: list[_Place] = []
    _place(root, {}, (), ranges, places)
    names = [place.item[0] for place in places]
    axes: dict[str, Axis] = {}
    keys: list[str] = []
    for place in places:
        name, number = place.item
        when: dict[str, tuple[float, ...]] = {keys[above]: (value,) for above, value in place.above}
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
    node: Node,
    known: Mapping[Item, int],
    path: tuple[tuple[int, float], ...],
    ranges: Ranges,
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

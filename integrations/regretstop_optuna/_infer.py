"""The branches of a study, inferred from its trials: `regretstop.spaces.infer_branches`, in Optuna's words.

Nothing is kept from one time to the next: a trial that contradicts the tree makes another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from regretstop.spaces import MOST_VALUES, Item, Node, Point, Record, infer_branches, places_of
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
    found = infer_branches(observed, others, lambda item: possible_values(_of(item, ranges)))
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


def _tree_of(root: Node, ranges: Ranges) -> Tree:
    """Return the axes of the nodes: one for all places of a parameter with one range where they make one condition."""
    places = places_of(
        root,
        lambda item: possible_values(_of(item, ranges)),
        lambda item: not is_single(_of(item, ranges)),
    )
    names = [place.item[0] for place in places.values()]
    axes: dict[str, Axis] = {}
    keys: dict[int, str] = {}
    for place_number, place in places.items():
        name, number = place.item
        when = {keys[above]: tuple(sorted(values)) for above, values in place.when.items()}
        key = name
        if when and names.count(name) > 1:
            key = f"{name} ({', '.join(f'{above} = {_said(axes[above], when[above])}' for above in when)})"
        while key in axes or (key != name and key in names):
            key += "'"
        keys[place_number] = key
        axes[key] = Axis(name, ranges[name][number], when)
    return Tree(axes)


def _of(item: Item, ranges: Ranges) -> BaseDistribution:
    name, number = item
    return ranges[name][number]


def _said(axis: Axis, values: Sequence[float]) -> str:
    return " or ".join(repr(axis.distribution.to_external_repr(value)) for value in values)

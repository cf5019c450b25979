"""Where the parameters of an inferred tree are: one place of each for all conditions that are one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from regretstop.spaces._inference import Item, Node, PossibleValues


@dataclass
class Place:
    """A parameter with one range, where it is.

    Attributes:
        item: The parameter.
        when: The values that each place that decides about it must have; places by their numbers, those above first.
    """

    item: Item
    when: dict[int, frozenset[float]]


def places_of(root: Node, possible_values: PossibleValues, is_axis: Callable[[Item], bool]) -> dict[int, Place]:
    """Return where the parameters of a tree are, by numbers, those above first.

    Args:
        root: Of the tree.
        possible_values: Of parameters that may decide about others.
        is_axis: Returns whether a parameter has more than one value.
    """
    places: dict[int, Place] = {}
    _place(root, {}, {}, is_axis, places)
    while _is_joined(places, possible_values):
        pass
    return places


def _place(
    node: Node,
    known: Mapping[Item, int],
    path: Mapping[int, frozenset[float]],
    is_axis: Callable[[Item], bool],
    places: dict[int, Place],
) -> None:
    """Add what is at a node and below it to the places, of which those above are known by their numbers."""
    known = dict(known)
    for item in node.own:
        if is_axis(item):
            known[item] = len(places)
            places[len(places)] = Place(item, dict(path))
    for value, child in sorted(node.children.items()):
        assert node.parent is not None
        _place(child, known, {**path, known[node.parent]: frozenset([value])}, is_axis, places)


def _is_joined(places: dict[int, Place], possible_values: PossibleValues) -> bool:
    """Join places of one parameter that differ in what one decision must be, and return whether there were any.

    So a condition that has nothing to do with the decisions above it is found to be one: where all values of a decision
    are among those of a place, it decides nothing.
    """
    for decision in sorted({above for place in places.values() for above in place.when}, reverse=True):
        alike: dict[tuple[Item, frozenset[tuple[int, frozenset[float]]]], list[int]] = {}
        for number, place in places.items():
            if decision in place.when:
                others = frozenset((above, values) for above, values in place.when.items() if above != decision)
                alike.setdefault((place.item, others), []).append(number)
        everything = frozenset(possible_values(places[decision].item))
        joined: dict[int, int] = {}
        is_changed = False
        for first, *rest in alike.values():
            values = places[first].when[decision].union(*(places[number].when[decision] for number in rest))
            if values == everything:
                del places[first].when[decision]
            elif rest:
                places[first].when[decision] = values
            else:
                continue
            is_changed = True
            joined |= dict.fromkeys(rest, first)
        if is_changed:
            for number in joined:
                del places[number]
            for place in places.values():
                place.when = {joined.get(above, above): known for above, known in place.when.items()}
            return True
    return False

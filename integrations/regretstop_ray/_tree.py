# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""Search spaces as trees: where their domains stand, and what a configuration is with values in their places.

In a `tune.choice` whose categories hold domains themselves, a dict for each model say, the tree goes on: Tune resolves
what is in the category that it drew. Places there begin with that of the choice and the category.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ray.tune.search import sample

from regretstop_ray._paths import Path, leads, name_of, unresolved

Place = tuple[Any, ...]
"""The keys that lead to a domain in a search space, with the categories that have to be chosen on the way."""


@dataclass(frozen=True, repr=False)
class Category:
    """A category that holds domains, as the model sees it.

    Attributes:
        number: Its place among the categories.
        outline: What it looks like, "…" standing for domains.
    """

    number: int
    outline: str

    def __repr__(self) -> str:
        return self.outline


def places(spec: Mapping[Any, Any], above: Place = ()) -> Iterator[tuple[Place, sample.Domain]]:
    """Yield the domains of a search space with their places, choices before what is in their categories.

    Raises:
        ValueError: If there is a grid search.
    """
    domains, grids = unresolved(spec)
    if grids:
        names = ", ".join(repr(name_of(path_of((*above, *path)))) for path, _ in grids)
        raise ValueError(f"grid search ({names}) cannot be combined with a search algorithm: use tune.choice instead")
    for path, domain in domains:
        place = (*above, *path)
        yield place, domain
        for category, part in parts_of(domain):
            yield from places({category: part}, place)


def parts_of(domain: sample.Domain) -> list[tuple[Category, Any]]:
    """Return the categories of a choice, if any of them holds domains, with what is in them; nothing otherwise."""
    if not isinstance(domain, sample.Categorical) or not any(map(_is_open, domain.categories)):
        return []
    return [(Category(number, _outline(part)), part) for number, part in enumerate(domain.categories)]


def path_of(place: Place) -> Path:
    """Return the keys that lead to a value in a configuration."""
    return tuple(key for key in place if not isinstance(key, Category))


def pruned(node: Any, path: Path, paths: Sequence[Path]) -> Any:
    """Return the part of a search space that leads to domains; lists on the way are kept whole."""
    if not isinstance(node, dict):
        return node
    children = cast("dict[Any, Any]", node).items()
    return {k: pruned(v, (*path, k), paths) for k, v in children if leads(paths, (*path, k))}


def filled(node: Any, place: Place, values: Mapping[Place, Any]) -> Any:
    """Return the tree with the values in place of the domains at their places, and for a category what is in it."""
    if place in values:
        value = values[place]
        if isinstance(value, Category):
            return filled(node.categories[value.number], (*place, value), values)
        return value
    if isinstance(node, dict):
        return {k: filled(v, (*place, k), values) for k, v in cast("dict[Any, Any]", node).items()}
    if isinstance(node, list | tuple) and leads(list(values), place):
        elements = [filled(v, (*place, i), values) for i, v in enumerate(cast("Sequence[Any]", node))]
        return elements if isinstance(node, list) else tuple(elements)
    return node


def _is_open(category: Any) -> bool:
    return any(unresolved({"category": category}))


def _outline(node: Any) -> str:
    if isinstance(node, Mapping):
        return "{" + ", ".join(f"{key!r}: {_outline(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list | tuple):
        return "[" + ", ".join(map(_outline, cast("Sequence[Any]", node))) + "]"
    if isinstance(node, sample.Domain):
        return " or ".join(category.outline for category, _ in parts_of(node)) or "…"
    return repr(node)

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""A choice among parts of a search space, such as a dict for each model: which of them a configuration has.

A configuration holds what was drawn, but not which category it is from. That is read off its keys and values, so no
two categories of a choice may lead to the same configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from ray.tune.search import sample

from regretstop import Categorical
from regretstop_ray._axis import Axis, Fit
from regretstop_ray._given import alike
from regretstop_ray._paths import Path, leads, lookup, name_of
from regretstop_ray._tree import Category, Place, parts_of, path_of

_NOTHING = Fit(inside=True, whole=False)
_ALL = Fit(inside=True, whole=True)


@dataclass(frozen=True)
class Choice:
    """A choice whose categories hold domains.

    Attributes:
        place: Where it stands.
        domain: Tune's domain.
        axes: All axes by their places.
        parts: The categories with what is in them.
        parameter: The choice as the model sees it: among the categories.
    """

    place: Place
    domain: sample.Categorical
    axes: "Mapping[Place, Axis | Choice]"
    parts: list[tuple[Category, Any]] = field(init=False)
    parameter: Categorical = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", parts_of(self.domain))
        object.__setattr__(self, "parameter", Categorical(category for category, _ in self.parts))

    @property
    def path(self) -> Path:
        """The keys that lead to it in a configuration."""
        return path_of(self.place)

    def value(self, modelled: Category) -> Category:
        """Return what stands for the value of a configuration until what is in the category is known, too."""
        return modelled

    def modelled(self, value: Any) -> Any:
        """Return the category that a value is of; the value itself if there is none, or no telling which."""
        if isinstance(value, Category):
            return value
        found = self.candidates(value)
        return found[0] if len(found) == 1 else value

    native = modelled

    def candidates(self, value: Any) -> list[Category]:
        """Return the categories that a value, of which parts may be missing, fits best."""
        fits = self._fits(value)
        return [category for category, each in fits.items() if each == max(fits.values())]

    def fit(self, value: Any) -> Fit | None:
        """Return how a value fits the best category; None if it fits none."""
        return max(self._fits(value).values(), default=None)

    def check_apart(self) -> None:
        """Raise ValueError if two categories may lead to the same configuration."""
        for (one, first), (two, second) in combinations(self.parts, 2):
            if not self._are_apart(first, (*self.place, one), second, (*self.place, two)):
                raise ValueError(
                    f"parameter {name_of(self.path)!r}: {one!r} and {two!r} may lead to the same configuration, which "
                    "then does not say which of them it is from: give each a constant of its own, such as a name"
                )

    def _fits(self, value: Any) -> dict[Category, Fit]:
        found = {category: self._fit(part, (*self.place, category), value) for category, part in self.parts}
        return {category: each for category, each in found.items() if each is not None}

    def _fit(self, node: Any, place: Place, value: Any) -> Fit | None:
        """Return how a value fits a part of the search space; None if it does not."""
        if place in self.axes:
            return self.axes[place].fit(value)
        if isinstance(node, Mapping):
            if not isinstance(value, Mapping) or not set(map(str, value)) <= set(map(str, node)):
                return None
            children = [(key, child, list(lookup(value, (key,)))) for key, child in node.items()]
        elif isinstance(node, list | tuple) and leads(list(self.axes), place):  # without domains it is a constant
            if not isinstance(value, list | tuple | np.ndarray) or len(value) != len(node):
                return None
            children = [(i, child, [each]) for i, (child, each) in enumerate(zip(node, value, strict=True))]
        else:
            return _ALL if alike(node, value, hidden=True) else None
        fits = [self._fit(child, (*place, key), each[0]) if each else _NOTHING for key, child, each in children]
        known = [each for each in fits if each is not None]
        if len(known) < len(fits):
            return None
        return Fit(all(each.inside for each in known), all(each.whole for each in known))

    def _are_apart(self, one: Any, here: Place, two: Any, there: Place) -> bool:
        """Return whether no value fits both parts."""
        first, second = self.axes.get(here), self.axes.get(there)
        if isinstance(second, Choice):
            return all(self._are_apart(one, here, part, (*there, own)) for own, part in second.parts)
        if isinstance(first, Choice) or (first is None and second is not None):
            return self._are_apart(two, there, one, here)
        if isinstance(first, Axis):
            return first.is_apart(second) if second is not None else first.fit(two) != _ALL
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            if one.keys() != two.keys():
                return True
            children = [(one[key], (*here, key), two[key], (*there, key)) for key in one]
        elif isinstance(one, list | tuple) and isinstance(two, list | tuple) and len(one) == len(two):
            children = [(a, (*here, i), b, (*there, i)) for i, (a, b) in enumerate(zip(one, two, strict=True))]
        else:
            return not alike(one, two, hidden=False)
        return any(self._are_apart(*child) for child in children)


def part(config: Mapping[str, Any], path: Path) -> list[Any]:
    """Return the value at a path of a configuration, nested again where its keys are joined; nothing if none is there.

    Args:
        config: Nested, or with keys joined by "/".
        path: The keys that lead to the value.
    """
    found = list(lookup(config, path))
    above = f"{name_of(path)}/"
    below: dict[str, Any] = {}
    for key, value in config.items():
        if not found and str(key).startswith(above):
            *outer, last = str(key)[len(above) :].split("/")
            node = below
            for each in outer:
                node = node.setdefault(each, {})
            node[last] = value
    return found or ([below] if below else [])

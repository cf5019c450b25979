"""What a rule shows to functions of the user: the objective's parameters, and not the axes of the model's space."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regretstop import Rule
from regretstop_optuna._digest import View
from regretstop_optuna._infer import possible_values
from regretstop_optuna._tree import Tree

Place = frozenset[tuple[str, float | None]]
"""Which axes a point has, with its values of those that can decide about others."""


@dataclass(frozen=True)
class Shown:
    """Returns the parameters that the objective has at a point of the space.

    Attributes:
        tree: The space.
        fixed: What trials had besides its axes, by where they were: parameters with a single value. One entry, for no
            place, where that is the same for all.
    """

    tree: Tree
    fixed: Mapping[Place, Mapping[str, Any]]

    def __call__(self, point: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters: of those with a single value nothing tells where they are but trials nearby."""
        here = place_of(self.tree, point)
        nearest = max(self.fixed, key=lambda place: (_axes(place) == _axes(here), len(place & here)), default=Place())
        return {**self.fixed.get(nearest, {}), **self.tree.from_space(point)}


def as_shown(rule: Rule, view: View) -> Rule:
    """Return the rule, with its functions, if it has any, made for the space of the study's model."""
    if rule.with_points(dict) == rule:  # it has no function, and need not go through the trials
        return rule
    tree = view.tree
    fixed: dict[Place, Mapping[str, Any]] = {}
    for o in view.observations:
        point = tree.to_space(o.params)
        own = {tree.axes[key].name for key in point if key in tree.axes}
        fixed[place_of(tree, point)] = {name: value for name, value in o.params.items() if name not in own}
    first = next(iter(fixed.values()), dict[str, Any]())
    if all(each == first for each in fixed.values()):
        if not first and all(key == axis.name for key, axis in tree.axes.items()):
            return rule
        fixed = {Place(): first}
    return rule.with_points(Shown(tree, fixed))


def place_of(tree: Tree, point: Mapping[str, Any]) -> Place:
    """Return where a point of the space is."""
    axes = {key: tree.axes[key].distribution for key in point if key in tree.axes}
    return frozenset((key, d.to_internal_repr(point[key]) if possible_values(d) else None) for key, d in axes.items())


def _axes(place: Place) -> set[str]:
    return {key for key, _ in place}

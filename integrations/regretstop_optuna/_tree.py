"""The search space that the model covers: the parameters that all trials share, and those that some branches have.

Optuna knows a study by its trials only, so a space is what they show. `infer` in `_infer` finds which parameters are
there where; this is what it finds, as a `regretstop.Space`, and the way between that and the parameters of a trial.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution

from regretstop import Space
from regretstop_optuna._space import Distributions, parameter


@dataclass(frozen=True)
class Axis:
    """A parameter where it has one range.

    Attributes:
        name: As the objective calls it.
        distribution: Its range.
        when: Which values the axes that decide about it must have for it to be there, in Optuna's internal form;
            nothing where it always is.
    """

    name: str
    distribution: BaseDistribution
    when: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])


@dataclass(frozen=True)
class Tree:
    """A search space with branches.

    Attributes:
        axes: By a name of their own, parents first: a parameter whose range differs from branch to branch, or that is
            there for different reasons, is several axes.
    """

    axes: Mapping[str, Axis]

    @classmethod
    def flat(cls, distributions: Distributions) -> "Tree":
        """Return the space in which all parameters are always there."""
        return cls({name: Axis(name, distribution) for name, distribution in distributions.items()})

    @property
    def has_branches(self) -> bool:
        """Whether some parameter is not always there, or not always with the same range."""
        return any(axis.when for axis in self.axes.values())

    @property
    def distributions(self) -> Distributions:
        """The distributions of all parameters by the objective's names; where one has several, any of them.

        Those can differ in their bounds only: Optuna allows a study nothing else.
        """
        return {axis.name: axis.distribution for axis in reversed(list(self.axes.values()))}

    def space(self) -> Space:
        """Return the space; its axes are in alphabetical order.

        Raises:
            ValueError: If no distribution leaves a choice, one is of an unknown kind, or there are too many branches.
        """
        axes = dict(sorted(self.axes.items()))
        when = {
            key: {
                above: list(map(self.axes[above].distribution.to_external_repr, values))
                for above, values in axis.when.items()
            }
            for key, axis in axes.items()
            if axis.when
        }
        return Space({key: parameter(axis.name, axis.distribution) for key, axis in axes.items()}, when=when or None)

    def among(self, names: Iterable[str]) -> "Tree":
        """Return what is left of the space with no other parameters than these."""
        kept, wanted = dict[str, Axis](), set(names)
        for key, axis in self.axes.items():
            if axis.name in wanted and axis.when.keys() <= kept.keys():
                kept[key] = axis
        return Tree(kept)

    def to_space(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return parameters of a trial by the names of the axes that they lie on."""
        if all(key == axis.name for key, axis in self.axes.items()):
            return params
        found: dict[str, Any] = {}
        for key, axis in self.axes.items():
            if axis.name in params and all(self._has(found, *condition) for condition in axis.when.items()):
                found[key] = params[axis.name]
        return found

    def from_space(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters by the names that the objective has for them."""
        return {self.axes[key].name: value for key, value in params.items()}

    def _has(self, found: Mapping[str, Any], parent: str, values: tuple[float, ...]) -> bool:
        if parent not in found:
            return False
        try:
            return self.axes[parent].distribution.to_internal_repr(found[parent]) in values
        except ValueError:  # an enqueued value that is none of the choices
            return False

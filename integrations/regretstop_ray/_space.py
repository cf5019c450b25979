# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""Tune's search spaces: as a `regretstop.Space`, and configurations to and from its points.

| Tune                     | values                                             | here                    |
|--------------------------|----------------------------------------------------|-------------------------|
| uniform, loguniform      | [lower, upper]                                     | Float                   |
| quniform                 | multiples of q in [lower, upper]                   | Float with a step       |
| qloguniform, qlograndint | the same, logarithmic                              | Int of the multiple     |
| randint, lograndint      | lower … upper − 1                                  | Int                     |
| qrandint                 | multiples of q in [lower, upper]; q = 1: upper − 1 | Int with a step         |
| choice                   | the categories, as given                           | Categorical             |
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from ray.tune.search import sample

from regretstop import Categorical, Float, Int, Space
from regretstop.spaces import to_python
from regretstop_ray._axis import Axis, nearly_whole
from regretstop_ray._given import hides
from regretstop_ray._paths import Path, leads, lookup, name_of, unresolved

Parameter = Float | Int | Categorical


class SearchSpace:
    """The tunable part of a Tune search space.

    Args:
        spec: A `param_space`: nested dicts and lists of domains and constants.

    Raises:
        ValueError: If a domain has no counterpart, or nothing is tunable.

    Attributes:
        space: The space of the model. Names are keys joined with "/", as in Tune's results.
        template: The tunable part of the search space.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        domains, grids = unresolved(spec)
        if grids:
            names = ", ".join(repr(name_of(path)) for path, _ in grids)
            raise ValueError(
                f"grid search ({names}) cannot be combined with a search algorithm: use tune.choice instead"
            )
        if not domains:
            raise ValueError(
                "the search space has constants only, so there is nothing to search: give at least one parameter a "
                f"domain such as tune.uniform(0, 1), got {dict(spec)!r}"
            )
        for path, _ in domains:
            if any("/" in str(key) for key in path):
                raise ValueError(
                    f"the key of parameter {name_of(path)!r} contains '/', which joins nested keys in results"
                )
        self._axes = {name_of(path): _axis(path, domain) for path, domain in domains}
        self.space = Space({name: axis.parameter for name, axis in self._axes.items()})
        self.template = cast("dict[str, Any]", _pruned(dict(spec), (), [path for path, _ in domains]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchSpace):
            return NotImplemented
        same = self.space == other.space and list(self.space) == list(other.space)
        return same and [a.unit for a in self._axes.values()] == [a.unit for a in other._axes.values()]

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> tuple[type["SearchSpace"], tuple[dict[str, Any]]]:
        return SearchSpace, (self.template,)

    def config(self, params: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the tunable part of a configuration, nested, for a point of the model.

        A list that holds something tunable is returned whole: Tune cannot merge into lists.

        Args:
            params: The point.
            given: Values that stand in the configuration as they are, in place of those of the point.
        """
        values = {self._axes[name].path: self._axes[name].value(v) for name, v in params.items()}
        values |= {self._axes[name].path: v for name, v in (given or {}).items()}
        return _filled(self.template, (), values)

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of the model for a configuration, without the parameters that it lacks.

        Args:
            config: Nested, or with keys joined by "/".
        """
        found: dict[str, Any] = {}
        for name, axis in self._axes.items():
            for value in lookup(config, axis.path):
                found[name] = axis.modelled(value)
        return found

    def nested(self, config: Mapping[str, Any], prefix: Path = ()) -> dict[str, Any]:
        """Return the tunable part of a configuration, nested; empty if it is not all there.

        Args:
            config: Nested, or with keys joined by "/".
            prefix: Keys that lead to the configuration: ("config",) in a result.
        """
        values = {a.path: a.native(v) for a in self._axes.values() for v in lookup(config, (*prefix, *a.path))}
        return _filled(self.template, (), values) if len(values) == len(self._axes) else {}

    def tunable(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that a configuration has for parameters, by their names, as Tune would sample them.

        Args:
            config: Nested, or with keys joined by "/".
        """
        return {name: axis.native(v) for name, axis in self._axes.items() for v in lookup(config, axis.path)}

    def check_values(self, label: str, config: Mapping[str, Any]) -> None:
        """Raise ValueError if a configuration has a value that is none of its parameter, outside its range or not."""
        params = self.params(config)
        try:
            self.space.encode(self.space.decode(np.full(self.space.dim, 0.5)) | params)
        except ValueError as error:
            raise ValueError(f"{label}: {error}{self._hint(params)}") from None

    def check_whole(self, label: str, config: Mapping[str, Any]) -> None:
        """Raise ValueError unless a configuration has a value for every parameter."""
        missing = self._axes.keys() - self.params(config).keys()
        if missing:
            names = ", ".join(name for name in self._axes if name in missing)
            raise ValueError(f"{label} must have a value for every parameter, got none for {names}")

    def _hint(self, params: Mapping[str, Any]) -> str:
        wrong = [self.space[name] for name, value in params.items() if not self.space[name].contains(value)]
        if not any(isinstance(parameter, Categorical) and hides(parameter.choices) for parameter in wrong):
            return ""
        return (
            ". Tune hides choices from a searcher that are no Python numbers, strings, booleans or None: give it the "
            "search space itself, GPUCBSearch(space=...)"
        )


def _axis(path: Path, domain: sample.Domain) -> Axis:
    try:
        parameter, unit = _parameter(domain)
    except ValueError as error:
        raise ValueError(f"parameter {name_of(path)!r}: {error}") from None
    return Axis(path, domain, parameter, unit)


def _parameter(domain: sample.Domain) -> tuple[Parameter, float | int | None]:
    sampler = domain.get_sampler()
    q = None
    if isinstance(sampler, sample.Quantized):
        q, sampler = cast("float", to_python(sampler.q)), sampler.get_sampler()
        if not q > 0:
            raise ValueError(f"q must be positive, got q={q!r}")
    log = isinstance(sampler, sample.LogUniform)
    if isinstance(domain, sample.Categorical):
        return Categorical(_flat_choices(domain.categories)), None
    if isinstance(domain, sample.Function):
        raise ValueError(
            "a Function (tune.sample_from) may depend on other parameters, which makes the space conditional, and that "
            "is not modelled: compute the value in the trainable, or use a domain such as tune.uniform"
        )
    if not (log or isinstance(sampler, sample.Uniform)) or not isinstance(domain, sample.Float | sample.Integer):
        raise ValueError(
            f"a regret bound needs a bounded range, which {type(domain).__name__} sampled by "
            f"{type(sampler).__name__} has not: use tune.uniform, tune.loguniform, tune.randint or tune.choice"
        )
    if isinstance(domain, sample.Float):
        if q is None:
            return Float(domain.lower, domain.upper, log=log), None
        if not log:
            return Float(domain.lower, domain.upper, step=q), None
        first, last = _multiples(domain, q)
        return Int(first, last, log=True), q
    if q is None or q == 1:  # Tune excludes the upper bound in these cases only
        return Int(domain.lower, domain.upper - 1, log=log), None
    first, last = _multiples(domain, q)
    if log:
        return Int(first, last, log=True), q
    return Int(first * int(q), last * int(q), step=int(q)), None


def _multiples(domain: sample.Float | sample.Integer, q: float) -> tuple[int, int]:
    """Return the first and the last k with k q in the domain, forgiving rounding errors as Tune does."""
    first, last = (nearly_whole(bound / q) for bound in (domain.lower, domain.upper))
    if math.ceil(first) > math.floor(last):
        raise ValueError(f"no multiple of q={q!r} lies in [{domain.lower!r}, {domain.upper!r}]")
    return math.ceil(first), math.floor(last)


def _flat_choices(categories: Sequence[Any]) -> Sequence[Any]:
    for category in categories:
        if isinstance(category, dict | list | tuple) and any(unresolved({"choice": category})):
            raise ValueError(
                f"a domain inside tune.choice makes the space conditional, which is not modelled: {category!r}"
            )
    return categories


def _pruned(node: Any, path: Path, paths: Sequence[Path]) -> Any:
    """Return the part of a search space that leads to domains; lists on the way are kept whole."""
    if not isinstance(node, dict):
        return node
    children = cast("dict[Any, Any]", node).items()
    return {k: _pruned(v, (*path, k), paths) for k, v in children if leads(paths, (*path, k))}


def _filled(node: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    """Return the tree with the values in place of the domains at their paths."""
    if path in values:
        return values[path]
    if isinstance(node, dict):
        return {k: _filled(v, (*path, k), values) for k, v in cast("dict[Any, Any]", node).items()}
    if isinstance(node, list | tuple) and leads(list(values), path):
        parts = [_filled(v, (*path, i), values) for i, v in enumerate(cast("Sequence[Any]", node))]
        return parts if isinstance(node, list) else tuple(parts)
    return node

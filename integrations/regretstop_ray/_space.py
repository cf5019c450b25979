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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from ray.tune.search import sample
from ray.tune.search.variant_generator import parse_spec_vars

from regretstop import Categorical, Float, Int, Space

Path = tuple[Any, ...]
Parameter = Float | Int | Categorical


@dataclass(frozen=True)
class _Axis:
    """One tunable value.

    Attributes:
        path: The keys that lead to it in a configuration.
        domain: Tune's domain.
        parameter: The same for the model.
        unit: Where the model counts multiples of Tune's q: q. None where it sees the value itself.
    """

    path: Path
    domain: sample.Domain
    parameter: Parameter
    unit: float | int | None

    def value(self, modelled: Any) -> Any:
        """Return the value that a configuration holds, of the type that Tune's own sampling gives it."""
        if self.unit is None:
            return self.domain.cast(modelled)
        # In decimal, as for steps: 3 × 0.1 is 0.3.
        return self.domain.cast(Decimal(repr(self.unit)) * modelled)

    def modelled(self, value: Any) -> Any:
        """Return what the model sees of a value; what is no number is left to the model to refuse."""
        if self.unit is None or isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return _nearly_whole(value / self.unit)  # or 0.3 / 0.1 would be another point than 3


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
            names = ", ".join(repr(_name(path)) for path, _ in grids)
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
                    f"the key of parameter {_name(path)!r} contains '/', which joins nested keys in results"
                )
        self._axes = {_name(path): _axis(path, domain) for path, domain in domains}
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

    def config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tunable part of a configuration, nested, for a point of the model.

        A list that holds something tunable is returned whole: Tune cannot merge into lists.
        """
        values = {self._axes[name].path: self._axes[name].value(v) for name, v in params.items()}
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
        values = {a.path: v for a in self._axes.values() for v in lookup(config, (*prefix, *a.path))}
        return _filled(self.template, (), values) if len(values) == len(self._axes) else {}

    def check_point(self, label: str, config: Mapping[str, Any]) -> None:
        """Raise ValueError unless the configuration has a value for every parameter and for nothing else."""
        missing = [name for name, axis in self._axes.items() if not list(lookup(config, axis.path))]
        if missing:
            raise ValueError(f"{label} must have a value for every parameter, got none for {', '.join(missing)}")
        unknown = [name for name in config if all(str(a.path[0]) != name.split("/")[0] for a in self._axes.values())]
        if unknown:
            raise ValueError(f"{label} has no such parameters: {', '.join(map(repr, unknown))}")
        try:
            self.space.encode(self.params(config))
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None


def unresolved(spec: Mapping[str, Any]) -> tuple[list[tuple[Path, Any]], list[tuple[Path, Any]]]:
    """Return the domains and the grid searches in a search space, each with its path."""
    _, domains, grids = parse_spec_vars(dict(spec))
    return domains, grids


def lookup(mapping: Mapping[str, Any], path: Path) -> Iterator[Any]:
    """Yield the value at a path of a mapping that may be nested or flattened; nothing if there is none."""
    for length in range(len(path), 0, -1):
        key = path[0] if length == 1 else _name(path[:length])
        if key in mapping:
            value = mapping[key]
            for part in path[length:]:
                try:
                    value = value[part]
                except (KeyError, IndexError, TypeError):
                    return
            yield value
            return


def metric_path(metric: str) -> Path:
    """Return the path of a metric, which Tune names by its keys joined with "/"."""
    return tuple(metric.split("/"))


def _name(path: Path) -> str:
    return "/".join(map(str, path))


def _axis(path: Path, domain: sample.Domain) -> _Axis:
    try:
        parameter, unit = _parameter(domain)
    except ValueError as error:
        raise ValueError(f"parameter {_name(path)!r}: {error}") from None
    return _Axis(path, domain, parameter, unit)


def _parameter(domain: sample.Domain) -> tuple[Parameter, float | int | None]:
    sampler = domain.get_sampler()
    q = None
    if isinstance(sampler, sample.Quantized):
        q, sampler = sampler.q, sampler.get_sampler()
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
    first, last = (_nearly_whole(bound / q) for bound in (domain.lower, domain.upper))
    if math.ceil(first) > math.floor(last):
        raise ValueError(f"no multiple of q={q!r} lies in [{domain.lower!r}, {domain.upper!r}]")
    return math.ceil(first), math.floor(last)


def _nearly_whole(ratio: float) -> float:
    return round(ratio) if math.isclose(ratio, round(ratio)) else ratio


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
    return {k: _pruned(v, (*path, k), paths) for k, v in children if _leads(paths, (*path, k))}


def _filled(node: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    """Return the tree with the values in place of the domains at their paths."""
    if path in values:
        return values[path]
    if isinstance(node, dict):
        return {k: _filled(v, (*path, k), values) for k, v in cast("dict[Any, Any]", node).items()}
    if isinstance(node, list | tuple) and _leads(list(values), path):
        parts = [_filled(v, (*path, i), values) for i, v in enumerate(cast("Sequence[Any]", node))]
        return parts if isinstance(node, list) else tuple(parts)
    return node


def _leads(paths: Sequence[Path], prefix: Path) -> bool:
    return any(path[: len(prefix)] == prefix for path in paths)

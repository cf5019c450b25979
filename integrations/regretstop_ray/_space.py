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

A choice whose categories hold domains is a Categorical of the categories, and what they hold is there only with them.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, cast

from ray.tune.search import sample

from regretstop import Categorical, Float, Int, Space
from regretstop.spaces import to_python
from regretstop_ray._axis import Axis, nearly_whole
from regretstop_ray._choice import Choice, part
from regretstop_ray._given import alike, hides
from regretstop_ray._paths import Path, lookup, name_of
from regretstop_ray._tree import Category, Place, filled, parts_of, path_of, places, pruned

Parameter = Float | Int | Categorical


class SearchSpace:
    """The tunable part of a Tune search space.

    Args:
        spec: A `param_space`: nested dicts and lists of domains and constants.

    Raises:
        ValueError: If a domain has no counterpart, nothing is tunable, or two categories of a choice that hold domains
            may lead to the same configuration.

    Attributes:
        space: The space of the model. Names are keys joined with "/", as in Tune's results. Where several categories of
            a choice have different domains of one name, the later ones are followed by the number of the category.
        template: The tunable part of the search space.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        # By their places; one that is the same in several categories is one axis.
        self._axes: dict[Place, Axis | Choice] = {}
        self._named: dict[str, Axis | Choice] = {}
        self._names: dict[Place, str] = {}
        self._when: dict[str, dict[str, list[Category]]] = {}
        for place, domain in places(spec):
            self._add(place, domain)
        if not self._axes:
            raise ValueError(
                "the search space has constants only, so there is nothing to search: give at least one parameter a "
                f"domain such as tune.uniform(0, 1), got {dict(spec)!r}"
            )
        for axis in self._named.values():
            if isinstance(axis, Choice):
                axis.check_apart()
        self.space = Space({name: axis.parameter for name, axis in self._named.items()}, when=self._when or None)
        self.template = cast("dict[str, Any]", pruned(dict(spec), (), list(self._axes)))

    def _add(self, place: Place, domain: sample.Domain) -> None:
        path = path_of(place)
        if any("/" in str(key) for key in path):
            raise ValueError(f"the key of parameter {name_of(path)!r} contains '/', which joins nested keys in results")
        axis = self._axes[place] = _axis(place, domain, self._axes)
        inner = [i for i, key in enumerate(place) if isinstance(key, Category)]
        above = {self._names[place[: inner[-1]]]: [place[inner[-1]]]} if inner else {}
        for name, known in self._named.items():
            if _is_same(axis, known) and self._when.get(name, {}).keys() == above.keys():
                for choice, categories in above.items():
                    self._when[name][choice] += categories
                self._names[place] = name
                return
        name = name_of(path)
        while name in self._named:
            name += f" [{', '.join(str(place[i].number) for i in inner)}]"
        self._names[place], self._named[name] = name, axis
        if above:
            self._when[name] = above

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchSpace):
            return NotImplemented
        return self._identity() == other._identity()

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _identity(self) -> tuple[Any, ...]:
        units = [axis.unit if isinstance(axis, Axis) else None for axis in self._named.values()]
        return list(self.space.items()), self._when, units

    def __reduce__(self) -> tuple[type["SearchSpace"], tuple[dict[str, Any]]]:
        return SearchSpace, (self.template,)

    def config(self, params: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the tunable part of a configuration, nested, for a point of the model.

        A list that holds something tunable is returned whole: Tune cannot merge into lists.

        Args:
            params: The point. Parameters that are not there with its choices are ignored.
            given: Values that stand in the configuration as they are, in place of those of the point.
        """
        return self._filled({name: self._named[name].value(v) for name, v in params.items()} | dict(given or {}))

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of the model for a configuration, without the parameters that it lacks.

        Args:
            config: Nested, or with keys joined by "/".
        """
        return {name: axis.modelled(value) for name, axis, value in self._found(config)}

    def nested(self, config: Mapping[str, Any], prefix: Path = ()) -> dict[str, Any]:
        """Return the tunable part of a configuration, nested; empty if it is not all there.

        What is none of a choice's categories is kept: the model is to see that it is not.

        Args:
            config: Nested, or with keys joined by "/".
            prefix: Keys that lead to the configuration: ("config",) in a result.
        """
        values = self.given(config, prefix)
        return {} if self.missing(values) else self._filled(values)

    def given(self, config: Mapping[str, Any], prefix: Path = ()) -> dict[str, Any]:
        """Return the values that a configuration has for parameters, by their names, as Tune would sample them.

        Args:
            config: Nested, or with keys joined by "/".
            prefix: Keys that lead to the configuration.
        """
        return {name: axis.native(value) for name, axis, value in self._found(config, prefix)}

    def tunable(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same as a configuration with joined keys: what belongs to a category stands in it.

        Args:
            config: Nested, or with keys joined by "/".
        """
        found = [each for each in self._found(config) if each[0] not in self._when]
        return {name: value if isinstance(axis, Choice) else axis.native(value) for name, axis, value in found}

    def missing(self, values: Mapping[str, Any]) -> list[str]:
        """Return the parameters that have no value, of those that are there with the categories that values name."""
        return [name for name in self._named if name not in values and self._is_active(name, values)]

    def strange(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values in a configuration that are no number, or no choice, of their parameter, by its name."""
        found = self._found(config)
        return {
            name: value
            for name, axis, value in found
            if axis.fit(value) is None or (isinstance(axis, Choice) and len(axis.candidates(value)) != 1)
        }

    def check_values(self, label: str, config: Mapping[str, Any]) -> None:
        """Raise ValueError if a configuration has a value that is none of its parameter, outside its range or not."""
        params = self.params(config)
        try:
            self.space.encode({name: p.decode(0.5) for name, p in self.space.items()} | params)
        except ValueError as error:
            raise ValueError(f"{label}: {error}{self._hint(params)}") from None

    def check_whole(self, label: str, config: Mapping[str, Any]) -> None:
        """Raise ValueError unless a configuration has a value for every parameter."""
        missing = self.missing(self.params(config))
        if missing:
            raise ValueError(f"{label} must have a value for every parameter, got none for {', '.join(missing)}")

    def _found(self, config: Mapping[str, Any], prefix: Path = ()) -> Iterator[tuple[str, Axis | Choice, Any]]:
        """Yield the values in a configuration with their names and axes, a category before what is in it."""
        chosen: dict[str, Any] = {}
        for name, axis in self._named.items():
            if not self._is_active(name, chosen):
                continue
            path = (*prefix, *axis.path)
            for value in part(config, path) if isinstance(axis, Choice) else lookup(config, path):
                if isinstance(axis, Choice):
                    chosen[name] = axis.modelled(value)
                yield name, axis, value

    def _is_active(self, name: str, values: Mapping[str, Any]) -> bool:
        chosen = [(values.get(choice), categories) for choice, categories in self._when.get(name, {}).items()]
        return all(isinstance(value, Category) and value in categories for value, categories in chosen)

    def _filled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return filled(self.template, (), {place: values[n] for place, n in self._names.items() if n in values})

    def _hint(self, params: Mapping[str, Any]) -> str:
        wrong = [(self._named[name], value) for name, value in params.items() if not self.space[name].contains(value)]
        if any(isinstance(axis.domain, sample.Categorical) and hides(axis.domain.categories) for axis, _ in wrong):
            return (
                ". Tune hides choices from a searcher that are no Python numbers, strings, booleans or None: give it "
                "the search space itself, GPUCBSearch(space=...)"
            )
        several = [axis.candidates(value) for axis, value in wrong if isinstance(axis, Choice)]
        return "".join(f". It could be {' or '.join(map(repr, found))}: give more of it" for found in several if found)


def _axis(place: Place, domain: sample.Domain, axes: Mapping[Place, Axis | Choice]) -> Axis | Choice:
    if isinstance(domain, sample.Categorical) and parts_of(domain):
        return Choice(place, domain, axes)
    path = path_of(place)
    try:
        parameter, unit = _parameter(domain)
    except ValueError as error:
        raise ValueError(f"parameter {name_of(path)!r}: {error}") from None
    return Axis(path, domain, parameter, unit)


def _is_same(one: Axis | Choice, other: Axis | Choice) -> bool:
    """Return whether two axes, of different categories, are of one parameter."""
    if isinstance(one, Choice) or isinstance(other, Choice) or one.path != other.path:
        return False
    if isinstance(one.parameter, Categorical) and isinstance(other.parameter, Categorical):
        pairs = list(zip_longest(one.parameter.choices, other.parameter.choices))
        return all(type(a) is type(b) and alike(a, b, hidden=False) for a, b in pairs)
    return (one.parameter, one.unit) == (other.parameter, other.unit)


def _parameter(domain: sample.Domain) -> tuple[Parameter, float | int | None]:
    sampler = domain.get_sampler()
    q = None
    if isinstance(sampler, sample.Quantized):
        q, sampler = cast("float", to_python(sampler.q)), sampler.get_sampler()
        if not q > 0:
            raise ValueError(f"q must be positive, got q={q!r}")
    log = isinstance(sampler, sample.LogUniform)
    if isinstance(domain, sample.Categorical):
        return Categorical(domain.categories), None
    if isinstance(domain, sample.Function):
        raise ValueError(
            "a Function (tune.sample_from) may depend on other parameters in any way, which is not modelled: compute "
            "the value in the trainable, or use a domain such as tune.uniform"
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

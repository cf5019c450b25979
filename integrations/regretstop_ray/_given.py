# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""Configurations that a user gives: what may stand in them, and when a value is one of the search space."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from ray import cloudpickle
from ray.tune.search.sample import Domain

from regretstop.spaces import to_python
from regretstop_ray._paths import Path, leads, name_of, unresolved
from regretstop_ray._tree import parts_of

# What Tune shows a searcher in place of functions, and of whatever is no number, string, boolean or None.
_PLACEHOLDERS = ("__ref_ph", "__fn_ph")


def check_names(label: str, config: Mapping[str, Any], *specs: Mapping[str, Any]) -> None:
    """Check that a configuration holds nothing but values for parameters, and constants as they are.

    Args:
        label: What errors call the configuration.
        config: Nested, or with keys joined by "/".
        specs: Search spaces, the first of which is right where they contradict each other.

    Raises:
        ValueError: If it names what no search space has, or gives a constant another value. One that Tune hides from
            searchers may have any: it cannot be compared.
    """
    nodes: dict[str, Any] = {}
    for spec in reversed(specs):
        domains, _ = unresolved(spec)
        nodes |= {name_of(path): node for path, node in _nodes(spec, (), [path for path, _ in domains])}
    choices = [f"{name}/" for name, node in nodes.items() if isinstance(node, Domain) and parts_of(node)]
    unknown: list[str] = []

    def read(name: str, value: Any) -> None:
        if any(map(name.startswith, choices)):
            return  # the names in its categories are for the choice to know
        if name not in nodes:
            unknown.append(name)
            return
        node = nodes[name]
        if isinstance(node, _Branches):
            if not node.fits(value):
                raise ValueError(f"{label} must have {name!r} nested as in the search space, got {value!r}")
            for key, part in _children(value):
                read(f"{name}/{key}", part)
        elif not isinstance(node, Domain) and not alike(node, value, hidden=True):
            raise ValueError(
                f"{label} has {value!r} for {name!r}, which is the constant {node!r} in the search space: leave it out"
            )

    for key, value in config.items():
        read(str(key), value)
    if unknown:
        raise ValueError(f"{label} has no such parameters: {', '.join(map(repr, unknown))}")


def hides(value: Any) -> bool:
    """Return whether Tune shows a placeholder here, or inside."""
    if isinstance(value, Mapping):
        return any(map(hides, value.values()))
    return _is_placeholder(value) or (isinstance(value, list | tuple) and any(map(hides, value)))


def alike(known: Any, given: Any, *, hidden: bool) -> bool:
    """Return whether two values are the same, as far as a table or a file can tell.

    Numbers are compared by value, lists, tuples and arrays by their elements, objects that Tune has copied by what they
    would be pickled as.

    Args:
        known: A value of the search space.
        given: What the user gives for it.
        hidden: What a comparison with something that Tune hides returns.
    """
    known, given = to_python(known), to_python(given)
    if known is given:
        return True
    if _is_placeholder(known):
        return known == given if _is_placeholder(given) else hidden
    if isinstance(known, Mapping) and isinstance(given, Mapping):
        return known.keys() == given.keys() and all(alike(known[key], given[key], hidden=hidden) for key in known)
    if isinstance(known, list | tuple | np.ndarray) and isinstance(given, list | tuple | np.ndarray):
        return len(known) == len(given) and all(map(partial(alike, hidden=hidden), known, given))
    try:
        if bool(known == given) or bool(known != known and given != given):  # NaN is like NaN
            return True
    except (TypeError, ValueError):  # what has no single truth value, such as a table
        return False
    return _is_copy(known, given)


def _is_copy(known: Any, given: Any) -> bool:
    """Return whether two objects that are not equal may be so only because their class does not say when they are."""
    if type(known) is not type(given) or type(known).__eq__ is not object.__eq__:
        return False
    try:
        return cloudpickle.dumps(known) == cloudpickle.dumps(given)  # pyright: ignore[reportPrivateImportUsage]
    except Exception:  # whatever the class raises
        return False


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and value[0] in _PLACEHOLDERS


class _Branches:
    """A node that leads to others."""

    def __init__(self, node: Any) -> None:
        self._length = None if isinstance(node, Mapping) else len(node)

    def fits(self, value: Any) -> bool:
        """Return whether a value has the same kind of branches; a list has all of them."""
        if self._length is None:
            return isinstance(value, Mapping)
        return isinstance(value, list | tuple) and len(cast("Sequence[Any]", value)) == self._length


def _nodes(node: Any, path: Path, domains: Sequence[Path]) -> Iterator[tuple[Path, Any]]:
    """Yield the nodes of a search space with their paths; a list without domains is one constant."""
    if isinstance(node, dict) or (isinstance(node, list | tuple) and leads(domains, path)):
        yield path, _Branches(node)
        for key, child in _children(node):
            yield from _nodes(child, (*path, key), domains)
    else:
        yield path, node


def _children(node: Any) -> Iterator[tuple[Any, Any]]:
    return iter(node.items()) if isinstance(node, Mapping) else enumerate(node)

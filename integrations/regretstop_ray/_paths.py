# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""Where values stand in nested configurations and results, and in those whose keys Tune has joined."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ray.tune.search.variant_generator import parse_spec_vars

Path = tuple[Any, ...]


def unresolved(spec: Mapping[str, Any]) -> tuple[list[tuple[Path, Any]], list[tuple[Path, Any]]]:
    """Return the domains and the grid searches in a search space, each with its path."""
    _, domains, grids = parse_spec_vars(dict(spec))
    return domains, grids


def lookup(mapping: Mapping[str, Any], path: Path) -> Iterator[Any]:
    """Yield the value at a path of a mapping that may be nested or flattened; nothing if there is none."""
    keys = [(name_of(path[:length]), path[length:]) for length in range(len(path), 0, -1)]
    for key, rest in [*keys, (path[0], path[1:])]:
        if key in mapping:
            value = mapping[key]
            for part in rest:
                try:
                    value = value[part]
                except (KeyError, IndexError, TypeError):
                    return
            yield value
            return


def metric_path(metric: str) -> Path:
    """Return the path of a metric, which Tune names by its keys joined with "/"."""
    return tuple(metric.split("/"))


def name_of(path: Path) -> str:
    """Return the name of a value: its keys joined with "/", as in Tune's results."""
    return "/".join(map(str, path))


def leads(paths: Sequence[Path], prefix: Path) -> bool:
    """Return whether one of the paths begins with the prefix."""
    return any(path[: len(prefix)] == prefix for path in paths)

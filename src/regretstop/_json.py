"""Certificates as strict JSON: what JSON cannot say, the parts of a certificate, and how earlier versions had them."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

VERSION = 2
_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# What fields of parts are called in the `terms` of version 1, where it is not their own name.
_NAME_IN_1 = {"spent": "risk_spent", "probability": "probability_left", "n_paths": "paths"}


def to_json(value: Any) -> Any:
    """Return a scalar as plain Python, numpy's included, a part as a dictionary, and an infinity or NaN as a string."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    return value


def from_json(value: Any) -> Any:
    """Return a scalar that `to_json` may have turned into a string."""
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


def names_in(kind: type[Any], data: Any, name: str = "data") -> list[str]:
    """Return the names of the fields that data has for a dataclass: all of them, but those with a default may lack.

    Raises:
        ValueError: If another is missing, or if data is no mapping.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"{name} must be a mapping, got {data!r}")
    # A field with a default may be younger than what was stored, which then means the default.
    names = [f.name for f in fields(kind) if f.default is MISSING or f.name in data]
    missing = [each for each in names if each not in data]
    if missing:
        raise ValueError(f"{name} must have every field, got none for {', '.join(missing)}")
    return names


def part_from_json(kind: type[Any], data: Any, name: str) -> Any:
    """Return the part of this kind, None where there is none.

    Raises:
        ValueError: If a field is missing.
    """
    if data is None:
        return None
    return kind(**{each: from_json(data[each]) for each in names_in(kind, data, name)})


def in_version_2(data: Mapping[str, Any], parts: Mapping[str, type[Any]]) -> Mapping[str, Any]:
    """Return the dictionary of a certificate of version 1 or 2 in the form of version 2.

    Version 1 had one mapping, `terms`, also for what parts have now. What makes up no whole part stays there.

    Args:
        data: The dictionary.
        parts: The dataclass of each part, by its name.

    Raises:
        ValueError: If the version is another one.
    """
    version = data.get("version")
    if version not in (1, VERSION):
        raise ValueError(f"version must be 1 or {VERSION}, got version={version!r}")
    if version == VERSION or "terms" not in data:
        return data
    terms = dict(data["terms"])
    found: dict[str, Any] = {name: terms.pop(name) for name in ("maximum", "test", "next_test") if name in terms}
    for name, kind in parts.items():
        names = {f.name: _NAME_IN_1.get(f.name, f.name) for f in fields(kind)}
        part = {new: terms[old] for new, old in names.items() if old in terms}
        if part and all(f.name in part for f in fields(kind) if f.default is MISSING):
            found[name] = part
            terms = {old: value for old, value in terms.items() if old not in names.values()}
    return {**data, **found, "terms": terms}

"""The certificate: what a rule concluded from the data, in words and as strict JSON.

What JSON cannot say is a string there, a part is a dictionary, and certificates of earlier versions are read.
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Self, get_args

from regretstop import prose
from regretstop.statement import (
    Guarantee,
    MaximumBy,
    Measure,
    ModelReport,
    Noise,
    ProbabilityLeft,
    RiskSpent,
    Statement,
)

_VERSION = 2
_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# What fields of parts are called in the `terms` of version 1, where it is not their own name.
_NAME_IN_1 = {"spent": "risk_spent", "probability": "probability_left", "n_paths": "paths"}
_PARTS: Mapping[str, type[Any]] = {
    "risk": RiskSpent,
    "model": ModelReport,
    "noise": Noise,
    "left": ProbabilityLeft,
}
_CHOICES: Mapping[str, Any] = {
    "guarantee": get_args(Guarantee),
    "optimality_gap_guarantee": get_args(Guarantee),
    "measure": get_args(Measure),
    "maximum": (*get_args(MaximumBy), None),
}


@dataclass(frozen=True, kw_only=True)
class Certificate(Statement):
    """How far the incumbent can be from the optimum, and whether that is close enough to stop.

    `print(certificate)` says it in words. Certificates are equal if all their fields are.

    Its fields are those of a `Statement`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as strict JSON: infinities and NaN become strings.

        Returns:
            The fields, and "version" and "stop". `from_dict` is the inverse.
        """
        values = {f.name: _to_json(getattr(self, f.name)) for f in fields(self)}
        values["terms"] = {name: _to_json(value) for name, value in self.terms.items()}
        return {"version": _VERSION, **values, "stop": self.stop}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the certificate that `to_dict`, of this version of the package or an earlier one, made a dictionary.

        Args:
            data: The dictionary. "stop" is not read: it follows from the rest.

        Raises:
            ValueError: If the version is unknown, a field is missing or a word such as a guarantee has no meaning.
        """
        data = _in_version_2(data, _PARTS)
        values = {name: data[name] for name in _names_in(cls, data)}
        for name, known in _CHOICES.items():
            if name in values and values[name] not in known:
                raise ValueError(f"{name} must be one of {known}, got {name}={values[name]!r}")
        for name in ("bound", "epsilon", "delta", "incumbent_value", "optimality_gap"):
            values[name] = _from_json(values[name])
        values["terms"] = {name: _from_json(value) for name, value in data["terms"].items()}
        for name, kind in _PARTS.items():
            values[name] = _part_from_json(kind, values.get(name), name)
        return cls(**values)

    def summary(self) -> str:
        """Return in one line what was decided, for a log."""
        return prose.summary(self)

    def __str__(self) -> str:
        return prose.text(self)


def _to_json(value: Any) -> Any:
    """Return a scalar as plain Python, numpy's included, a part as a dictionary, and an infinity or NaN as a string."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if is_dataclass(value):
        return {f.name: _to_json(getattr(value, f.name)) for f in fields(value)}
    return value


def _from_json(value: Any) -> Any:
    """Return a scalar that `_to_json` may have turned into a string."""
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


def _names_in(kind: type[Any], data: Any, name: str = "data") -> list[str]:
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


def _part_from_json(kind: type[Any], data: Any, name: str) -> Any:
    """Return the part of this kind, None where there is none.

    Raises:
        ValueError: If a field is missing.
    """
    if data is None:
        return None
    return kind(**{each: _from_json(data[each]) for each in _names_in(kind, data, name)})


def _in_version_2(data: Mapping[str, Any], parts: Mapping[str, type[Any]]) -> Mapping[str, Any]:
    """Return the dictionary of a certificate of version 1 or 2 in the form of version 2.

    Version 1 had one mapping, `terms`, also for what parts have now. What makes up no whole part stays there.

    Args:
        data: The dictionary.
        parts: The dataclass of each part, by its name.

    Raises:
        ValueError: If the version is another one.
    """
    version = data.get("version")
    if version not in (1, _VERSION):
        raise ValueError(f"version must be 1 or {_VERSION}, got version={version!r}")
    if version == _VERSION or "terms" not in data:
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

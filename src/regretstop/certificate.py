"""The certificate: what a rule concluded from the data, in words and as strict JSON.

What JSON cannot say is a string there, a part is a dictionary, and certificates of earlier versions are read.
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

from regretstop import prose
from regretstop.statement import (
    Asked,
    Claim,
    DataSeen,
    GapClaim,
    Guarantee,
    MaximumBy,
    MeanRegret,
    Measure,
    ModelReport,
    Noise,
    ProbabilityLeft,
    RiskSpent,
    Statement,
)

if TYPE_CHECKING:
    from typing import Self  # the standard library's own is of Python 3.11

_VERSION = 2
_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# What fields of parts are called in the `terms` of version 1, where it is not their own name.
_NAME_IN_1 = {"spent": "risk_spent", "probability": "probability_left", "n_paths": "paths"}
# Parts whose fields stand in the dictionary among the others, and what they are called there if not by their own name.
_SPREAD: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "asked": (Asked, {}),
    "claim": (Claim, {}),
    "gap": (
        GapClaim,
        {
            "bound": "optimality_gap",
            "guarantee": "optimality_gap_guarantee",
            "incumbent": "optimality_gap_incumbent",
        },
    ),
    "data": (DataSeen, {}),
}
# Parts that are dictionaries in it.
_PARTS: Mapping[str, type[Any]] = {
    "risk": RiskSpent,
    "model": ModelReport,
    "noise": Noise,
    "left": ProbabilityLeft,
    "expected_regret": MeanRegret,
}
# Statements of the other rules of a combination, each a dictionary in a list.
_OTHERS = "others"
_CHOICES: Mapping[str, Any] = {
    "guarantee": get_args(Guarantee),
    "optimality_gap_guarantee": get_args(Guarantee),
    "measure": get_args(Measure),
    "maximum": (*get_args(MaximumBy), None),
}
# What decides, and what is said of it: without a number there is no certificate.
_NUMBERS = ("epsilon", "delta", "bound", "optimality_gap")


@dataclass(frozen=True, kw_only=True)
class Certificate(Statement):
    """How far the incumbent can be from the optimum, and whether that is close enough to stop.

    `print(certificate)` says it in words. Certificates are equal if all their fields are.

    Its fields are those of a `Statement`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as strict JSON: infinities and NaN become strings.

        Returns:
            What the parts say, and "version" and "stop". `from_dict` is the inverse.
        """
        values: dict[str, Any] = {"version": _VERSION}
        for f in fields(self):
            part = getattr(self, f.name)
            if f.name in _SPREAD:
                values |= {_SPREAD[f.name][1].get(own, own): value for own, value in _to_json(part).items()}
            elif f.name == _OTHERS:
                values[f.name] = [Certificate.to_dict(each) for each in part]
            else:
                values[f.name] = _to_json(part) if f.name in _PARTS else part
        return {**values, "stop": self.stop}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Self":
        """Return the certificate that `to_dict`, of this version of the package or an earlier one, made a dictionary.

        Args:
            data: The dictionary. "stop" is not read: it follows from the rest.

        Raises:
            ValueError: If the version is unknown, a field is missing or no number, or a word such as a guarantee has no
                meaning.
        """
        data = _in_version_2(data)
        for name, known in _CHOICES.items():
            if name in data and data[name] not in known:
                raise ValueError(f"{name} must be one of {known}, got {name}={data[name]!r}")
        for name in _NUMBERS:
            value = _from_json(data.get(name, 0.0))
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise ValueError(f"{name} must be a number, got {name}={data[name]!r}")
        missing = _missing(cls, data)
        if missing:
            raise ValueError(f"data must have every field, got none for {', '.join(missing)}")
        values: dict[str, Any] = {}
        for f in fields(cls):
            if f.name in _SPREAD:
                kind, called = _SPREAD[f.name]
                own = {each.name: called.get(each.name, each.name) for each in fields(kind)}
                values[f.name] = kind(**{one: _from_json(data[other]) for one, other in own.items() if other in data})
            elif f.name == _OTHERS:
                values[f.name] = tuple(map(Certificate.from_dict, data.get(f.name, ())))
            elif f.name in _PARTS:
                values[f.name] = _part_from_json(_PARTS[f.name], data.get(f.name), f.name)
            else:
                values[f.name] = data[f.name]
        return cls(**values)

    def summary(self) -> str:
        """Return in one line what was decided, for a log."""
        return prose.summary(self)

    def __str__(self) -> str:
        return prose.text(self)


def _to_json(value: Any) -> Any:
    """Return a scalar as plain Python, numpy's included, a part as a dictionary, and an infinity or NaN as a string."""
    if isinstance(value, Mapping):
        return {name: _to_json(each) for name, each in cast(Mapping[str, Any], value).items()}
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
    """Return a value, or a mapping of some, that `_to_json` may have turned into strings."""
    if isinstance(value, Mapping):
        return {name: _from_json(each) for name, each in cast(Mapping[str, Any], value).items()}
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


def _missing(kind: type[Any], data: Mapping[str, Any]) -> list[str]:
    """Return the names of what a dictionary lacks to be a certificate of this kind."""
    missing: list[str] = []
    for f in fields(kind):
        if f.name in _SPREAD:
            spread, called = _SPREAD[f.name]
            missing += [called.get(name, name) for name in _required(spread)]
        elif f.default is MISSING:
            missing.append(f.name)
    return [name for name in missing if name not in data]


def _required(kind: type[Any]) -> list[str]:
    """Return the names of the fields without a default: one with a default may be younger than what was stored."""
    return [f.name for f in fields(kind) if f.default is MISSING]


def _part_from_json(kind: type[Any], data: Any, name: str) -> Any:
    """Return the part of this kind, None where there is none.

    Raises:
        ValueError: If a field is missing.
    """
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise ValueError(f"{name} must be a mapping, got {data!r}")
    missing = [each for each in _required(kind) if each not in data]
    if missing:
        raise ValueError(f"{name} must have every field, got none for {', '.join(missing)}")
    return kind(**{f.name: _from_json(data[f.name]) for f in fields(kind) if f.name in data})


def _in_version_2(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the dictionary of a certificate of version 1 or 2 in the form of version 2.

    Version 1 had one mapping, `terms`, also for what parts have now. What makes up no whole part stays there.

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
    for name, kind in _PARTS.items():
        names = {f.name: _NAME_IN_1.get(f.name, f.name) for f in fields(kind)}
        part = {new: terms[old] for new, old in names.items() if old in terms}
        if part and all(f.name in part for f in fields(kind) if f.default is MISSING):
            found[name] = part
            terms = {old: value for old, value in terms.items() if old not in names.values()}
    return {**data, **found, "terms": terms}

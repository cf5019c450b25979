"""Certificates and snapshots with something changed, whatever part of them it stands in."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from regretstop import Certificate, Snapshot

C = TypeVar("C", bound=Certificate)
GAP = {"optimality_gap": "bound", "optimality_gap_guarantee": "guarantee", "optimality_gap_incumbent": "incumbent"}


def changed(certificate: C, **changes: Any) -> C:
    """Return the certificate with other values of these, each of which can be read from the certificate itself."""
    parts: dict[str, Any] = {}
    for name, value in changes.items():
        part, own = ("gap", GAP[name]) if name in GAP else (name, name)
        for each in ("asked", "claim", "data"):
            if name in {f.name for f in fields(getattr(certificate, each))}:
                part = each
        parts[part] = value if part == own else replace(parts.get(part, getattr(certificate, part)), **{own: value})
    return replace(certificate, **parts)


def with_model(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """Return the snapshot with something else of its model."""
    return replace(snapshot, model=replace(snapshot.model, **changes))


def of_samples(snapshot: Snapshot, samples: Sequence[int], trial: int) -> Snapshot:
    """Return the snapshot with these samples of the hyperparameters only, and one trial that can be certified."""
    data, model = snapshot.data, snapshot.model
    one = replace(data, points=data.points[[trial]], numbers=data.numbers[[trial]], values=data.values[[trial]])
    return with_model(
        replace(snapshot, data=one),
        posteriors=tuple(model.posteriors[k] for k in samples),
        maximizers=tuple(model.maximizers[k] for k in samples),
    )

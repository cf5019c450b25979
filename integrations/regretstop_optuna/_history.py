"""The bounds of a study as short columns: what is kept of all certificates but the last."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from regretstop import Certificate, Thinning
from regretstop.certificate import rounded_up

_KEPT = Thinning()


@dataclass(frozen=True)
class Row:
    """What is kept of one certificate.

    Attributes:
        trial: The trial after which it was computed.
        n: The number of observations that it is based on.
        bound: Its bound, four digits, rounded up; in the objective's units.
        gap: The certified optimality gap, likewise.
        left: The estimated probability that something better by more than ε remains; None where it was not estimated.
    """

    trial: int
    n: int
    bound: float
    gap: float
    left: float | None

    def says_the_same(self, other: "Row | None") -> bool:
        """Return whether the other row has the same numbers, if after another trial."""
        return other is not None and replace(self, trial=other.trial) == other


def row_of(certificate: Certificate, trial: int) -> Row | None:
    """Return the row of a certificate, None for one that is not kept.

    A row is kept for every number of observations up to 100, and then for those at which the default schedule tests.
    So the columns stay short, a few thousand characters for thousands of trials, whatever is tested when.
    """
    n = certificate.n_observations
    if n and _KEPT.due(n, 1).n_observations != n:
        return None
    left = certificate.terms.get("probability_left")
    return Row(
        trial,
        n,
        _upwards(certificate.bound),
        _upwards(certificate.optimality_gap),
        None if left is None else round(float(left), 4),
    )


def joined(one: Mapping[int, Row], other: Mapping[int, Row]) -> dict[int, Row]:
    """Return the rows of both, by number of observations; of two for one number that after the later trial counts.

    So it does not matter in which order processes add their rows, and how often.
    """
    both = [*one.values(), *other.values()]
    return {row.n: row for row in sorted(both, key=lambda row: (row.n, row.trial))}


def to_columns(rows: Mapping[int, Row]) -> dict[str, list[float | None]]:
    """Return the rows as strict JSON; an infinity becomes null."""
    return {f.name: [_to_json(getattr(row, f.name)) for row in rows.values()] for f in fields(Row)}


def from_columns(columns: Mapping[str, Any]) -> dict[int, Row]:
    """Return the rows that `to_columns` turned into columns."""
    table = zip(*(columns[f.name] for f in fields(Row)), strict=True)
    return {
        n: Row(trial, n, math.inf if bound is None else bound, math.inf if gap is None else gap, left)
        for trial, n, bound, gap, left in table
    }


def _upwards(bound: float) -> float:
    return float(rounded_up(bound)) if math.isfinite(bound) else math.inf


def _to_json(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None

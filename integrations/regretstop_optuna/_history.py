"""The bounds of a study as short columns: what is kept of all certificates but the last."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from regretstop import Certificate, Thinning
from regretstop.prose import rounded_up

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


def row_of(certificate: Certificate, trial: int) -> Row:
    """Return the row of a certificate that was computed after the trial."""
    shown = certificate.shown
    left = shown.left
    return Row(
        trial,
        shown.n_observations,
        _upwards(shown.bound),
        _upwards(shown.optimality_gap),
        None if left is None else round(left.probability, 4),
    )


def joined(one: Iterable[Row], other: Iterable[Row]) -> list[Row]:
    """Return the rows of both, in order, without those that are not kept.

    One is kept for every number of observations up to 100, and from then on one for each test of the default schedule
    and the observations until the next: the one with the fewest observations, and of these the one after the last
    trial. So the columns stay short, a few thousand characters for thousands of trials, whatever is tested when; and it
    does not matter in which order processes add their rows, and how often.
    """
    both = sorted({*one, *other}, key=lambda row: (row.n, -row.trial))
    kept: dict[int, Row] = {}
    for row in both:
        kept.setdefault(_KEPT.due(row.n, 1).test, row)
    return list(kept.values())


def to_columns(rows: Iterable[Row]) -> dict[str, list[float | None]]:
    """Return the rows as strict JSON; an infinity becomes null."""
    return {f.name: [_to_json(getattr(row, f.name)) for row in rows] for f in fields(Row)}


def from_columns(columns: Mapping[str, Any]) -> list[Row]:
    """Return the rows that `to_columns` turned into columns."""
    table = zip(*(columns[f.name] for f in fields(Row)), strict=True)
    return [
        Row(trial, n, math.inf if bound is None else bound, math.inf if gap is None else gap, left)
        for trial, n, bound, gap, left in table
    ]


def _upwards(bound: float) -> float:
    return float(rounded_up(bound)) if math.isfinite(bound) else math.inf


def _to_json(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None

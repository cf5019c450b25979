"""A CSV file with a row for each trial, such as the data frames of Optuna, Ray and MLflow become."""

import csv
import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regretstop import Observation, Replay, Rule, Schedule
from regretstop import replay as replay_observations
from regretstop_cli._columns import choices_note, is_plain, left_out_note, name_trials, parameters_of, typed
from regretstop_cli._ranges import declared_ranges, space_of
from regretstop_cli._sources import Progress, Search

_SECONDS = ("seconds", "time_total_s")
_START, _END = "datetime_start", "datetime_complete"
_STATE, _COMPLETE, _PRUNED = "state", "COMPLETE", "PRUNED"
_STATES = frozenset({_COMPLETE, _PRUNED, "FAIL", "RUNNING", "WAITING"})


def csv_search(
    path: Path, *, value: str, direction: str | None, ranges: Sequence[str], best_possible: float | None
) -> Search:
    """Return the search that a file holds, in the order of its rows.

    Args:
        path: The file; its first row has the names.
        value: The column of the objective. An empty field is a trial that failed. A row in which a parameter's field is
            empty or a word for nothing, or no finite number, among numbers, is left out.
        direction: "minimize" or "maximize".
        ranges: Declared ranges.
        best_possible: The best value that the objective could ever have; None where it is not known.

    Raises:
        ValueError: If it cannot be read, there is no such column or no direction, or no row has a value.
    """
    if direction not in ("minimize", "maximize"):
        raise ValueError("--direction must be minimize or maximize: a CSV file does not tell")
    columns, rows = _read(path)
    if value not in columns:
        raise ValueError(
            f"{str(path)!r} has no column {value!r}, but {', '.join(map(repr, columns)) or 'none'}: --value"
        )
    if not rows:
        raise ValueError(f"{str(path)!r} has no rows")
    has_states = all(_state(row) in _STATES for row in rows)
    values = [_value(row, value, has_states) for row in rows]
    try:
        params, said = _params(columns, rows, values, (value, *([_STATE] if has_states else [])), ranges)
        seconds = [_duration(row, number) for number, row in enumerate(rows, 1)]
    except ValueError as error:
        raise ValueError(f"{str(path)!r}: {error}") from error
    space, notes = space_of(params, ranges)
    notes += said
    observations = [Observation(p, v, i) for i, (p, v) in enumerate(zip(params, values, strict=True))]
    n_valued = sum(map(_is_finite, values))
    if not n_valued:
        raise ValueError(f"no row of {str(path)!r} has a number as {value!r}")
    if n_valued < len(rows):
        notes.append(f"{len(rows) - n_valued} rows have no value, and are left out")
    lacking = [name for name in space.names if any(_is_finite(o.value) and name not in o.params for o in observations)]
    if lacking:
        whole = sum(_is_finite(o.value) and all(name in o.params for name in space.names) for o in observations)
        which = f"rows with a value lack {', '.join(map(repr, lacking))}"
        if not whole:
            raise ValueError(f"all {which}, and a file does not tell on what a parameter depends: give the storage")
        notes.append(f"{n_valued - whole} {which}, and are left out")

    def run(rule: Rule, after_stop: Schedule, progress: Progress) -> Replay:
        return replay_observations(
            observations,
            space,
            rule=rule,
            direction="maximize" if direction == "maximize" else "minimize",
            seconds=seconds if math.fsum(seconds) > 0.0 else (),
            after_stop=after_stop,
            progress=progress,
            best_possible=best_possible,
        )

    return Search(f"file {path.name!r}", len(rows), value, notes, run)


def _read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the names of the columns, and the rows."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        try:
            rows = list(reader)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{str(path)!r} cannot be read after line {reader.line_num}: {error}") from error
        return list(reader.fieldnames or []), rows


def _params(
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    values: Sequence[float | None],
    others: Sequence[str],
    ranges: Sequence[str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the parameters of each row, and what a reader has to know about how they were found."""
    declared = declared_ranges(ranges)
    known = (*others, *_SECONDS, _START, _END)
    names = parameters_of(columns, known, declared)
    has_value = [_is_finite(value) for value in values]
    found: dict[str, list[Any]] = {}
    for column, name in names.items():
        try:
            each = typed([row[column] or "" for row in rows], has_value)
        except ValueError as error:
            raise ValueError(f"column {column!r}: {error}") from error
        if name in declared or not (is_plain(columns) and name_trials(each)):
            found[name] = each
    left_out = [c for c in columns if is_plain(columns) and c not in known and c not in found]
    notes = [left_out_note(left_out)] if left_out else []
    if not found:
        raise ValueError(". ".join(["no column is a parameter", *notes]))
    notes += filter(None, (choices_note(name, each) for name, each in found.items()))
    return [{name: each[i] for name, each in found.items() if each[i] is not None} for i in range(len(rows))], notes


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _state(row: Mapping[str, str]) -> str:
    """Return a trial's state as Optuna's frames have it; that of one that ended where the row does not tell."""
    return (row.get(_STATE) or _COMPLETE).strip().upper().removeprefix("TRIALSTATE.")


def _value(row: Mapping[str, str], column: str, has_states: bool) -> float | None:
    """Return a trial's value; None for one that was cut short, NaN for one that failed."""
    state = _state(row) if has_states else _COMPLETE
    if state == _PRUNED:
        return None
    try:
        return float(row[column] or math.nan) if state == _COMPLETE else math.nan
    except ValueError:
        return math.nan


def _duration(row: Mapping[str, str], number: int) -> float:
    """Return how many seconds a trial took, 0 where the row, of that number, does not tell."""
    for name in _SECONDS:
        if row.get(name):
            seconds = _number(row[name])
            if math.isinf(seconds):
                raise ValueError(f"{name!r} of row {number} must be finite, got {row[name]!r}")
            return 0.0 if math.isnan(seconds) else seconds
    try:
        start, end = (datetime.datetime.fromisoformat(row.get(name) or "") for name in (_START, _END))
    except ValueError:
        return 0.0
    if (start.utcoffset() is None) != (end.utcoffset() is None):
        raise ValueError(f"of {_START!r} and {_END!r} in row {number} one has a time zone and the other has none")
    return (end - start).total_seconds()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan

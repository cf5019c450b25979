"""A CSV file with a row for each trial, such as Optuna's and Ray's data frames become."""

import csv
import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regretstop import Observation, Replay, Rule, Schedule
from regretstop import replay as replay_observations
from regretstop_cli._ranges import space_of
from regretstop_cli._sources import Progress, Search

# How the columns of parameters begin in the frames of Optuna and Ray; without one of these all other columns are.
_PREFIXES = ("params_", "config/")
_SECONDS = ("seconds", "time_total_s")
_START, _END = "datetime_start", "datetime_complete"
_STATE, _COMPLETE, _PRUNED = "state", "COMPLETE", "PRUNED"


def csv_search(
    path: Path, *, value: str, direction: str | None, ranges: Sequence[str], best_possible: float | None
) -> Search:
    """Return the search that a file holds, in the order of its rows.

    Args:
        path: The file; its first row has the names.
        value: The column of the objective. An empty field is a trial that failed. A row in which a parameter's field is
            empty, or no finite number among numbers, is left out.
        direction: "minimize" or "maximize".
        ranges: Declared ranges.
        best_possible: The best value that the objective could ever have; None where it is not known.

    Raises:
        ValueError: If there is no such column or no direction, or no row has a value.
    """
    if direction not in ("minimize", "maximize"):
        raise ValueError("--direction must be minimize or maximize: a CSV file does not tell")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        rows = list(reader)
        columns = list(reader.fieldnames or [])
    if value not in columns:
        raise ValueError(
            f"{str(path)!r} has no column {value!r}, but {', '.join(map(repr, columns)) or 'none'}: --value"
        )
    if not rows:
        raise ValueError(f"{str(path)!r} has no rows")
    named = {column: _name(column) for column in columns if _name(column) is not None}
    names = named or {c: c for c in columns if c not in (value, *_SECONDS, _START, _END, _STATE)}
    values = [_value(row, value) for row in rows]
    typed = {str(name): _typed([row[column] or "" for row in rows], values) for column, name in names.items()}
    params = [{name: each[i] for name, each in typed.items() if each[i] is not None} for i in range(len(rows))]
    space, notes = space_of(params, ranges)
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
    seconds = [_duration(row) for row in rows]

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


def _name(column: str) -> str | None:
    """Return the name of a parameter of a data frame; None where the column is of something else."""
    found = [column.removeprefix(prefix) for prefix in _PREFIXES if column.startswith(prefix)]
    return found[0] if found else None


def _typed(texts: Sequence[str], values: Sequence[float | None]) -> list[Any]:
    """Return a column's values: integers if all are, else numbers if all are, else the texts; None where there is none.

    Among numbers an empty field is none. Among texts it may be Python's None, as data frames write it: it is none where
    only rows without a value of the objective have it.
    """
    texts = ["" if text.strip().lower() == "nan" else text for text in texts]
    for kind in (int, float):
        try:
            numbers = [kind(text) if text else None for text in texts]
        except ValueError:
            continue
        return [None if number is None or not math.isfinite(number) else number for number in numbers]
    is_choice = any(not text and _is_finite(value) for text, value in zip(texts, values, strict=True))
    return list(texts) if is_choice else [text or None for text in texts]


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _value(row: Mapping[str, str], column: str) -> float | None:
    """Return a trial's value; None for one that was cut short, NaN for one that failed."""
    state = (row.get(_STATE) or _COMPLETE).upper()
    if state == _PRUNED:
        return None
    try:
        return float(row[column] or math.nan) if state == _COMPLETE else math.nan
    except ValueError:
        return math.nan


def _duration(row: Mapping[str, str]) -> float:
    """Return how many seconds a trial took, 0 where the row does not tell."""
    try:
        for name in _SECONDS:
            if row.get(name):
                return float(row[name])
        if row.get(_START) and row.get(_END):
            start, end = (datetime.datetime.fromisoformat(row[name]) for name in (_START, _END))
            return (end - start).total_seconds()
    except ValueError:
        pass
    return 0.0

"""Which columns of a file are parameters, and what their fields are."""

import math
from collections.abc import Collection, Sequence
from typing import Any

# How the columns of parameters begin in the frames of Optuna, MLflow and Ray; without one of these all others are.
_PREFIXES = ("params_", "params.", "config/")
# What else frames and exports of Optuna, Ray, MLflow and Weights & Biases have of each trial, and no search chooses.
_OF_TRIALS = frozenset(
    {
        *("number", "trial", "trial_number", "trial_id", "run_id", "experiment_id", "id", "pid", "logdir"),
        *("duration", "runtime", "_runtime", "time_this_iter_s", "time_since_restore"),
        *("date", "timestamp", "_timestamp", "created", "start_time", "end_time", "_step"),
    }
)
# As data frames, databases and people write that there is no number.
_MISSING = frozenset({"", "nan", "none", "na", "n/a", "null", "<na>"})
# Texts that all differ are names of trials, and choices are seldom so many.
_MANY = 20


def parameters_of(columns: Sequence[str], others: Collection[str], declared: Collection[str]) -> dict[str, str]:
    """Return the name of each column's parameter, of those that may be one.

    Args:
        columns: The file's.
        others: Those that are known to be something else.
        declared: Names of parameters that have a range, and so are parameters whatever they are called.

    Raises:
        ValueError: If two columns have the same name.
    """
    prefixed = {c: c.removeprefix(prefix) for c in columns for prefix in _PREFIXES if c.startswith(prefix)}
    named = prefixed or {c: c for c in columns if c not in others and (c in declared or not _is_of_trials(c))}
    for names in ([c for c in columns if not _is_unnamed(c)], list(named.values())):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise ValueError(f"two columns are called {', '.join(map(repr, twice))}")
    return named


def is_plain(columns: Sequence[str]) -> bool:
    """Return whether names of columns leave open which are parameters."""
    return not any(column.startswith(_PREFIXES) for column in columns)


def typed(texts: Sequence[str], has_value: Sequence[bool]) -> list[Any]:
    """Return a column's values: integers if all are, else numbers if all are, else the texts; None where there is none.

    Among numbers an empty field is none, and so is a word for that. Among texts both may be Python's None, as data
    frames write it: an empty field is none where only rows without a value of the objective have it.

    Args:
        texts: Of each row.
        has_value: Whether the row has a value of the objective.

    Raises:
        ValueError: If an integer is too large to be counted with.
    """
    numbers = _numbers([None if text.strip().lower() in _MISSING else text for text in texts])
    if numbers is not None:
        return numbers
    texts = ["" if text.strip().lower() == "nan" else text for text in texts]
    is_choice = any(not text and valued for text, valued in zip(texts, has_value, strict=True))
    return list(texts) if is_choice else [text or None for text in texts]


def name_trials(values: Sequence[Any]) -> bool:
    """Return whether the values of a column are texts that all differ, too many for choices, and no numbers mostly."""
    given = [value for value in values if value not in (None, "")]
    n_numbers = sum(_numbers([value]) is not None for value in given if isinstance(value, str))
    return _n_choices(values) > _MANY and len(set(given)) == len(given) and 2 * n_numbers < len(given)


def left_out_note(columns: Sequence[str]) -> str:
    """Return what a reader has to know about columns that are no parameters."""
    names = ", ".join("one without a name" if _is_unnamed(column) else repr(column) for column in columns)
    return f"columns are left out, as what numbers, names or times the trials: {names}. --range makes one a parameter"


def choices_note(name: str, values: Sequence[Any]) -> str | None:
    """Return what a reader has to know about a parameter with very many choices; None of others."""
    n = _n_choices(values)
    if n <= _MANY:
        return None
    other = next(value for value in values if value and _numbers([value]) is None)
    return f"{name!r} is taken for a choice among {n} values, since {other!r} is no number"


def _n_choices(values: Sequence[Any]) -> int:
    """Return how many choices there are among the values of a column; 0 of numbers."""
    return len({value for value in values if isinstance(value, str) and value})


def _is_unnamed(column: str) -> bool:
    """Return whether pandas had no name for a column, such as the index."""
    return not column.strip() or column.startswith("Unnamed: ")


def _is_of_trials(column: str) -> bool:
    return _is_unnamed(column) or column.strip().lower().replace(" ", "_") in _OF_TRIALS


def _numbers(texts: Sequence[str | None]) -> list[float | None] | None:
    """Return integers if all texts are, else numbers if all are; None where one is neither, or there is none."""
    if all(text is None for text in texts):
        return None
    for kind in (int, float):
        try:
            numbers = [None if text is None else kind(text) for text in texts]
        except ValueError:
            continue
        for text in texts:
            if text is not None and text.strip().lstrip("+-").isdecimal() and math.isinf(float(text)):
                raise ValueError(f"an integer of {len(text)} digits is too large to be counted with")
        return [None if number is None or not math.isfinite(number) else number for number in numbers]
    return None

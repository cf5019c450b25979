"""The space of a search that is only known by its points: declared ranges, or else those of the values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regretstop import Categorical, Float, Int, Space


def space_of(rows: Sequence[Mapping[str, Any]], ranges: Sequence[str]) -> tuple[Space, list[str]]:
    """Return the space that points were chosen from, and what a reader has to know about that.

    Args:
        rows: Parameters of each trial.
        ranges: Declared ranges, "NAME=LOW:HIGH" or "NAME=LOW:HIGH:log".

    Raises:
        ValueError: If a range is none, of no parameter, or a second one; or if nothing varies.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    declared = declared_ranges(ranges)
    unknown = [name for name in declared if name not in names]
    if unknown:
        raise ValueError(f"--range names {', '.join(map(repr, unknown))}, and the parameters are {', '.join(names)}")
    parameters: dict[str, Float | Int | Categorical] = {}
    guessed: list[str] = []
    for name in names:
        values = [row[name] for row in rows if name in row]
        parameter = _parameter(name, values, declared.get(name))
        if parameter.count > 1:
            parameters[name] = parameter
            if name not in declared:
                guessed.append(name)
    if not parameters:
        raise ValueError("no parameter varies, so there is nothing to say about a search")
    note = (
        f"the ranges of {', '.join(guessed)} are not known, and taken to be those of the values that were tried, not "
        "logarithmic: what is certified is about these. --range declares others"
    )
    return Space(parameters), [note] if guessed else []


def declared_ranges(ranges: Sequence[str]) -> dict[str, tuple[float, float, bool]]:
    """Return the bounds of each parameter that was declared, and whether it is logarithmic.

    Args:
        ranges: As in `space_of`.

    Raises:
        ValueError: If a range is none, or a parameter has two.
    """
    declared: dict[str, tuple[float, float, bool]] = {}
    for name, bounds in map(_read, ranges):
        if name in declared:
            raise ValueError(f"--range names {name!r} twice")
        declared[name] = bounds
    return declared


def _read(text: str) -> tuple[str, tuple[float, float, bool]]:
    """Return the name of a parameter, its bounds, and whether it is logarithmic."""
    name, _, given = text.rpartition("=")
    parts = given.split(":")
    try:
        if not name or len(parts) not in (2, 3) or parts[2:] not in ([], ["log"]):
            raise ValueError
        return name, (float(parts[0]), float(parts[1]), len(parts) == 3)
    except ValueError:
        raise ValueError(f"--range must be NAME=LOW:HIGH or NAME=LOW:HIGH:log, got {text!r}") from None


def _parameter(
    name: str, values: Sequence[Any], declared: tuple[float, float, bool] | None
) -> Float | Int | Categorical:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v)]
    if len(numbers) < len(values):
        if declared is not None:
            raise ValueError(f"--range is for numbers, and {name!r} has other values")
        return Categorical(values)
    low, high, log = declared or (min(numbers), max(numbers), False)
    try:
        if all(float(number).is_integer() for number in (*numbers, low, high)) and all(
            isinstance(number, int) for number in numbers
        ):
            return Int(int(low), int(high), log=log)
        return Float(low, high, log=log)
    except ValueError as error:
        raise ValueError(f"the range of {name!r} cannot be modelled: {error}") from error

"""Values and bounds of parameters as plain Python values."""

import math
import numbers
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

# Bounds and numbers of values beyond this would overflow float64 somewhere on the way.
LARGEST = 2**1000


def to_python(value: object) -> object:
    """Return the Python value that a NumPy scalar, or an array without axes, stands for; anything else as it is.

    A float narrower than Python's is the decimal number that it prints as: `np.float32(0.01)` is 0.01, where its bits
    say 0.009999999776482582, which is no multiple of 0.01 and lies outside a range that begins there.
    """
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        return to_python(array[()]) if array.ndim == 0 else array
    if isinstance(value, np.floating):
        number = cast("np.floating[Any]", value)
        # Not by str, which print options change.
        return float(np.format_float_scientific(number) if number.itemsize < 8 else number)
    return cast("np.generic[Any]", value).item() if isinstance(value, np.generic) else value


def to_number(value: object) -> int | float:
    """Return a value of a parameter as a Python number, NumPy's among them (see `to_python`).

    Raises:
        ValueError: If it is none, or not finite; the message completes "it cannot be …:".
    """
    value = to_python(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError("it is not a number")
    if isinstance(value, numbers.Integral):
        return int(value)
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("it is not finite")
    return number


def to_float(value: object) -> float:
    """Return a value of a parameter as a float; raises as `to_number`, and where no float is as large."""
    try:
        return float(to_number(value))
    except OverflowError as error:
        raise ValueError("it is too large") from error


def to_finite_float(name: str, value: object) -> float:
    """Return an argument as a float; the ValueError names it."""
    try:
        return to_float(value)
    except ValueError:
        raise ValueError(f"{name} must be a finite number, got {name}={value!r}") from None


def to_integer(name: str, value: object) -> int:
    """Return an argument as an integer; the ValueError names it."""
    try:
        number = to_number(value)
    except ValueError:
        number = math.nan
    if number != number or number != int(number):
        raise ValueError(f"{name} must be an integer, got {name}={value!r}")
    if abs(number) > LARGEST:
        raise ValueError(f"{name} must not exceed 2**1000 in size, got {name}={value!r}")
    return int(number)

"""Checks of arguments: each raises ValueError, with the argument's name and value, before any work starts."""

import math
from numbers import Integral, Real

import numpy as np


def is_number(value: object) -> bool:
    """Return whether the value is a real number, a NumPy scalar among them, and not a truth value."""
    return isinstance(value, Real) and value is not True and value is not False


def _as_real(value: object) -> float:
    """Return a real number as a float; NaN for one that is too large, and for everything else."""
    if not (isinstance(value, Real) and is_number(value)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_between(name: str, value: object, low: float, high: float = math.inf) -> None:
    """Check that low < value < high."""
    if low < _as_real(value) < high:
        return
    if math.isfinite(high):
        wanted = f"a number in ({low:g}, {high:g})"
    elif math.isfinite(low):
        wanted = f"a number above {low:g}" if low else "a positive number"
    else:
        wanted = "a finite number"
    raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Check that a scale is above 0 and not infinite."""
    if not 0.0 < _as_real(value) < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Check that the value is True or False, as Python or NumPy has them."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_at_least(name: str, value: object, low: int) -> None:
    """Check that the value is an integer of at least `low`."""
    if not (isinstance(value, Integral) and is_number(value) and int(value) >= low):
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}")


def check_number_or(name: str, value: object, *words: str) -> None:
    """Check that the value is one of the words, or a finite number of at least 0."""
    if isinstance(value, str) and value in words:
        return
    if not 0.0 <= _as_real(value) < math.inf:
        wanted = f"{', '.join(map(repr, words))} or " if words else ""
        raise ValueError(f"{name} must be {wanted}a finite number of at least 0, got {value!r}")


def as_float(name: str, value: object) -> float:
    """Return a number of any numeric type, such as a NumPy scalar or a tensor with one element, as a float."""
    if hasattr(value, "__float__"):
        try:
            return float(value)  # pyright: ignore[reportArgumentType]
        except (TypeError, ValueError, OverflowError):  # more than one element, or no float is as large
            pass
    raise ValueError(f"{name} must be a number or None, got {value!r}")

"""Checks of arguments: each raises ValueError, with the argument's name and value, before any work starts."""

import math
from numbers import Integral, Real


def is_number(value: object) -> bool:
    """Return whether the value is a real number, a NumPy scalar among them, and not a truth value."""
    return isinstance(value, Real) and value is not True and value is not False


def check_between(name: str, value: object, low: float, high: float = math.inf) -> None:
    """Check that low < value < high."""
    if isinstance(value, Real) and is_number(value) and low < float(value) < high:
        return
    if math.isfinite(high):
        wanted = f"a number in ({low:g}, {high:g})"
    elif math.isfinite(low):
        wanted = f"a number above {low:g}" if low else "a positive number"
    else:
        wanted = "a finite number"
    raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_positive(name: str, value: float) -> None:
    """Check that a scale is above 0 and not infinite."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def check_at_least(name: str, value: object, low: int) -> None:
    """Check that the value is an integer of at least `low`."""
    if not (isinstance(value, Integral) and is_number(value) and int(value) >= low):
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}")


def check_number_or(name: str, value: object, *words: str) -> None:
    """Check that the value is one of the words, or a finite number of at least 0."""
    if isinstance(value, str) and value in words:
        return
    if not (isinstance(value, Real) and is_number(value) and 0.0 <= float(value) < math.inf):
        wanted = ", ".join(map(repr, words))
        raise ValueError(f"{name} must be {wanted} or a finite number of at least 0, got {value!r}")


def as_float(name: str, value: object) -> float:
    """Return a number of any numeric type, such as a NumPy scalar or a tensor with one element, as a float."""
    if hasattr(value, "__float__"):
        try:
            return float(value)  # pyright: ignore[reportArgumentType]
        except (TypeError, ValueError, OverflowError):  # more than one element, or no float is as large
            pass
    raise ValueError(f"{name} must be a number or None, got {value!r}")

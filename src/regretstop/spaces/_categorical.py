"""Choices without an order; the coordinate of one is its index, 0 … C−1."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from regretstop.spaces._numbers import to_python


@dataclass(frozen=True)
class Categorical:
    """A choice among values without an order.

    Args:
        choices: The values, of any type; repeated ones are dropped. `True`, `1` and `1.0` are three
            choices. Points are decoded to these very objects.

    Raises:
        ValueError: If there are no choices, or they are given as one string.
    """

    choices: tuple[Any, ...]

    def __init__(self, choices: Iterable[Any]) -> None:
        if isinstance(choices, str | bytes) or not isinstance(choices, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"choices must be a collection of values, got choices={choices!r}")
        distinct: list[Any] = []
        for choice in choices:
            if not any(_identical(choice, other) for other in distinct):
                distinct.append(choice)
        if not distinct:
            raise ValueError(f"choices must not be empty, got choices={choices!r}")
        object.__setattr__(self, "choices", tuple(distinct))

    @property
    def count(self) -> int:
        """Number of choices."""
        return len(self.choices)

    def encode(self, value: object) -> float:
        """Return the index of the choice.

        Raises:
            ValueError: If the value is not a choice.
        """
        # Loosely equal values come last: a history read back from storage may hold 1.0 for 1, one from a table
        # np.True_ for True.
        for same in (operator.is_, _identical, _identical_in_python, _equal):
            for index, choice in enumerate(self.choices):
                if same(choice, value):
                    return float(index)
        raise ValueError(f"it is none of the choices {self.choices!r}")

    def decode(self, u: float) -> Any:
        """Return the choice whose index is nearest to a coordinate."""
        return self.choices[round(min(max(u, 0.0), self.count - 1.0))]

    def contains(self, value: object) -> bool:
        """Return whether the value is one of the choices."""
        try:
            self.encode(value)
        except ValueError:
            return False
        return True


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # an array has no single truth value
        return False


def _identical(a: Any, b: Any) -> bool:
    """Return whether two choices are the same one: of one type and equal, or both NaN."""
    if a is b:
        return True
    both_nan = isinstance(a, float) and isinstance(b, float) and a != a and b != b
    return type(a) is type(b) and (both_nan or _equal(a, b))


def _identical_in_python(a: Any, b: Any) -> bool:
    return _identical(to_python(a), to_python(b))

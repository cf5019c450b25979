"""Numeric parameters of a search space, each with its values to and from a model coordinate.

An axis has coordinates in [0, 1]. A discrete one (`Int`, or `Float` with a step) with C
values is widened by half a step on either side before it is scaled, so that each value owns a cell
and none sits on the border; a logarithmic one is widened first and logged afterwards. For
k = 0 … C−1:

    linear:  u_k = (k + 1/2) / C
    log:     u_k = log(v_k / (low − 1/2)) / log((high + 1/2) / (low − 1/2)),   v_k = low + k
"""

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from regretstop.checks import check_flag
from regretstop.spaces._log_axis import log_cell, log_centre
from regretstop.spaces._numbers import LARGEST, to_finite_float, to_float, to_integer, to_number

# A value belongs to the grid of a stepped axis if it is within this many steps of a grid point.
_GRID_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Float:
    """A real parameter in [low, high].

    Args:
        low: Smallest value.
        high: Largest value. If the step does not divide the range, the largest value is the last
            grid point below it.
        log: Model the logarithm of the value.
        step: Distance between neighbouring values, which then are low, low + step, …; None if the
            parameter is continuous. They are computed in decimal, so that a step of 0.1 from 0
            gives 0.3 and not 0.30000000000000004.

    Raises:
        ValueError: If a bound is not a finite number, low > high, log with low ≤ 0, step ≤ 0, or
            log is combined with a step.
    """

    low: float
    high: float
    _: KW_ONLY
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        check_flag("log", self.log)
        _set_bounds(self, to_finite_float("low", self.low), to_finite_float("high", self.high))
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"high - low must not overflow, got low={self.low!r}, high={self.high!r}")
        if self.log and self.low <= 0:
            raise ValueError(f"low must be positive when log=True, got low={self.low!r}")
        if self.log and self._scale == 0.0:
            raise ValueError(f"low and high are too close for log=True, got low={self.low!r}, high={self.high!r}")
        if self.step is None:
            return
        if self.log:
            raise ValueError(f"step must be None when log=True, got step={self.step!r}")
        object.__setattr__(self, "step", to_finite_float("step", self.step))
        if self.step <= 0:
            raise ValueError(f"step must be positive, got step={self.step!r}")
        if self.count > LARGEST:
            raise ValueError(f"step is too small for the range, got step={self.step!r}")

    @cached_property
    def count(self) -> float:
        """Number of values, an integer; inf where continuous."""
        if self.low == self.high:
            return 1
        if self._grid is None:
            return math.inf
        low, step = self._grid
        return (Fraction(repr(self.high)) - low) // step + 1

    def encode(self, value: object) -> float:
        """Return the coordinate of a value; outside [0, 1] if the value is out of range.

        Raises:
            ValueError: If the value is not a finite number, or has no logarithm.
        """
        v = to_float(value)
        if self.log:
            if v <= 0:
                raise ValueError("it has no logarithm")
            return (math.log(v) - math.log(self.low)) / self._scale
        if self.step is None:
            return (v - self.low) / self._scale
        k = (v - self.low) / self.step
        nearest = float(np.rint(k))
        # A grid value that was computed in binary must have the very coordinate of the exact one.
        return ((nearest if self._on_grid(v, k, nearest) else k) + 0.5) / self.count

    def decode(self, u: float) -> float:
        """Return the valid value nearest to a coordinate."""
        if self._grid is not None:
            low, step = self._grid
            return float(low + _cell(u, int(self.count)) * step)
        if u <= 0.0:
            return self.low
        if u >= 1.0:
            return self.high
        # Interpolated between the bounds rather than added to low: exact at both ends.
        if self.log:
            value = math.exp((1.0 - u) * math.log(self.low) + u * math.log(self.high))
        else:
            value = (1.0 - u) * self.low + u * self.high
        return min(max(value, self.low), self.high)

    def contains(self, value: object) -> bool:
        """Return whether the value is a valid one (up to rounding, if stepped)."""
        try:
            v = to_float(value)
        except ValueError:
            return False
        if self.step is None:
            return self.low <= v <= self.high
        k = (v - self.low) / self.step
        nearest = float(np.rint(k))
        return 0 <= nearest < self.count and self._on_grid(v, k, nearest)

    @cached_property
    def _scale(self) -> float:
        if self.low == self.high:
            return 1.0
        return math.log(self.high) - math.log(self.low) if self.log else self.high - self.low

    @cached_property
    def _grid(self) -> tuple[Fraction, Fraction] | None:
        """First value and step, as the decimal numbers that they print as; None if continuous."""
        return None if self.step is None else (Fraction(repr(self.low)), Fraction(repr(self.step)))

    def _on_grid(self, value: float, k: float, nearest: float) -> bool:
        assert self.step is not None
        rounding = 4 * math.ulp(max(abs(value), abs(self.low))) / self.step
        return abs(k - nearest) <= _GRID_TOLERANCE + rounding


@dataclass(frozen=True)
class Int:
    """An integer parameter in [low, high].

    Args:
        low: Smallest value.
        high: Largest value. If the step does not divide the range, the largest value is the last
            grid point below it.
        log: Model the logarithm of the value.
        step: Distance between neighbouring values, which are low, low + step, …

    Raises:
        ValueError: If a bound or the step is not an integer, low > high, log with low < 1,
            step < 1, or log is combined with a step other than 1.
    """

    low: int
    high: int
    _: KW_ONLY
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        check_flag("log", self.log)
        _set_bounds(self, to_integer("low", self.low), to_integer("high", self.high))
        object.__setattr__(self, "step", to_integer("step", self.step))
        if self.step < 1:
            raise ValueError(f"step must be at least 1, got step={self.step!r}")
        if self.log and self.step != 1:
            raise ValueError(f"step must be 1 when log=True, got step={self.step!r}")
        if self.log and self.low < 1:
            raise ValueError(f"low must be at least 1 when log=True, got low={self.low!r}")

    @cached_property
    def count(self) -> int:
        """Number of values."""
        return (self.high - self.low) // self.step + 1

    def encode(self, value: object) -> float:
        """Return the coordinate of a value; outside [0, 1] if the value is out of range.

        Raises:
            ValueError: If the value is not a finite number, or has no logarithm.
        """
        v = to_number(value)
        if self.log and v <= 0:
            raise ValueError("it has no logarithm")
        if self.log and v < self.low:
            # Of the value itself: its distance from low would cancel near zero.
            offset = self.low - 0.5
            return (math.log(v) - math.log(offset)) / math.log1p(self.count / offset)
        try:
            # Subtracted as integers where they are, so that large ones lose nothing.
            k = (v - self.low) / self.step
        except OverflowError as error:
            raise ValueError("it is too large") from error
        if self.log:
            return float(log_centre(k, self.count, self.low))
        return (k + 0.5) / self.count

    def decode(self, u: float) -> int:
        """Return the valid value whose cell holds a coordinate."""
        if self.log:
            k = min(int(log_cell(min(max(u, 0.0), 1.0), self.count, self.low)), self.count - 1)
        else:
            k = _cell(u, self.count)
        return self.low + k * self.step

    def contains(self, value: object) -> bool:
        """Return whether the value is a valid one (an integral float is)."""
        try:
            v = to_number(value)
        except ValueError:
            return False
        k, off_grid = divmod(v - self.low, self.step)
        return off_grid == 0 and 0 <= k < self.count


def _cell(u: float, count: int) -> int:
    return min(int(min(max(u, 0.0), 1.0) * count), count - 1)


def _set_bounds(parameter: Float | Int, low: float, high: float) -> None:
    if low > high:
        raise ValueError(f"low must not exceed high, got low={low!r}, high={high!r}")
    object.__setattr__(parameter, "low", low)
    object.__setattr__(parameter, "high", high)

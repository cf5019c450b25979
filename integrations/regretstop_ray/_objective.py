"""What trials report: the metric, and how far they are."""

import math
from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np

from regretstop_ray._paths import lookup, metric_path


def check_objective(metric: Any, mode: Any) -> None:
    """Raise ValueError unless metric and mode are of one objective, or not given."""
    if isinstance(metric, list | tuple) or isinstance(mode, list | tuple):
        raise ValueError(f"a regret bound is about one objective, got metric={metric!r}, mode={mode!r}")
    if metric is not None and not (isinstance(metric, str) and metric):
        raise ValueError(f"metric must be the name of a reported metric, got {metric!r}")
    if mode not in (None, "min", "max"):
        raise ValueError(f"mode must be 'min' or 'max', got {mode!r}")


class ForeignStateError(ValueError):
    """A saved state is none of a `GPUCBSearch`."""


class Known(Protocol):
    """What is known about trials: a log."""

    metric: str | None
    mode: str | None

    @property
    def n_ended(self) -> int:
        """Number of trials that have ended."""
        ...


def check_same(known: Known, metric: str | None, mode: str | None) -> None:
    """Raise ValueError if trials have ended whose values are of another metric or mode; None is any."""
    for name, before, now in (("metric", known.metric, metric), ("mode", known.mode, mode)):
        if known.n_ended and None not in (before, now) and before != now:
            raise ValueError(
                f"the trials that the search knows are of {name}={before!r}, got {name}={now!r}: for another objective "
                "make a new search"
            )


def check_state(known: Known, state: Any) -> None:
    """Raise unless a saved state is that of a `GPUCBSearch`, of any version, for the same metric and mode.

    Raises:
        ForeignStateError: If it is another searcher's.
        ValueError: If trials have ended whose values are of another metric or mode.
    """
    own: Mapping[str, Any] = cast("Mapping[str, Any]", state) if isinstance(state, Mapping) else {}
    if not {"version", "trials", "metric", "mode"} <= own.keys():
        raise ForeignStateError("the saved state is that of another searcher, and none of a GPUCBSearch")
    check_same(known, own["metric"], own["mode"])


def value_in(result: Mapping[str, Any], metric: str | None) -> Any:
    """Return the metric in a result, None if it is not there."""
    return None if metric is None else next(lookup(result, metric_path(metric)), None)


def time_in(result: Mapping[str, Any], time_attr: str) -> float | None:
    """Return the value of the time attribute in a result, None if it is not there or no number."""
    time = result.get(time_attr)
    if isinstance(time, int | float):
        return time
    return None if math.isnan(number(time)) else number(time)


def number(value: Any) -> float:
    """Return a reported value as a float, NaN if it is no number."""
    # NumPy would make a float of strings, and of complex numbers.
    if isinstance(value, bool | np.bool_ | str | np.complexfloating) or not hasattr(value, "__float__"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan

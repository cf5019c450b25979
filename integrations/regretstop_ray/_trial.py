"""What is known about one trial."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass
class TrialRecord:
    """One trial.

    Attributes:
        number: Its place in the order in which trials became known.
        config: Its configuration, of which the tunable part matters.
        state: "failed" also where the metric is missing or not finite.
        value: The metric at its end.
        time: Value of the time attribute at its end; None if it was not reported.
        went_on_at: The last value of it at which Tune let the trial go on.
        ended_itself: Whether the trial's own code ended it, as far as a stopper saw.
        is_cut_short: Whether Tune ended it while it was paused, after a result at which it went on.
        is_watched: Whether there was a stopper that could have seen how it ended.
        reported: The configuration with its first result; None before.
        has_changed: Whether a later result had another one.
        ended_as: 1 for the first trial that ended, 2 for the second, …
        span: When it started and ended, as Tune recorded it; None where its last result does not say so.
    """

    number: int
    config: Mapping[str, Any]
    state: Literal["running", "completed", "failed"] = "running"
    value: float = math.nan
    time: float | None = None
    went_on_at: float | None = None
    ended_itself: bool = False
    is_cut_short: bool = False
    is_watched: bool = True
    reported: Mapping[str, Any] | None = None
    has_changed: bool = False
    ended_as: int | None = None
    span: tuple[float, float] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it ended itself, rather than being cut short by a scheduler or a stop criterion.

        The result that makes Tune cut a trial short is not one at which it went on.
        """
        return not self.is_cut_short and (self.ended_itself or self.time == self.went_on_at)

    def reaches(self, time: float) -> bool:
        """Whether it ended at this value of the time attribute, or later."""
        return self.state == "completed" and self.time is not None and self.time >= time


def span_of(result: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return when a trial started and ended, by its last result: seconds since the epoch, less those that it ran."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        ended, seconds = float(result["timestamp"]), float(result["time_total_s"])
        if math.isfinite(ended) and seconds >= 0.0:
            return ended - seconds, ended
    return None

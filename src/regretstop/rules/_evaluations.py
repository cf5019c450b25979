"""What can be seen of a search without a model: its best value, how long ago that was, and how long it has taken."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from regretstop.history import Observation

# Longer than it takes to choose the next point, and short beside a night between two sessions.
_PAUSE_SECONDS = 60.0


@dataclass(frozen=True)
class Evaluations:
    """The evaluations that ended.

    Attributes:
        observations: In any order.
        sign: Values times the sign are maximised.
    """

    observations: Sequence[Observation]
    sign: float

    @cached_property
    def _in_order(self) -> list[Observation]:
        """Those that tell something, in the order in which they ended: with a value, or cut short; none that failed."""
        telling = [o for o in self.observations if o.value is None or math.isfinite(o.value)]
        return sorted(telling, key=lambda o: (o.ended, o.number))

    @cached_property
    def n_with_value(self) -> int:
        """How many have a finite value."""
        return sum(o.value is not None for o in self._in_order)

    @cached_property
    def n_infeasible(self) -> int:
        """How many of these are not feasible."""
        return sum(o.value is not None and not o.feasible for o in self._in_order)

    @cached_property
    def _best(self) -> tuple[int, Observation] | None:
        found = [(self.sign * o.value, -i) for i, o in enumerate(self._in_order) if o.value is not None and o.feasible]
        return (-max(found)[1], self._in_order[-max(found)[1]]) if found else None

    @property
    def best(self) -> Observation | None:
        """The first feasible one with the best value; None if there is none."""
        return None if self._best is None else self._best[1]

    @property
    def missing(self) -> str:
        """Why there is no best one, in words."""
        return "no trial is feasible yet" if self.n_with_value else "there is no value yet"

    @property
    def n_since_best(self) -> int:
        """How many ended after it; 0 if there is none."""
        return 0 if self._best is None else len(self._in_order) - 1 - self._best[0]

    @cached_property
    def seconds(self) -> float:
        """For how long the search has run, of what is known of it.

        What ran at once counts once, and where nothing ran for more than a minute, a minute does.
        """
        spans = sorted(o.span for o in self.observations if o.span is not None)
        total, until = 0.0, spans[0][0] if spans else 0.0
        for start, end in spans:
            total += min(max(start - until, 0.0), _PAUSE_SECONDS) + max(end - max(start, until), 0.0)
            until = max(until, end)
        return total

"""What a rule would have said of a search that is over, evaluation by evaluation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regretstop.certificate import Certificate
from regretstop.history import Observation
from regretstop.model import Surrogate
from regretstop.optimizer import GPUCB, Direction
from regretstop.rules import Rule
from regretstop.spaces import Space


@dataclass(frozen=True)
class Replay:
    """What a rule would have said of a search, had it been asked after every evaluation.

    Attributes:
        observations: The evaluations, in the order in which they ended.
        certificates: What the rule would have said after each of them.
        direction: "maximize" or "minimize".
        seconds: How long each evaluation took; empty where that is not known.
    """

    observations: tuple[Observation, ...]
    certificates: tuple[Certificate, ...]
    direction: Direction
    seconds: tuple[float, ...] = ()

    @property
    def stop(self) -> int | None:
        """After how many evaluations the search would have stopped; None if it would not have."""
        return next((n for n, certificate in enumerate(self.certificates, 1) if certificate.stop), None)

    @property
    def n_saved(self) -> int:
        """How many evaluations came after that."""
        return 0 if self.stop is None else len(self.observations) - self.stop

    @property
    def seconds_saved(self) -> float | None:
        """How long these took together, on one worker; None where that is not known."""
        if not self.seconds:
            return None
        return 0.0 if self.stop is None else math.fsum(self.seconds[self.stop :])

    @property
    def found_later(self) -> float | None:
        """By how much the best value of all is better than the best one at the stop, ≥ 0; None without a stop."""
        if self.stop is None:
            return None
        return self._best(len(self.observations)) - self._best(self.stop)

    def _best(self, n: int) -> float:
        sign = 1.0 if self.direction == "maximize" else -1.0
        values = (o.value for o in self.observations[:n])
        return max(sign * value for value in values if value is not None and math.isfinite(value))


def replay(
    observations: Sequence[Observation],
    space: Space,
    *,
    rule: Rule,
    direction: Direction,
    surrogate: Surrogate | None = None,
    seconds: Sequence[float] = (),
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Ask a rule about a search that is over, as if it had been asked after every evaluation.

    Whatever chose the points: a certificate is about the data. Where the rule's schedule makes no test, the one before
    stands, which costs nothing.

    Args:
        observations: The evaluations, in any order; that in which they ended counts, and among equals that of their
            numbers.
        space: The search space. Points outside it are left out.
        rule: The stopping rule.
        direction: "maximize" or "minimize".
        surrogate: The model; a `GaussianProcess` by default.
        seconds: How long each evaluation took, in the same order as `observations`; none where that is not known.
        progress: Called with the number of evaluations that have been replayed.

    Raises:
        ValueError: If the direction is neither, or there are not as many durations as observations.
    """
    if seconds and len(seconds) != len(observations):
        raise ValueError(
            f"seconds must have one number for each of {len(observations)} observations, got {len(seconds)}"
        )
    order = sorted(range(len(observations)), key=lambda i: (observations[i].ended, observations[i].number))
    ended = [observations[i] for i in order]
    optimizer = GPUCB(space, direction=direction, surrogate=surrogate, seed=0)
    certificates: list[Certificate] = []
    for n in range(1, len(ended) + 1):
        optimizer.replace_history(ended[:n])
        certificates.append(optimizer.certificate(rule))
        if progress is not None:
            progress(n)
    return Replay(tuple(ended), tuple(certificates), direction, tuple(seconds[i] for i in order) if seconds else ())

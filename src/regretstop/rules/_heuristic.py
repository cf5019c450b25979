"""What the rules without a proof share: their estimate, with the certified gap and the probability left beside it."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regretstop.certificate import Certificate
from regretstop.gap import gap_beside
from regretstop.rules._base import Rule, verdict
from regretstop.rules._remaining import probability_left
from regretstop.search import How
from regretstop.snapshot import Snapshot


@dataclass(frozen=True)
class Estimate:
    """What a rule makes of a snapshot.

    Attributes:
        bound: In the objective's units.
        incumbent: Index of x̂ among the snapshot's points.
        how: How its maximum over the space was obtained.
        terms: The numbers behind the bound, in the objective's units.
        reason: Why the bound is infinite, in words; None if it is not.
    """

    bound: float
    incumbent: int
    how: How
    terms: Mapping[str, float]
    reason: str | None = None


@dataclass(frozen=True)
class Heuristic(Rule):
    """A rule without a proof.

    Attributes:
        subject: What reasons call its bound.
    """

    subject: ClassVar[str] = "the bound"

    @abstractmethod
    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Return the rule's number for a snapshot without an obstacle."""

    def _assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate where there is no obstacle."""
        found = self.estimate(snapshot)
        gap = gap_beside(snapshot, self.delta, snapshot.schedule.limit)
        return self._certificate(
            snapshot,
            gap,
            bound=found.bound,
            guarantee="heuristic",
            incumbent=found.incumbent,
            reason=found.reason or verdict(found.bound, self.epsilon, self.subject),
            terms={
                **found.terms,
                "maximum": found.how,
                "test": snapshot.test,
                **snapshot.noise_terms(),
                **probability_left(snapshot, found.incumbent, self.epsilon),
            },
        )

"""What the rules without a proof share: their estimate, with the certified gap beside it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from regretstop.certificate import Certificate
from regretstop.gap import gap_beside
from regretstop.rules._base import Rule
from regretstop.rules._estimate import Estimate, verdict
from regretstop.snapshot import Snapshot


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
        gap = gap_beside(snapshot, self.delta, self._difference(snapshot), found.incumbent)
        reason = found.reason or verdict(found.bound, self.tolerance, self.subject)
        return self._certificate(snapshot, replace(found, reason=reason), gap, guarantee="heuristic")

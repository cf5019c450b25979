"""What a rule makes of a snapshot, and the reason for its decision in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from regretstop.prose import compared
from regretstop.statement import MaximumBy


@dataclass(frozen=True)
class Estimate:
    """What a rule makes of a snapshot.

    Attributes:
        bound: In the objective's units.
        incumbent: Index of x̂ among the snapshot's points.
        how: How its maximum over the space was obtained.
        terms: The rule's own numbers behind the bound, in the objective's units.
        reason: Of the decision, in words, such as why the bound is infinite; None where the bound and ε say it all.
    """

    bound: float
    incumbent: int
    how: MaximumBy
    terms: Mapping[str, float]
    reason: str | None = None


def verdict(bound: float, epsilon: float, subject: str = "the bound", limit: str = "ε =") -> str:
    """Return the reason of a certificate with a finite bound, which the subject names, as the limit does ε."""
    relation = "is below" if bound < epsilon else "is not below"
    said_bound, said_epsilon = compared(bound, epsilon)
    return f"{subject} {said_bound} {relation} {limit} {said_epsilon}"

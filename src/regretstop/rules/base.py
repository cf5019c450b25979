"""What all rules share: their two numbers, and the certificate that says nothing."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from regretstop.certificate import Certificate, Guarantee, Measure, compared
from regretstop.checks import check_between
from regretstop.rules.gap import Gap
from regretstop.schedule import DEFAULT_SCHEDULE, Schedule
from regretstop.snapshot import Snapshot


@dataclass(frozen=True)
class Rule(ABC):
    """A stopping rule.

    Attributes:
        measure: What its bound is about, as certificates say it.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1), the probability with which a bound may fail.
        schedule: When tests are made: `Thinning()` unless another is given.

    Raises:
        ValueError: If ε is not positive and finite, δ not in (0, 1), or the schedule is none.
    """

    measure: ClassVar[Measure] = "regret"

    epsilon: float
    delta: float = 0.05
    schedule: Schedule = field(default=DEFAULT_SCHEDULE, kw_only=True)

    def __post_init__(self) -> None:
        """Check ε and δ, which arrive from command lines and configuration files."""
        check_between("epsilon", self.epsilon, 0)
        check_between("delta", self.delta, 0, 1)
        if not isinstance(self.schedule, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"schedule must be a schedule such as Every(5), got {self.schedule!r}")

    @property
    def regret_epsilon(self) -> float | None:
        """ε where the bound is on the regret, by which a search knows how much better a point is worth a look."""
        return float(self.epsilon) if self.measure == "regret" else None

    def assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate for the data and the model in the snapshot."""
        if snapshot.optimum is not None and self.measure == "regret":
            return self._optimal(snapshot, snapshot.optimum)
        obstacle = self.obstacle(snapshot)
        return self._assess(snapshot) if obstacle is None else self._obstructed(snapshot, obstacle)

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why nothing can be said, in words; None if something can."""
        return snapshot.obstacle

    @abstractmethod
    def _assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate where there is no obstacle."""

    def undecided(
        self,
        reason: str,
        *,
        n_observations: int = 0,
        n_excluded: int = 0,
        guarantee: Guarantee = "model",
    ) -> Certificate:
        """Return a certificate with an infinite bound, for data that nothing can be said about.

        Args:
            reason: Why, in words.
            n_observations: Observations that could have been fitted.
            n_excluded: Observations that could not.
            guarantee: What a bound would have been.
        """
        return Certificate(
            rule=type(self).__name__,
            bound=math.inf,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            guarantee=guarantee,
            incumbent=None,
            incumbent_value=None,
            n_observations=n_observations,
            n_excluded=n_excluded,
            optimality_gap=math.inf,
            optimality_gap_guarantee="theorem" if guarantee == "theorem" else "model",
            optimality_gap_incumbent=None,
            reason=reason,
            terms={},
            measure=self.measure,
        )

    def _certificate(
        self,
        snapshot: Snapshot,
        gap: Gap | None,
        *,
        bound: float,
        guarantee: Guarantee,
        incumbent: int,
        reason: str,
        terms: Mapping[str, float | int | str],
    ) -> Certificate:
        """Return a certificate of the snapshot, with what every rule says of its data and its model.

        Args:
            snapshot: Without an obstacle.
            gap: The certified gap that stands beside the bound; None where there is none.
            bound: In the objective's units.
            guarantee: What the bound is.
            incumbent: Index of x̂ among the snapshot's points.
            reason: Of the decision, in words.
            terms: The numbers behind the bound.
        """
        return Certificate(
            rule=type(self).__name__,
            bound=bound,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            guarantee=guarantee,
            incumbent=int(snapshot.numbers[incumbent]),
            incumbent_value=float(snapshot.values[incumbent]),
            n_observations=snapshot.n_observations,
            n_excluded=snapshot.n_excluded,
            optimality_gap=gap.bound * snapshot.scale if gap else math.inf,
            optimality_gap_guarantee=snapshot.guarantee,
            optimality_gap_incumbent=int(snapshot.numbers[gap.incumbent]) if gap else None,
            reason=reason + (snapshot.plateau_remark() if bound >= self.epsilon else "") + snapshot.model_remark(),
            terms={**terms, **snapshot.model_terms()},
            measure=self.measure,
        )

    def _optimal(self, snapshot: Snapshot, optimum: int) -> Certificate:
        """Return the certificate of a point that is known to be optimal, which needs no model and spends no risk."""
        trial = int(snapshot.numbers[optimum])
        return Certificate(
            rule=type(self).__name__,
            bound=0.0,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            guarantee="theorem",
            incumbent=trial,
            incumbent_value=float(snapshot.values[optimum]),
            n_observations=snapshot.n_observations,
            n_excluded=snapshot.n_excluded,
            optimality_gap=0.0,
            optimality_gap_guarantee="theorem",
            optimality_gap_incumbent=trial,
            reason="every point of the space was evaluated, without noise",
            terms={"maximum": "evaluated", "noise_std": 0.0},
            measure=self.measure,
        )

    def _obstructed(self, snapshot: Snapshot, reason: str) -> Certificate:
        return self.undecided(
            reason,
            n_observations=snapshot.n_observations,
            n_excluded=snapshot.n_excluded,
            guarantee=snapshot.guarantee,
        )


def verdict(bound: float, epsilon: float, subject: str = "the bound") -> str:
    """Return the reason of a certificate with a finite bound, which the subject names."""
    relation = "is below" if bound < epsilon else "is not below"
    said_bound, said_epsilon = compared(bound, epsilon)
    return f"{subject} {said_bound} {relation} ε = {said_epsilon}"

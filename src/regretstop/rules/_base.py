"""What all rules share: their two numbers, how they combine, and what they say where there is no model to ask."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from regretstop.certificate import Certificate
from regretstop.checks import check_between
from regretstop.gap import CountedGap, Gap
from regretstop.history import Observation
from regretstop.rules._estimate import Estimate
from regretstop.rules._known import known_from_values, too_alike, up_to_the_ceiling
from regretstop.rules._made import certificate_of
from regretstop.rules._remaining import FromPaths
from regretstop.rules._standard_error import STANDARD_ERROR, Epsilon
from regretstop.schedule import DEFAULT_SCHEDULE, Schedule
from regretstop.snapshot import Snapshot
from regretstop.statement import (
    Asked,
    Claim,
    DataSeen,
    GapClaim,
    Guarantee,
    Measure,
    Noise,
    ProbabilityLeft,
    RiskSpent,
    Statement,
)

if TYPE_CHECKING:
    from regretstop.rules._combined import AllOf, AnyOf


@dataclass(frozen=True)
class Rule(ABC):
    """A stopping rule.

    Rules combine: `UCBbr(0.01) | Patience(30)` stops when either does, `UCBbr(0.01) & Patience(30)` when both do.

    Attributes:
        measure: What its bound is about, as certificates say it.
        needs_model: Whether it looks at a model, of which it says something with probability 1 − δ.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it. "standard error" is that of the best
            trial's cross-validation scores, at each test: nobody should search for less than the score can tell.
        delta: δ in (0, 1), the probability with which a bound may fail.
        schedule: When tests are made: `Thinning()` unless another is given.

    Raises:
        ValueError: If ε is not positive and finite, δ not in (0, 1), or the schedule is none.
    """

    measure: ClassVar[Measure] = "regret"
    needs_model: ClassVar[bool] = True

    epsilon: Epsilon
    delta: float = 0.05  # as in the paper's experiments, section 4.2
    schedule: Schedule = field(default=DEFAULT_SCHEDULE, kw_only=True)

    def __post_init__(self) -> None:
        """Check ε and δ, which arrive from command lines and configuration files."""
        if self.epsilon != STANDARD_ERROR:
            check_between("epsilon", self.epsilon, 0)
        check_between("delta", self.delta, 0, 1)
        if not isinstance(self.schedule, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"schedule must be a schedule such as Every(5), got {self.schedule!r}")

    @property
    def tolerance(self) -> float:
        """ε as a number; 0 where it is a standard error that is not known yet: no bound is below it."""
        return 0.0 if isinstance(self.epsilon, str) else float(self.epsilon)

    def __or__(self, other: "Rule") -> "AnyOf":
        from regretstop.rules._combined import AnyOf  # which is made of this module

        return AnyOf((self, other))

    def __and__(self, other: "Rule") -> "AllOf":
        from regretstop.rules._combined import AllOf

        return AllOf((self, other))

    @property
    def label(self) -> str:
        """What certificates call the rule."""
        return type(self).__name__

    @property
    def leaves(self) -> tuple["Rule", ...]:
        """The rules that a combination is made of, each with its share of δ; of another rule the rule itself."""
        return (self,)

    @property
    def claims(self) -> bool:
        """Whether it says anything with probability 1 − δ."""
        return self.needs_model

    def with_share(self, n: int) -> "Rule":
        """Return the rule with an n-th of its δ."""
        return replace(self, delta=self.delta / n) if self.claims and n > 1 else self

    def with_points(self, read: "Callable[[Mapping[str, Any]], Mapping[str, Any]]") -> "Rule":
        """Return the rule for a space whose points an adapter names otherwise than the user does.

        Args:
            read: Returns the parameters, as functions of the user know them, of a point of the space. Rules are equal
                if these are.
        """
        return self

    def is_met_by(self, said: Statement) -> bool:
        """Return whether what a rule like this one, up to ε and δ, has said is as much as this one asks for."""
        if self.epsilon == STANDARD_ERROR:
            is_below = said.stop and said.asked.epsilon_trial is not None
        else:
            is_below = said.bound < self.tolerance
        return is_below and said.delta <= self.delta

    def is_decided(self, by: "Callable[[Rule], bool]") -> bool:
        """Return whether the rule is decided.

        Args:
            by: Returns whether a single rule is; a combination asks for its rules.
        """
        return by(self)

    def consult(self, ask: "Callable[[Rule], Certificate]") -> Certificate:
        """Return the certificate.

        Args:
            ask: Returns that of a single rule; a combination asks for those of its rules.
        """
        return ask(self)

    def look(self, observations: Sequence[Observation], sign: float) -> Certificate | None:
        """Return the certificate of a rule that needs no model; None of one that does.

        Args:
            observations: All evaluations that ended.
            sign: Their values times the sign are maximised.
        """
        return None

    def without_model(
        self, reason: str, observations: Sequence[Observation], sign: float, *, n_observations: int = 0
    ) -> Certificate:
        """Return the certificate where there can be no model: what needs none is looked at, the bounds are infinite.

        Args:
            reason: Why there is none, in words.
            observations: All evaluations that ended.
            sign: Their values times the sign are maximised.
            n_observations: How many of them could have been fitted.
        """
        n_excluded = len(observations) - n_observations
        return self.consult(
            lambda rule: (
                rule.look(observations, sign)
                or rule.undecided(reason, n_observations=n_observations, n_excluded=n_excluded)
            )
        )

    @property
    def bounds_regret(self) -> bool:
        """Whether its bound is on the regret, of which ε is then a difference worth a look."""
        return self.measure == "regret"

    @property
    def regret_epsilon(self) -> float | None:
        """ε where the bound is on the regret, by which a search knows how much better a point is worth a look."""
        return self.tolerance or None if self.bounds_regret else None

    def assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate for the data and the model in the snapshot."""
        if self.bounds_regret:
            known = known_from_values(snapshot, self.tolerance, lambda reason: self._obstructed(snapshot, reason))
            if known is not None:
                return known
        obstacle = self.obstacle(snapshot) or too_alike(snapshot)
        return self._without(snapshot, obstacle) if obstacle else self._assess(snapshot)

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
        # The only place where one is built: what else a certificate says is put in the place of what this one does not.
        return Certificate(
            asked=Asked(rule=type(self).__name__, epsilon=self.tolerance, delta=float(self.delta)),
            claim=Claim(
                bound=math.inf,
                guarantee=guarantee,
                incumbent=None,
                incumbent_value=None,
                measure=self.measure,
                reason=reason,
                terms={},
            ),
            gap=GapClaim(bound=math.inf, guarantee="theorem" if guarantee == "theorem" else "model", incumbent=None),
            data=DataSeen(n_observations=n_observations, n_excluded=n_excluded),
        )

    def _without(self, snapshot: Snapshot, obstacle: str) -> Certificate:
        """Return what can be said without a model."""
        if not self.bounds_regret:
            return self._obstructed(snapshot, obstacle)
        return up_to_the_ceiling(snapshot, self.tolerance, obstacle, lambda reason: self._obstructed(snapshot, reason))

    def _obstructed(self, snapshot: Snapshot, reason: str) -> Certificate:
        nothing = self.undecided(
            reason,
            n_observations=snapshot.data.n_observations,
            n_excluded=snapshot.data.n_excluded,
            guarantee=snapshot.model.guarantee,
        )
        return replace(nothing, data=replace(nothing.data, n_infeasible=snapshot.data.n_infeasible))

    def _difference(self, snapshot: Snapshot) -> float:
        """Return a difference of values that matters: ε, or about how much they vary where ε is a price."""
        return snapshot.model.units.slope() if self.measure == "improvement per cost" else self.tolerance

    def _certificate(
        self,
        snapshot: Snapshot,
        found: Estimate,
        gap: Gap | CountedGap | None,
        *,
        guarantee: Guarantee,
        risk: RiskSpent | None = None,
        noise: Noise | None = None,
        left: ProbabilityLeft | None = None,
        drawn: FromPaths | None = None,
    ) -> Certificate:
        """Return the certificate of what was found in a snapshot, with what every rule says of its data and its model.

        Args:
            snapshot: Without an obstacle.
            found: The bound, about which trial, and why.
            gap: The certified gap that stands beside the bound; None where there is none.
            guarantee: What the bound is.
            risk: How δ is spent; None for a rule that does not divide it.
            noise: Of the model that the bound is from; the largest of all samples unless given.
            left: The probability that something better remains; the usual estimate unless given.
            drawn: What posterior paths say of the trial; the usual estimates unless given.
        """
        return certificate_of(
            self._obstructed(snapshot, ""),
            snapshot,
            found,
            gap,
            difference=self._difference(snapshot),
            guarantee=guarantee,
            risk=risk,
            noise=noise,
            left=left,
            drawn=drawn,
        )

"""The whole of what a rule concluded, from which what its parts say can be read."""

from collections.abc import Mapping
from dataclasses import dataclass

from regretstop.statement._parts import (
    Asked,
    Claim,
    DataSeen,
    GapClaim,
    Guarantee,
    MaximumBy,
    MeanRegret,
    Measure,
    ModelReport,
    Noise,
    ProbabilityLeft,
    RiskSpent,
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a rule concluded from the data: its parts, whose fields can also be read from the whole.

    Attributes:
        asked: The rule, ε and δ.
        claim: The bound, about which trial, and why.
        gap: The certified optimality gap; its fields are `optimality_gap`, `optimality_gap_guarantee` and
            `optimality_gap_incumbent` of the whole.
        data: How many observations there were, and which test it was.
        risk: How δ is spent; None for a rule that does not divide it.
        model: What is said of the model; None if there is none.
        noise: The noise of the model; None if there is none.
        left: The estimated probability that something better by more than ε remains; None where it was not estimated.
        expected_regret: The mean of what may be left to gain; None where it was not estimated.
        others: What the other rules of a combination said of the same data, in their order; empty without one.
    """

    asked: Asked
    claim: Claim
    gap: GapClaim
    data: DataSeen
    risk: RiskSpent | None = None
    model: ModelReport | None = None
    noise: Noise | None = None
    left: ProbabilityLeft | None = None
    expected_regret: MeanRegret | None = None
    others: "tuple[Statement, ...]" = ()

    @property
    def stop(self) -> bool:
        """Whether the bound is below ε, or what a rule without a bound waits for has come."""
        return bool(self.bound < self.epsilon if self.claim.met is None else self.claim.met)  # numpy's bool is no JSON

    @property
    def asker(self) -> str:
        """Name of the rule that was asked, or the names of those of a combination, such as "UCBbr | Patience"."""
        return self.asked.combination or self.asked.rule

    @property
    def said(self) -> "tuple[Statement, ...]":
        """What each rule of a combination said, this one among them, in their order; without one this alone."""
        place = self.asked.place
        return (*self.others[:place], self, *self.others[place:])

    @property
    def shown(self) -> "Statement":
        """The statement whose bound a picture shows: the first beside this one that has a bound if this has none."""
        return next((each for each in (self, *self.others) if each.guarantee != "none"), self)

    @property
    def rule(self) -> str:
        """Class name of the rule."""
        return self.asked.rule

    @property
    def epsilon(self) -> float:
        """ε, the tolerance asked for, in the objective's units."""
        return self.asked.epsilon

    @property
    def delta(self) -> float:
        """δ, the risk asked for."""
        return self.asked.delta

    @property
    def bound(self) -> float:
        """Upper bound on what `measure` names, in the objective's units; inf if nothing can be said."""
        return self.claim.bound

    @property
    def guarantee(self) -> Guarantee:
        """What the bound is: "theorem", "model" or "heuristic"."""
        return self.claim.guarantee

    @property
    def incumbent(self) -> int | None:
        """Number of the certified trial; None if there is none."""
        return self.claim.incumbent

    @property
    def incumbent_value(self) -> float | None:
        """The certified trial's observed value, in the objective's own sign and units."""
        return self.claim.incumbent_value

    @property
    def measure(self) -> Measure:
        """What the bound is about."""
        return self.claim.measure

    @property
    def maximum(self) -> MaximumBy | None:
        """How the maximum over the space that the bound rests on is known."""
        return self.claim.maximum

    @property
    def reason(self) -> str:
        """In words, why to stop, or why not."""
        return self.claim.reason

    @property
    def terms(self) -> Mapping[str, float | int | str]:
        """The rule's own numbers, by name."""
        return self.claim.terms

    @property
    def optimality_gap(self) -> float:
        """The certified optimality gap, in the objective's units."""
        return self.gap.bound

    @property
    def optimality_gap_guarantee(self) -> Guarantee:
        """What the gap is, "theorem" or "model"."""
        return self.gap.guarantee

    @property
    def optimality_gap_incumbent(self) -> int | None:
        """Number of the trial that the gap is about."""
        return self.gap.incumbent

    @property
    def n_observations(self) -> int:
        """Number of completed observations that entered the fit."""
        return self.data.n_observations

    @property
    def n_excluded(self) -> int:
        """Number of observations that did not."""
        return self.data.n_excluded

    @property
    def test(self) -> int | None:
        """Index k ≥ 1 of the test; None if none was made."""
        return self.data.test

    @property
    def next_test(self) -> int | None:
        """Number of observations at which the next test is due, where that is later; else None."""
        return self.data.next_test

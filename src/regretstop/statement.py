"""What a certificate states, as numbers: its typed parts, and the whole. `prose` has the words for it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Guarantee = Literal["theorem", "model", "heuristic"]
"""What a bound is: proven, proven given the fitted model, or without proof at these settings."""

Measure = Literal["regret", "regret change", "expected improvement"]
"""What a bound is about: how much better than a trial the optimum is, or a number that only signals it."""

MaximumBy = Literal["enumerated", "searched", "evaluated", "counted"]
"""How the maximum over the space is known: the model's at all points, by a search, or the objective's at all points; or
not at all, because the local maxima above the bound were counted."""


@dataclass(frozen=True, kw_only=True)
class RiskSpent:
    """How a rule spends δ; `slope_risk + model_risk + test_risk` is δ.

    Attributes:
        schedule: When tests are made, in words.
        risk: The risk of this test.
        spent: What the tests up to this one have spent, with what the slopes and the model take: δ, unless they share.
        test_risk: What tests take, each of them or together.
        slope_risk: What is kept for the slopes of f.
        model_risk: What no test spends, because it is the chance that the model itself leaves.
        simultaneous: Whether tests share `test_risk`, so that all may be true at once; if not, δ is the risk that a
            search ends by a false one.
    """

    schedule: str
    risk: float
    spent: float
    test_risk: float
    slope_risk: float
    model_risk: float
    simultaneous: bool = True  # as in certificates that do not say so yet


@dataclass(frozen=True, kw_only=True)
class ModelReport:
    """The samples of the hyperparameters that a certificate is the worst of, and how well the model has predicted.

    Attributes:
        n_samples: How many samples there are; 1 where hyperparameters are declared, or estimated by their mode.
        sampling: "HMC"; "mode" where samples were asked for and could not be drawn; None where none were.
        n_transitions: Trajectories of Hamiltonian Monte Carlo behind the samples; None where none were asked for.
        n_divergent: How many of them diverged; likewise.
        acceptance: Mean acceptance probability of the last of them; likewise.
        n_residuals: How many values were predicted before they were seen.
        residual_rms: Their root mean square error, in deviations that were expected; None without any.
        inflation: κ ≥ 1, by which all deviations of the model are multiplied.
    """

    n_samples: int
    sampling: Literal["HMC", "mode"] | None = None
    n_transitions: int | None = None
    n_divergent: int | None = None
    acceptance: float | None = None
    n_residuals: int = 0
    residual_rms: float | None = None
    inflation: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise that the model reckons with, in the objective's units.

    Attributes:
        noise_std: σ, declared or fitted; NaN where an old certificate does not say.
        jitter_std: Deviation of the noise on top, against rounding.
    """

    noise_std: float = math.nan
    jitter_std: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProbabilityLeft:
    """The estimated probability that something better than the incumbent by more than ε remains, given the model.

    Attributes:
        probability: The estimate.
        n_paths: From how many draws of the model; None where local maxima were counted, whose expected number it is, or
            1 if that is more: an upper bound.
    """

    probability: float
    n_paths: int | None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a rule was asked.

    Attributes:
        rule: Class name of the rule, such as "UCBbr".
        epsilon: ε, the tolerance, in the objective's units.
        delta: δ, the risk: the probability that the bound may fail.
    """

    rule: str
    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a rule answers.

    Attributes:
        bound: Upper bound on what `measure` names, in the objective's units; inf if nothing can be said.
        guarantee: What the bound is: "theorem" (the user declared kernel and noise, and every precondition held; no
            noise is enough where every point of the space was evaluated), "model" (the same, given estimated
            hyperparameters) or "heuristic" (no proof at these settings).
        incumbent: Number of the certified trial; None if there is none.
        incumbent_value: Its observed value, in the objective's own sign and units.
        measure: What the bound is about: "regret", f* − f(incumbent); "regret change", how much the last observation
            changed its expectation; or "expected improvement", the largest on the incumbent. Only the first says how
            far the optimum can be; the others say that a search has settled.
        maximum: How the maximum over the space that the bound rests on is known: "enumerated" at every point of a
            finite space, "searched" for, or "evaluated" where the objective itself was, at every point and without
            noise; "counted" where the bound rests on no maximum, but on how many there are. None if nothing is
            certified.
        reason: In words, why to stop, or why not, or why the bound is infinite.
        terms: The rule's own numbers, by name; JSON scalars, to be read only. The strings "inf", "-inf" and "nan" are
            reserved.
    """

    bound: float
    guarantee: Guarantee
    incumbent: int | None
    incumbent_value: float | None
    measure: Measure = "regret"
    maximum: MaximumBy | None = None
    reason: str
    terms: Mapping[str, float | int | str] = field(hash=False)


@dataclass(frozen=True, kw_only=True)
class GapClaim:
    """The certified optimality gap at the same data; it equals the claim if that is what the rule computes.

    Attributes:
        bound: Upper bound on f* − f(incumbent), in the objective's units; inf where there is none.
        guarantee: What it is, "theorem" or "model".
        incumbent: Number of the trial that it is about, which may be another one than the claim's.
    """

    bound: float
    guarantee: Guarantee
    incumbent: int | None


@dataclass(frozen=True, kw_only=True)
class DataSeen:
    """What a statement is based on.

    Attributes:
        n_observations: Number of completed observations that entered the fit.
        n_excluded: Number of observations that did not: failed, not finite or outside the space.
        test: Index k ≥ 1 of the test; None if none was made.
        next_test: Number of observations at which the next test that spends risk is due, where that is later than
            after the next observation; else None.
    """

    n_observations: int
    n_excluded: int
    test: int | None = None
    next_test: int | None = None


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
    """

    asked: Asked
    claim: Claim
    gap: GapClaim
    data: DataSeen
    risk: RiskSpent | None = None
    model: ModelReport | None = None
    noise: Noise | None = None
    left: ProbabilityLeft | None = None

    @property
    def stop(self) -> bool:
        """Whether the bound is below ε."""
        return bool(self.bound < self.epsilon)  # numpy's bool is no JSON

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

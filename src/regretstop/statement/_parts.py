"""The typed parts of a statement."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Guarantee = Literal["theorem", "model", "heuristic", "none"]
"""What a bound is: proven, proven given the fitted model, or without proof at these settings; "none" of a rule that has
no bound, and says nothing of what may be left to find."""

Measure = Literal["regret", "expected regret", "regret change", "expected improvement", "improvement per cost", "none"]
"""What a bound is about: how much better than a trial the optimum is, or a number that only signals it; "none" of a
rule that has no bound."""

MaximumBy = Literal["enumerated", "searched", "evaluated", "counted", "declared"]
"""How the maximum over the space is known: the model's at all points, by a search, or the objective's at all points; or
not at all, because the local maxima above the bound were counted, or it is at most the best possible value."""


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
        n_constraints: How many constraints were modelled as well: what is said is then of the feasible optimum.
    """

    n_samples: int
    sampling: Literal["HMC", "mode"] | None = None
    n_transitions: int | None = None
    n_divergent: int | None = None
    acceptance: float | None = None
    n_residuals: int = 0
    residual_rms: float | None = None
    inflation: float = 1.0
    n_constraints: int = 0


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
        by_ceiling: Whether it is the probability that the incumbent is worse than the best possible value by more than
            ε, where that is less.
    """

    probability: float
    n_paths: int | None
    by_ceiling: bool = False


@dataclass(frozen=True, kw_only=True)
class MeanRegret:
    """The regret of the incumbent that the model expects, E[f* − f(incumbent)], in the objective's units.

    It is the most that going on can gain on average, whatever is done.

    Attributes:
        value: The estimate.
        error: Its standard error.
        n_paths: From how many draws of the model; None where local maxima were counted: an estimate of an
            upper bound.
        by_ceiling: Whether it is how much worse than the best possible value the incumbent is on average, where that is
            less.
    """

    value: float
    error: float
    n_paths: int | None
    by_ceiling: bool = False


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a rule was asked.

    Attributes:
        rule: Class name of the rule, such as "UCBbr": of a combination the one that the statement is by.
        epsilon: ε, the tolerance, in the objective's units; 0 of a rule that has none: no bound is below it.
        delta: δ, the risk: the probability that the bound may fail. Of a rule in a combination it is its share.
        epsilon_trial: Number of the trial whose score has ε for its standard error; None where ε was given.
        combination: The names of all rules where several were asked together, such as "UCBbr | Patience"; else None.
        place: Which of them this one is, counted from 0.
    """

    rule: str
    epsilon: float
    delta: float
    epsilon_trial: int | None = None
    combination: str | None = None
    place: int = 0


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a rule answers.

    Attributes:
        bound: Upper bound on what `measure` names, in the objective's units; inf if nothing can be said.
        guarantee: What the bound is: "theorem" (the user declared kernel and noise, and every precondition held; no
            noise is enough where every point of the space was evaluated), "model" (the same, given estimated
            hyperparameters), "heuristic" (no proof at these settings) or "none" (there is no bound: the rule looks at
            the clock, say).
        incumbent: Number of the certified trial; None if there is none.
        incumbent_value: Its observed value, in the objective's own sign and units.
        measure: What the bound is about: "regret", f* − f(incumbent); "regret change", how much the last observation
            changed its expectation; "expected regret", its mean; "expected improvement", the largest on the incumbent;
            "improvement per cost", the largest for a unit of cost; or "none", nothing. Only the first says how far the
            optimum can be; of the others the mean says it on average, and the rest that a search has settled.
        maximum: How the maximum over the space that the bound rests on is known: "enumerated" at every point of a
            finite space, "searched" for, or "evaluated" where the objective itself was, at every point and without
            noise; "counted" where the bound rests on no maximum, but on how many there are; "declared" where it is what
            is left up to the best possible value. None if nothing is certified.
        reason: In words, why to stop, or why not, or why the bound is infinite.
        terms: The rule's own numbers, by name; JSON scalars, to be read only. The strings "inf", "-inf" and "nan" are
            reserved.
        met: Whether what a rule without a bound waits for has come; None where the bound and ε decide.
    """

    bound: float
    guarantee: Guarantee
    incumbent: int | None
    incumbent_value: float | None
    measure: Measure = "regret"
    maximum: MaximumBy | None = None
    met: bool | None = None
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
        n_excluded: Number of observations that did not: failed, not finite or without a place in the space.
        test: Index k ≥ 1 of the test; None if none was made.
        next_test: Number of observations at which the next test that spends risk is due, where that is later than
            after the next observation; else None.
        n_infeasible: Number of completed observations that entered the fit and did not meet the constraints: none of
            them is certified.
    """

    n_observations: int
    n_excluded: int
    test: int | None = None
    next_test: int | None = None
    n_infeasible: int = 0

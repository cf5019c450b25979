"""What the rules with a proof share: whether one certificate is to be true or all, what each says of δ, the count."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from regretstop.bound import RiskLedger, ledger_for
from regretstop.certificate import Certificate
from regretstop.checks import check_flag
from regretstop.gap import CountedGap, Gap, best_trial, counted_gap, gap_beside
from regretstop.model import FEWEST_SAMPLED
from regretstop.prose import rounded_up
from regretstop.rules._base import Rule
from regretstop.rules._estimate import Estimate, verdict
from regretstop.rules._known import too_alike
from regretstop.rules._query import noise_needs, noise_remark, regret_of_noise, two_deviations
from regretstop.search import noise_is_told
from regretstop.snapshot import Snapshot
from regretstop.statement import RiskSpent

# δ/n_L is kept for slopes in the paper's experiment; the paper advises 10 or more, Remark 3.5.
_N_L = 10.0
# Where the mode said that more is left, samples never said that it is at most δ, in eight searches of jobs.
_WORTH_ASKING = 0.5
_UNLESS = f", unless samples of the hyperparameters end the search, which are asked from {FEWEST_SAMPLED} on"


@dataclass(frozen=True)
class LedgerRule(Rule):
    """A rule that has a proof, at the settings that it names.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1).
        schedule: When tests are made.
        simultaneous: Whether δ is the risk that any certificate of a search is false, at a price in each; by default
            it is the risk that the search ends by a false one, or that a single one is false, looked at whenever you
            like (docs/theory.md, The risk of a stop).

    Raises:
        ValueError: If an argument is out of its range.
    """

    simultaneous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check_flag("simultaneous", self.simultaneous)

    def _counted(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate of the counted gap: docs/theory.md, What is left, counted."""
        alike = too_alike(snapshot, self.tolerance)
        if alike:
            return self._without(snapshot, alike)
        ledger = RiskLedger(self.delta, math.inf, self.simultaneous)
        if snapshot.model.is_at_mode:
            return self._counted_at_mode(snapshot, ledger)
        return self._of_count(snapshot, ledger, counted_gap(snapshot, ledger.risk_of(snapshot.test), self.tolerance))

    def _counted_at_mode(self, snapshot: Snapshot, ledger: RiskLedger) -> Certificate:
        """Return the certificate at the likeliest hyperparameters.

        They are surer of themselves than the few values that they come from allow: a search ends only where the paper's
        experiment would end it, too, or samples of them.
        """
        risk = ledger.risk_of(snapshot.test)
        incumbent = best_trial(snapshot, risk)
        shared = ledger_for(snapshot.space, self.delta, _N_L, simultaneous=True)

        @cache
        def by_experiment() -> float:
            return two_deviations(snapshot, shared, incumbent)

        def decides() -> bool:
            return by_experiment() < self.tolerance

        found = counted_gap(snapshot, risk, self.tolerance, incumbent, decides=decides)
        bound, reason = found.bound, ""
        terms: dict[str, float] = {}
        if bound < self.tolerance:
            terms["two_deviations"] = by_experiment()
            if by_experiment() >= self.tolerance:
                counted, bound = rounded_up(bound), by_experiment()
                reason = (
                    f"{verdict(bound, self.tolerance)}: by the count {counted}, but at √β = 2 still so much is open"
                )
        is_near = bound >= self.tolerance and found.left <= _WORTH_ASKING
        if is_near and _has_doubts(snapshot, incumbent, self.tolerance):
            agreed = self._counted_over_samples(snapshot, ledger, terms)
            if agreed is not None:
                return agreed
        is_open = self.tolerance <= bound < math.inf
        if is_open and snapshot.data.plateau is None:  # whose edge can look like noise
            of_noise = snapshot.model.posteriors[0], regret_of_noise(snapshot, shared), self.tolerance, found.incumbent
            terms["noise_needs"] = noise_needs(snapshot, *of_noise)
            reason = (reason or verdict(bound, self.tolerance)) + noise_remark(
                snapshot, *of_noise, _UNLESS if _can_doubt(snapshot) else ""
            )
        return self._of_count(snapshot, ledger, found, bound, terms, reason)

    def _counted_over_samples(
        self, snapshot: Snapshot, ledger: RiskLedger, terms: Mapping[str, float]
    ) -> Certificate | None:
        """Return the certificate over samples of the hyperparameters if it stops; None if it does not.

        With noise the paper's experiment goes on for long: it adds up the deviations of two points, and pays a grid.
        And the mode jumps between hyperparameters that explain the values alike, of which samples take the mean.
        """
        doubted = snapshot.over_samples()
        if doubted is None:
            return None
        found = counted_gap(doubted, ledger.risk_of(snapshot.test), self.tolerance, if_closed=True)
        if found.bound >= self.tolerance:
            return None
        reason = f"{verdict(found.bound, self.tolerance)}, in the mean over {len(doubted.model.posteriors)} samples"
        return self._of_count(doubted, ledger, found, found.bound, terms, reason)

    def _of_count(
        self,
        snapshot: Snapshot,
        ledger: RiskLedger,
        found: CountedGap,
        bound: float | None = None,
        terms: Mapping[str, float] | None = None,
        reason: str = "",
    ) -> Certificate:
        """Return the certificate of a count; its own bound unless another is given, and the terms besides its own."""
        own = {"counted": found.bound, "left_error": found.left_error, "n_places": found.n_places}
        bound = found.bound if bound is None else bound
        return self._certificate(
            snapshot,
            Estimate(bound, found.incumbent, "counted", {**own, **(terms or {})}, reason),
            found,
            guarantee=snapshot.model.guarantee,
            risk=risk_spent(snapshot, ledger),
        )

    def _gap_beside(self, snapshot: Snapshot, incumbent: int) -> Gap | CountedGap | None:
        """Return the gap that stands beside the bound of a rule which has none itself, at its risk in this test."""
        ledger = RiskLedger(self.delta, math.inf, self.simultaneous)
        return gap_beside(snapshot, ledger.risk_of(snapshot.test), self.tolerance, incumbent)


def _can_doubt(snapshot: Snapshot) -> bool:
    return snapshot.model.over_samples is not None and not snapshot.model.n_constraints


def _has_doubts(snapshot: Snapshot, incumbent: int, epsilon: float) -> bool:
    """Return whether samples of the hyperparameters are asked in this test, if that would matter.

    They take a second: from 30 observations on they are asked at every second test, from 60 at every third, and so on.
    And they may all take structure for noise, as long as nothing tells it apart. Of constraints there are no samples.
    """
    n, data, model = snapshot.data.n_observations, snapshot.data, snapshot.model
    if not _can_doubt(snapshot) or n < FEWEST_SAMPLED or snapshot.test % (1 + n // FEWEST_SAMPLED):
        return False
    noise_std = model.noise_std_of(model.posteriors[0], snapshot.mean_of(incumbent))
    return noise_is_told(noise_std, epsilon, data.points, data.values)


def risk_spent(snapshot: Snapshot, ledger: RiskLedger, *, model_risk: float = 0.0) -> RiskSpent:
    """Return what a certificate says about the ledger.

    Args:
        snapshot: Of this test.
        ledger: It spends δ, less `model_risk`.
        model_risk: The part of δ that no test spends, because it is the chance that the model itself leaves.
    """
    return RiskSpent(
        schedule=snapshot.schedule.words,
        risk=ledger.risk_of(snapshot.test),
        spent=model_risk + ledger.spent(range(1, snapshot.test + 1)),
        test_risk=ledger.test_risk,
        slope_risk=ledger.slope_risk,
        model_risk=model_risk,
        simultaneous=ledger.simultaneous,
    )

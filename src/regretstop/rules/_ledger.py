"""What the rules with a proof share: whether one certificate is to be true or all, what each says of δ, the count."""

import math
from dataclasses import dataclass, field, replace

from regretstop.bound import RiskLedger
from regretstop.certificate import Certificate
from regretstop.gap import counted_gap
from regretstop.rules._base import Estimate, Rule
from regretstop.snapshot import Snapshot
from regretstop.statement import ProbabilityLeft, RiskSpent


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
        if not isinstance(self.simultaneous, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"simultaneous must be True or False, got {self.simultaneous!r}")

    def _counted(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate of the counted gap: docs/theory.md, What is left, counted."""
        ledger = RiskLedger(self.delta, math.inf, self.simultaneous)
        delta = ledger.risk_of(snapshot.test)
        found = counted_gap(snapshot, delta, self.epsilon)
        doubt = snapshot.model.over_samples
        # The mode of the hyperparameters is too sure of itself: a search ends only if their samples agree,
        # or if the certificate says that there are none to be had.
        if doubt is not None and found.bound * snapshot.model.scale < self.epsilon:
            snapshot = replace(snapshot, model=doubt())
            found = counted_gap(snapshot, delta, self.epsilon)
        bound = found.bound * snapshot.model.scale
        return self._certificate(
            snapshot,
            Estimate(bound, found.incumbent, "counted", {"left_error": found.left_error, "n_places": found.n_places}),
            found,
            guarantee=snapshot.model.guarantee,
            risk=risk_spent(snapshot, ledger),
            left=ProbabilityLeft(probability=found.left, n_paths=None),
        )


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

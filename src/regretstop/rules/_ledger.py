"""What the rules with a proof share: whether one certificate is to be true or all of them, and what each says of δ."""

import math
from dataclasses import dataclass, field

from regretstop.bound import RiskLedger
from regretstop.rules._base import Rule
from regretstop.snapshot import Snapshot
from regretstop.statement import RiskSpent


@dataclass(frozen=True)
class LedgerRule(Rule):
    """A rule whose certificates are proved.

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


def risk_spent(snapshot: Snapshot, ledger: RiskLedger, *, model_risk: float = 0.0) -> RiskSpent:
    """Return what a certificate says about the ledger.

    Args:
        snapshot: Of this test.
        ledger: It spends δ, less `model_risk`.
        model_risk: The part of δ that no test spends, because it is the chance that the model itself leaves.
    """
    return RiskSpent(
        schedule=snapshot.schedule.words,
        risk=math.exp(ledger.log_test_risk(snapshot.test)),
        spent=model_risk + ledger.spent(range(1, snapshot.test + 1)),
        test_risk=ledger.test_risk,
        slope_risk=ledger.slope_risk,
        model_risk=model_risk,
        simultaneous=ledger.simultaneous,
    )

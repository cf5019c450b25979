"""What the rules share that spend a risk ledger: how many tests there may be, and what a certificate says of it."""

import math
from dataclasses import dataclass, field

from regretstop.bound import RiskLedger
from regretstop.checks import check_at_least
from regretstop.rules._base import Rule
from regretstop.snapshot import Snapshot
from regretstop.statement import RiskSpent


@dataclass(frozen=True)
class LedgerRule(Rule):
    """A rule whose tests share δ.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1).
        schedule: When tests are made.
        horizon: The largest number of tests that will ever be made, or None for an open end. `PostHoc` has its own.

    Raises:
        ValueError: If an argument is out of its range, or the schedule has a horizon of its own.
    """

    horizon: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        if self.horizon is None:
            return
        check_at_least("horizon", self.horizon, 1)
        if self.schedule.limit is not None:
            raise ValueError(f"{self.schedule!r} has a horizon of its own: leave out horizon={self.horizon!r}")

    def _horizon(self, snapshot: Snapshot) -> int | None:
        """Return K for the tests that the snapshot is one of, None for an open end."""
        limit = snapshot.schedule.limit
        return self.horizon if limit is None else limit

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why there is no test, in words; None if there is one."""
        horizon = self._horizon(snapshot)
        if snapshot.obstacle is None and horizon is not None and snapshot.test > horizon:
            return f"the horizon of {horizon} tests is used up"
        return snapshot.obstacle


def risk_spent(snapshot: Snapshot, ledger: RiskLedger, *, model_risk: float = 0.0) -> RiskSpent:
    """Return what a certificate says about the ledger.

    Args:
        snapshot: Of this test.
        ledger: It spends δ, less `model_risk`.
        model_risk: The part of δ that no test spends, because it is the chance that the model itself leaves.
    """
    end = "" if snapshot.schedule.limit else ", open-ended" if ledger.horizon is None else f", at most {ledger.horizon}"
    return RiskSpent(
        schedule=snapshot.schedule.words + end,
        risk=math.exp(ledger.log_test_risk(snapshot.test)),
        spent=model_risk + ledger.spent(range(1, snapshot.test + 1)),
        test_risk=ledger.test_risk,
        slope_risk=ledger.slope_risk,
        model_risk=model_risk,
    )

"""What the rules share that spend a risk ledger: how many tests there may be, and what a certificate says of it."""

import math
from dataclasses import dataclass, field

from regretstop.bound import RiskLedger
from regretstop.checks import check_at_least
from regretstop.rules._base import Rule
from regretstop.snapshot import Snapshot


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


def risk_terms(snapshot: Snapshot, ledger: RiskLedger, *, model_risk: float = 0.0) -> dict[str, float | int | str]:
    """Return what a certificate says about the ledger.

    Args:
        snapshot: Of this test.
        ledger: It spends δ, less `model_risk`.
        model_risk: The part of δ that no test spends, because it is the chance that the model itself leaves.

    Returns:
        "test" is k, "test_risk" the risk that all tests share, "risk" that of this one, "slope_risk" that of the
        slopes, "risk_spent" all up to this test, "schedule" when tests are made, in words; "next_test" is the number
        of observations at which the next one is due, where it is not due after the next observation.
    """
    end = "" if snapshot.schedule.limit else ", open-ended" if ledger.horizon is None else f", at most {ledger.horizon}"
    terms: dict[str, float | int | str] = {
        "test": snapshot.test,
        "test_risk": ledger.test_risk,
        "risk": math.exp(ledger.log_test_risk(snapshot.test)),
        "slope_risk": ledger.slope_risk,
        "model_risk": model_risk,
        "risk_spent": model_risk + ledger.spent(range(1, snapshot.test + 1)),
        "schedule": snapshot.schedule.words + end,
    }
    if snapshot.next_test is not None and snapshot.next_test > snapshot.n_observations + 1:
        terms["next_test"] = snapshot.next_test
    return terms

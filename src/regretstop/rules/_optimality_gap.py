"""Rule OptimalityGap: stop when the certified gap of an evaluated trial falls below ε."""

import math
from dataclasses import dataclass
from typing import Literal

from regretstop.bound import UNKNOWN_SLOPES, ledger_for
from regretstop.certificate import Certificate
from regretstop.checks import check_between, check_number_or
from regretstop.gap import calibrated_gap, certified_gap, counting_obstacle, slopes_known
from regretstop.rules._estimate import Estimate, verdict
from regretstop.rules._ledger import LedgerRule, risk_spent
from regretstop.snapshot import Snapshot


@dataclass(frozen=True)
class OptimalityGap(LedgerRule):
    """The certified optimality gap: true for any sampler.

    The bound is the least b such that no more than δ local maxima better than x̂ by more than b are expected. That is
    proved, and needs neither grid nor slopes (docs/theory.md, What is left, counted). Where hyperparameters are
    estimated, a search ends only if two deviations agree.

    beta="grid" is the older gap, whose widths of several deviations seldom get small within a hundred trials:

        f* − f(x̂) ≤ max_x [μ_n(x) + √α σ_n(x)] − [μ_n(x̂) − √η σ_n(x̂)] + h     (docs/theory.md, The optimality gap)

    A number for `beta` makes both widths √β and h 0, which is not proved; the certified gap stands beside it.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1).
        n_L: With beta="grid", δ/n_L is kept for the slopes of f; above 1. A finite space keeps nothing.
        schedule: When tests are made.
        simultaneous: Whether all certificates of a search are to be true at once, at a price in each.
        beta: "calibrated" to count what is left, or "grid" where it cannot be counted; "grid" for the widths of a
            grid; β of both widths, such as 4.0 for two deviations.

    Raises:
        ValueError: If an argument is out of its range.
    """

    n_L: float = 10.0  # the paper advises 10 or more, Remark 3.5
    beta: float | Literal["calibrated", "grid"] = "calibrated"

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check_between("n_L", self.n_L, 1)
        check_number_or("beta", self.beta, "calibrated", "grid")
        if not isinstance(self.beta, str):
            check_between("beta", self.beta, 0)

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why nothing can be said, in words; None if something can."""
        obstacle = super().obstacle(snapshot)
        if obstacle is None and self.beta == "calibrated" and not slopes_known(snapshot):
            return counting_obstacle(snapshot)
        return obstacle

    def _assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate where there is no obstacle."""
        if self.beta == "calibrated" and counting_obstacle(snapshot) is None:
            return self._counted(snapshot)
        ledger = ledger_for(snapshot.space, self.delta, self.n_L, simultaneous=self.simultaneous)
        is_proved = isinstance(self.beta, str)  # by a grid also where nothing can be counted
        gap = (
            certified_gap(snapshot, ledger)
            if isinstance(self.beta, str)
            else calibrated_gap(snapshot, math.sqrt(self.beta))
        )
        if gap is None:
            return self._obstructed(snapshot, UNKNOWN_SLOPES)
        bound, unit = gap.bound, snapshot.model.units.slope(gap.lower)
        reason = verdict(bound, self.tolerance)
        if self.beta == "calibrated":
            reason += f"; by a grid, since {counting_obstacle(snapshot)}"
        terms = {
            "sqrt_alpha": gap.sqrt_alpha,
            "sqrt_eta": gap.sqrt_eta,
            "posterior_std": gap.std * unit,
            "std_floor": gap.std_floor * unit,
            "grid_error": gap.grid_error * unit,
            "log_n_grid": gap.log_n_grid,
            "n_L": ledger.n_L,
        }
        return self._certificate(
            snapshot,
            Estimate(bound, gap.incumbent, gap.how, terms, reason),
            gap if is_proved else self._gap_beside(snapshot, gap.incumbent),
            guarantee=snapshot.model.guarantee if is_proved else "heuristic",
            risk=risk_spent(snapshot, ledger),
        )

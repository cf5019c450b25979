"""Where the risk δ goes.

| paper | here | |
|---|---|---|
| π_t, after eq. (4) | `log_pi` | weight of the t-th test; Σ 1/π_t = 1 |
| n_L, eq. (6) | `n_L` | δ/n_L is the share of the risk kept for the slopes (Lemma B.8) |
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regretstop.bound._slopes import sloped_axes
from regretstop.spaces import Space


def log_pi(t: float) -> float:
    """Return log π_t with π_t = π² t² / 6, so that Σ 1/π_t = 1 (paper, after eq. (4))."""
    return math.log(math.pi**2 / 6.0) + 2.0 * math.log(t)


@dataclass(frozen=True)
class RiskLedger:
    """How δ is spent: δ/n_L once on the slopes, the rest over the tests.

        δ = δ/n_L + Σ_k q/π_k,   q = δ (1 − 1/n_L)         (paper, proof of Theorem 3.6)

    π_k = π²k²/6 where the tests may go on for ever, π_k = K where at most K tests will be made (paper, Remark 3.7).
    Tests are indexed by the number of observations they see, so a resumed or parallel run spends nothing twice
    (docs/theory.md, The risk ledger).

    Attributes:
        delta: δ.
        n_L: The slopes' share is δ/n_L; infinite where no slopes are needed.
        horizon: K, or None for an open end.
    """

    delta: float
    n_L: float
    horizon: int | None = None

    @property
    def slope_risk(self) -> float:
        """The risk kept for the slopes."""
        return self.delta / self.n_L

    @property
    def test_risk(self) -> float:
        """The risk q that all tests share."""
        return self.delta * (1.0 - 1.0 / self.n_L)

    def log_weight(self, test: int) -> float:
        """Return log π_k of the k-th test, k ≥ 1; infinite beyond the horizon."""
        if self.horizon is None:
            return log_pi(test)
        return math.log(self.horizon) if test <= self.horizon else math.inf

    def log_test_risk(self, test: int) -> float:
        """Return log(q/π_k), the risk of the k-th test; −∞ beyond the horizon."""
        return math.log(self.test_risk) - self.log_weight(test)

    def spent(self, tests: Iterable[int]) -> float:
        """Return the risk spent after the tests with these indices; an index counts once."""
        return self.slope_risk + self.test_risk * math.fsum(math.exp(-self.log_weight(k)) for k in set(tests))


def ledger_for(space: Space, delta: float, n_L: float, horizon: int | None) -> RiskLedger:
    """Return the risk ledger; a space without sloped axes keeps nothing for slopes."""
    return RiskLedger(delta, n_L if np.any(sloped_axes(space)) else math.inf, horizon)

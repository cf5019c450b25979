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
    """How δ is spent: δ/n_L once on the slopes, the rest, q = δ (1 − 1/n_L), on tests.

    One test ends a search, and may take all of q however many there were before: what it says is conditional on the
    data (docs/theory.md, The risk of a stop). If all certificates of a search are to be true at once, tests share it:

        δ = δ/n_L + Σ_k q/π_k,   π_k = π²k²/6         (paper, proof of Theorem 3.6)

    Attributes:
        delta: δ.
        n_L: The slopes' share is δ/n_L; infinite where no slopes are needed.
        simultaneous: Whether tests share q.
    """

    delta: float
    n_L: float
    simultaneous: bool = False

    @property
    def slope_risk(self) -> float:
        """The risk kept for the slopes."""
        return self.delta / self.n_L

    @property
    def test_risk(self) -> float:
        """The risk q of tests."""
        return self.delta * (1.0 - 1.0 / self.n_L)

    def risk_of(self, test: int) -> float:
        """Return the risk of the k-th test, k ≥ 1: q, or q/π_k."""
        return self.test_risk * math.exp(-log_pi(test)) if self.simultaneous else self.test_risk

    def spent(self, tests: Iterable[int]) -> float:
        """Return the risk of the tests with these indices: δ unless they share it; an index counts once."""
        if not self.simultaneous:
            return self.delta
        return self.slope_risk + math.fsum(map(self.risk_of, set(tests)))


def ledger_for(space: Space, delta: float, n_L: float, *, simultaneous: bool = False) -> RiskLedger:
    """Return how δ is spent; a space without sloped axes keeps nothing for slopes."""
    return RiskLedger(delta, n_L if np.any(sloped_axes(space)) else math.inf, simultaneous)

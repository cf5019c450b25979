"""Rule UCBbr: the paper's rule, on its instantaneous regret bound for GP-UCB."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from regretstop.array import Array
from regretstop.bound import (
    UNKNOWN_SLOPES,
    RiskLedger,
    ledger_for,
    sloped_axes,
    slopes_of,
)
from regretstop.certificate import Certificate
from regretstop.checks import check_between, check_positive
from regretstop.gap import counting_obstacle, slopes_known
from regretstop.model import Posterior
from regretstop.rules._estimate import Estimate, verdict
from regretstop.rules._ledger import LedgerRule, risk_spent
from regretstop.rules._query import UNCOUNTED_BETA, QueryBound, QueryFormula, noise_remark
from regretstop.snapshot import Snapshot, std_floor
from regretstop.spaces import Space


@dataclass(frozen=True)
class UCBbr(LedgerRule):
    """The paper's rule: stop when its bound on the regret of the next GP-UCB query falls below ε.

        c_t = (√β_t + √η_t) σ(x_t) − (√β_t − √α_t) σ_floor + t^(−s_t),   x_t = argmax μ + √β σ   (paper, eq. (12), (13))

    The paper certifies the query x_t, which then has to be evaluated. Here the bound is handed on to the evaluated
    trial x̂ with the best lower confidence bound, which costs what x̂ lacks of x_t's:
    `bound = c_t + max(0, LCB(x_t) − LCB(x̂))`, LCB = μ − √η σ. By the same proof it bounds f* − f(x̂), whichever
    sampler chose the data (docs/theory.md, The paper's bound). Over samples of the hyperparameters x̂ is the trial whose
    worst bound is the least.

    The width of the acquisition is the optimizer's `beta`. "theory" is the paper's β_t and "matched" sets β_t = α_t:
    both satisfy the theorem's condition α_t ≤ β_t. A number is the paper's experiment: x_t maximises with that β
    while the formula keeps the theory's β_t. Then the proof does not apply, and the guarantee is "heuristic".
    "calibrated" counts the local maxima that are expected to be better than x̂ by more than b: the bound is the least b
    with no more than δ of them. It is proved, and needs neither grid nor slopes: docs/theory.md, What is left, counted.
    Where hyperparameters are estimated the paper's experiment with √β = 2 has to agree: a bound below ε gives way to
    that of the experiment where this is not below ε. From 30 observations on a bound that is not gives way to the mean
    over 32 samples of them where that is below ε, which is asked now and then. Where nothing can be counted it is that
    experiment, "heuristic".

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1).
        n_L: δ/n_L is kept for the slopes of f; above 1. A finite space keeps nothing.
        schedule: When tests are made.
        simultaneous: Whether all certificates of a search are to be true at once, at a price in each.
        a: With b, the paper's assumption P(Lipschitz constant > L) ≤ d a exp(−L²/b²), in units of the prior deviation
            on the unit cube. Give both, or neither to derive slope levels from the kernel.
        b: See a.
        side: r, the side of the cube that a and b are meant for.

    Raises:
        ValueError: If an argument is out of its range, or only one of a and b is given.
    """

    n_L: float = 10.0  # the paper advises 10 or more, Remark 3.5
    a: float | None = None
    b: float | None = None
    side: float = 1.0

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check_between("n_L", self.n_L, 1)
        if (self.a is None) != (self.b is None):
            raise ValueError(f"a and b go together, got a={self.a!r} and b={self.b!r}")
        check_positive("side", self.side)
        for name, value in (("a", self.a), ("b", self.b)):
            if value is not None:
                check_positive(name, value)
        if self.a is not None and self.a <= self.delta:
            raise ValueError(f"a must be above delta = {self.delta!r} for a Lipschitz level, got {self.a!r}")

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why there is no test, in words; None if there is one."""
        obstacle = super().obstacle(snapshot)
        if obstacle is None and self.a is None and not _counts(snapshot):
            return None if slopes_known(snapshot) else UNKNOWN_SLOPES
        return obstacle

    def _assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate where there is no obstacle."""
        if _counts(snapshot):
            return self._counted(snapshot)
        ledger = ledger_for(snapshot.space, self.delta, self.n_L, simultaneous=self.simultaneous)
        beta = UNCOUNTED_BETA if snapshot.beta == "calibrated" else snapshot.beta
        if not isinstance(beta, str):  # the paper's experiment: what tests share there stays shared
            ledger = replace(ledger, simultaneous=True)
        levels = partial(self._levels, snapshot.space)
        found = QueryFormula(snapshot, beta, ledger, levels, one_level=self.a is not None).under_all()
        at_data = snapshot.at_data()
        units = snapshot.model.units
        bounds = np.array([each.regrets(mean, std, units) for each, (mean, std) in zip(found, at_data, strict=True)])
        lower = [each.lower(mean, std) for each, (mean, std) in zip(found, at_data, strict=True)]
        # The trial whose worst bound is the least; of equals, the one with the best lower confidence bounds.
        incumbent = int(np.lexsort((-np.mean(lower, axis=0), np.max(bounds, axis=0)))[0])
        k = int(np.argmax(bounds[:, incumbent]))
        bound = float(bounds[k, incumbent])
        return self._certify(snapshot, ledger, found[k], bound, incumbent)

    def _levels(self, space: Space, posterior: Posterior, risk: float) -> Array:
        """Return r L_j of each axis with a slope, for levels that fail with at most this risk; shape (d,).

        From a and b it is r b √log(d a / risk): Assumption 2.1 solved for L.
        """
        if self.a is None or self.b is None:
            return slopes_of(space, posterior, risk)
        dim = int(np.sum(sloped_axes(space)))
        return np.full(dim, self.side * self.b * math.sqrt(math.log(dim * self.a / risk))) if dim else np.zeros(0)

    def _certify(
        self,
        snapshot: Snapshot,
        ledger: RiskLedger,
        largest: QueryBound,
        bound: float,
        incumbent: int,
    ) -> Certificate:
        posterior, regret, query = largest.posterior, largest.regret, largest.query
        is_proved = snapshot.beta in ("theory", "matched")
        reason = verdict(bound, self.tolerance)
        if math.isinf(bound):
            reason = "no parameters satisfy the theorem's condition α ≤ β"
        elif bound >= self.tolerance and snapshot.data.plateau is None:  # whose edge can look like noise
            reason += noise_remark(snapshot, posterior, regret, self.tolerance, incumbent)
        if snapshot.beta == "calibrated":
            reason += f"; √β = 2 without a proof, since {counting_obstacle(snapshot)}"
        scale = snapshot.model.units.slope(snapshot.mean_of(incumbent))
        n = snapshot.data.n_observations
        terms = {
            "t": n + 1,
            "query_bound": regret.value * posterior.prior_std * scale,
            "sqrt_beta": regret.sqrt_beta,
            "sqrt_eta": regret.sqrt_eta,
            "sqrt_alpha": regret.sqrt_alpha,
            "s": regret.s,
            "grid_error": posterior.prior_std * scale * math.exp(-regret.s * math.log(n + 1)),
            "posterior_std": query.std * scale,
            "std_floor": std_floor(posterior, n) * scale,
            "prior_std": posterior.prior_std * scale,
            "n_L": ledger.n_L,
        }
        return self._certificate(
            snapshot,
            Estimate(bound, incumbent, query.how, terms, reason),
            self._gap_beside(snapshot, incumbent),
            guarantee=snapshot.model.guarantee if is_proved else "heuristic",
            risk=risk_spent(snapshot, ledger),
            noise=snapshot.noise_at(incumbent, posterior),
        )


def _counts(snapshot: Snapshot) -> bool:
    return snapshot.beta == "calibrated" and counting_obstacle(snapshot) is None

"""The paper's bound on the instantaneous regret of the next GP-UCB query, and what it says about evaluated trials."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regretstop.array import Array
from regretstop.bound import (
    RegretBound,
    RiskLedger,
    Theorem,
    grids_of,
    log_n_exact,
    settle_cost,
    slopes_of,
    theory_sqrt_beta,
)
from regretstop.model import Posterior, Units
from regretstop.search import Maximizer, Maximum, UpperConfidenceBound
from regretstop.snapshot import Beta, Snapshot, std_floor

# √β = 2: the paper's experiment.
UNCOUNTED_BETA = 4.0


@dataclass(frozen=True)
class QueryBound:
    """The paper's bound under one posterior, in units of its prior deviation, and the query x_t that it is for."""

    posterior: Posterior
    regret: RegretBound
    query: Maximum

    def lower(self, mean: Array, std: Array) -> Array:
        """Return the lower confidence bounds of trials, by which one is named among equals."""
        # An infinite width means an infinite bound; any finite one then serves to name a trial, such as the default √β.
        return mean - (self.regret.sqrt_eta if math.isfinite(self.regret.sqrt_eta) else 2.0) * std

    def regrets(self, mean: Array, std: Array, units: Units) -> Array:
        """Return the bound handed on to each of the trials with these posterior means and deviations, shape (n,).

        Standardised, f* is at most the trial's lower confidence bound plus that.
        """
        if not math.isfinite(self.regret.value):
            return np.full(len(mean), math.inf)
        width = self.regret.sqrt_eta
        # c_t + max(0, LCB(x_t) − LCB(x̂)): docs/theory.md, The paper's bound
        lacking = (self.query.mean - width * self.query.std) - (mean - width * std)
        gaps = self.posterior.prior_std * self.regret.value + np.maximum(lacking, 0.0)
        return units.gain(mean - width * std, gaps)


@dataclass(frozen=True)
class QueryFormula:
    """c_t of the paper, eq. (12) and (13), at one moment.

    Attributes:
        snapshot: The data and the model.
        beta: β of the acquisition whose maximiser x_t is.
        ledger: What δ is spent on.
        levels: Returns r L_j of each axis with a slope, shape (d,), for levels that fail under a posterior with at
            most a risk.
        one_level: Whether these are one Lipschitz constant, as the paper has it.
    """

    snapshot: Snapshot
    beta: Beta
    ledger: RiskLedger
    levels: Callable[[Posterior, float], Array]
    one_level: bool = False

    def under_all(self) -> list[QueryBound]:
        """Return the bound under each posterior.

        Each with a full search: unlike the gap, this bound may be far too low or too high at a point that is only
        nearly the maximiser.
        """
        model = self.snapshot.model
        return [self._under(*each) for each in zip(model.posteriors, model.maximizers, strict=True)]

    def _under(self, posterior: Posterior, maximizer: Maximizer) -> QueryBound:
        beta, prior_std = self.beta, posterior.prior_std
        theorems, sqrt_beta = self._theorems(posterior)

        def least(query: Maximum, width: float) -> RegretBound:
            return _least(theorems, query.std / prior_std, width)

        if beta != "matched":
            width = sqrt_beta if isinstance(beta, str) else math.sqrt(beta)
            query = maximizer.maximize(UpperConfidenceBound(width))
            return QueryBound(posterior, least(query, sqrt_beta), query)
        tried: list[QueryBound] = []

        def respond(std: float) -> float:
            """Query with the width that matches this deviation; the theorem holds for whatever β it has."""
            width = min(theorem.matched_width(std) for theorem in theorems)
            query = maximizer.maximize(UpperConfidenceBound(width))
            tried.append(QueryBound(posterior, least(query, width), query))
            return query.std / prior_std

        first = maximizer.maximize(UpperConfidenceBound(sqrt_beta))
        settle_cost(first.std / prior_std, respond)
        return min(tried, key=lambda each: each.regret.value)

    def at_floor(self, posterior: Posterior) -> RegretBound:
        """Return the bound of a query whose deviation is at the floor."""
        theorems, sqrt_beta = self._theorems(posterior)
        floor = std_floor(posterior, self.snapshot.data.n_observations)
        return _least(theorems, floor / posterior.prior_std, sqrt_beta)

    def _theorems(self, posterior: Posterior) -> tuple[list[Theorem], float]:
        """Return the theorem by each grid, and the theory's √β_t."""
        snapshot, ledger = self.snapshot, self.ledger
        space, n = snapshot.space, snapshot.data.n_observations
        levels = self.levels(posterior, ledger.slope_risk)
        theorems = [
            Theorem(n + 1, math.log(ledger.risk_of(snapshot.test)), posterior.noise_std / posterior.prior_std, grid)
            for grid in grids_of(space, levels, one_level=self.one_level)
        ]
        dim = len(levels)
        # The paper's eq. (4) has one level, at the risk δ/4: of levels that differ, the geometric mean. No proof asks
        # more of β than α ≤ β.
        for_beta = self.levels(posterior, ledger.delta / 4.0)
        reach = dim * math.exp(float(np.mean(np.log(for_beta)))) if dim else 0.0
        return theorems, theory_sqrt_beta(n + 1, dim, ledger.delta, reach, log_n_exact(space))


def _least(theorems: Sequence[Theorem], posterior_std: float, width: float) -> RegretBound:
    """Return the bound by the grid that makes it least."""
    return min((theorem.bound(posterior_std, width) for theorem in theorems), key=lambda bound: bound.value)


def noise_remark(
    snapshot: Snapshot,
    posterior: Posterior,
    regret: RegretBound,
    epsilon: float,
    incumbent: int,
    unless: str = "",
) -> str:
    """Return a remark if the noise alone keeps the bound above ε, however good the sampling; else nothing.

    Args:
        snapshot: Without an obstacle.
        posterior: Of which the noise is.
        regret: Of a query that nothing but the noise leaves open.
        epsilon: ε in the objective's units.
        incumbent: Index of the certified trial among the snapshot's points.
        unless: What may end the search sooner, in words, to follow the number of observations.
    """
    needed = noise_needs(snapshot, posterior, regret, epsilon, incumbent)
    if not math.isfinite(needed) or needed <= snapshot.data.n_observations:
        return ""
    # The bound counts the noise as often as the model check says; what is named is the noise itself.
    noise_std = snapshot.model.noise_std_of(posterior, snapshot.mean_of(incumbent))
    return (
        f"; noise of deviation {noise_std:.4g} alone keeps it there until about {needed:.0f} observations{unless}: if "
        "it is as large as that, a larger ε, or less noise, is what would help"
    )


def noise_needs(snapshot: Snapshot, posterior: Posterior, regret: RegretBound, epsilon: float, incumbent: int) -> float:
    """Return about how many observations it takes until the noise alone leaves the bound below ε.

    With σ(x_t) at the floor, about σ/√n, the paper's eq. (12) is (√α + √η) σ/√n + t^(−s): not below ε before there are
    ((√α + √η) σ/ε)² observations, with ε in standardised units at the trial that is certified.
    """
    gap = snapshot.model.units.gap(snapshot.mean_of(incumbent), epsilon)
    ratio = (regret.sqrt_alpha + regret.sqrt_eta) * posterior.noise_std / gap
    return ratio * ratio  # not **, which raises where this overflows to infinity


def two_deviations(snapshot: Snapshot, ledger: RiskLedger, incumbent: int) -> float:
    """Return the paper's experiment, √β = 2, handed on to a trial, in the objective's units: a heuristic, no bound.

    Args:
        snapshot: Without an obstacle.
        ledger: As of a rule that shares δ among tests, as the paper's experiment does.
        incumbent: Index of the trial among the snapshot's points.
    """
    trial = snapshot.data.points[incumbent : incumbent + 1]
    found = _experiment(snapshot, ledger).under_all()
    return max(float(each.regrets(*each.posterior.mean_std(trial), snapshot.model.units)[0]) for each in found)


def regret_of_noise(snapshot: Snapshot, ledger: RiskLedger) -> RegretBound:
    """Return what that experiment says of a query that nothing but the noise leaves open, under the first posterior.

    No query has a lesser bound after so many observations, however they are placed: the bound grows with the query's
    deviation, which cannot be below the floor.

    Args:
        snapshot: Without an obstacle.
        ledger: As for `two_deviations`.
    """
    return _experiment(snapshot, ledger).at_floor(snapshot.model.posteriors[0])


def _experiment(snapshot: Snapshot, ledger: RiskLedger) -> QueryFormula:
    searches = snapshot.model.relaxed or snapshot.model.maximizers
    snapshot = replace(snapshot, model=replace(snapshot.model, maximizers=searches))
    return QueryFormula(
        snapshot, UNCOUNTED_BETA, ledger, lambda posterior, risk: slopes_of(snapshot.space, posterior, risk)
    )

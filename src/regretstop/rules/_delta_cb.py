"""Rule DeltaCB: stop when upper and lower confidence bounds are closer than ε (Makarova et al. 2022)."""

import math
from dataclasses import dataclass

from regretstop.gap import calibrated_gap
from regretstop.rules._estimate import Estimate
from regretstop.rules._heuristic import Heuristic
from regretstop.snapshot import Snapshot


@dataclass(frozen=True)
class DeltaCB(Heuristic):
    """ΔCB: the largest upper confidence bound less the best lower one of an evaluated trial.

        max_D [μ + √β_n σ] − max_i [μ − √β_n σ](x_i),   β_n = (2/5) log(d n² π² / 6δ)

    The rule of Makarova et al. 2022 (*Automatic Termination for Hyperparameter Optimization*). Its theorem (Srinivas
    et al. 2010) has 2 log(|D| n² π² / 6δ) with |D| the number of points of the space. As the rule is used, by Wilson
    2024 among others, the number of parameters d stands in its place and a fifth of it is taken: a heuristic.
    The fifth is what served Srinivas et al. best in their experiments. See docs/theory.md, The rules of others.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1).

    Raises:
        ValueError: If an argument is out of its range.
    """

    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Return the worst over the posteriors at the trial whose lower confidence bound is the best on average."""
        sqrt_beta = sqrt_beta_of(snapshot, self.delta)
        gap = calibrated_gap(snapshot, sqrt_beta)
        return Estimate(gap.bound, gap.incumbent, gap.how, {"sqrt_beta": sqrt_beta})


def sqrt_beta_of(snapshot: Snapshot, delta: float) -> float:
    """Return √β_n = √((2/5) log(d n² π²/6δ)) for the snapshot's d and n."""
    d, n = snapshot.space.dim, snapshot.data.n_observations
    return math.sqrt(0.4 * math.log(d * n**2 * math.pi**2 / (6.0 * delta)))

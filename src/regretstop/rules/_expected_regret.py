"""Rule ExpectedRegret: stop when the model expects that no continuation can gain ε on average."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regretstop.certificate import Certificate
from regretstop.gap import gap_beside
from regretstop.rules._base import Rule
from regretstop.rules._estimate import Estimate, verdict
from regretstop.rules._remaining import NO_PATHS, can_draw, path_regrets, path_rng, summed_up
from regretstop.snapshot import Snapshot
from regretstop.statement import Measure

# Cumulative numbers of paths. All are drawn before a stop: with the last number a regret that comes with a probability
# of 1 % is met by some path, 0.99⁵¹² = 0.006. Fewer are enough to go on.
_TOTALS = (64, 128, 256, 512)
# Deviations of the mean that are added to it, or have to lie above ε to draw no more.
_SURE = 2.0
_N_STARTS = 2


@dataclass(frozen=True)
class ExpectedRegret(Rule):
    """E[f* − f(x̂)] given the model: the most that going on can gain on average, whatever is done.

    x̂ is the evaluated trial with the highest posterior mean, for which it is the least. The expectation is the mean
    over posterior paths, in equal shares of all hyperparameter samples, and the bound is that mean plus two of its
    standard errors: 512 paths where the rule stops, fewer where it is clear that it goes on.

    It is an expectation: something much better that is there with a small probability keeps it small. A bound that
    holds with probability 1 − δ is another rule's. The paths are draws of an approximation, and their maxima are
    searched for: the guarantee is "heuristic".

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1), of the certified gap that stands beside it; the rule itself has no probability.
        schedule: When tests are made.

    Raises:
        ValueError: If an argument is out of its range.
    """

    measure: ClassVar[Measure] = "expected regret"

    @property
    def bounds_regret(self) -> bool:
        """True: what is better by more than ε is what an expectation of ε is made of."""
        return True

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why there is no test, in words; None if there is one."""
        return super().obstacle(snapshot) or (None if can_draw(snapshot) else NO_PATHS)

    def _assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate where there is no obstacle."""
        means = [posterior.mean_std(snapshot.data.points)[0] for posterior in snapshot.model.posteriors]
        incumbent = int(np.argmax(np.mean(means, axis=0)))
        trial, rng = snapshot.data.points[[incumbent]], path_rng(snapshot)
        regrets = path_regrets(snapshot, trial, _TOTALS[0], self.tolerance, rng, _N_STARTS)[0]
        drawn = summed_up(regrets, self.tolerance)
        for total in _TOTALS[1:]:
            if drawn.expected.value - _SURE * drawn.expected.error > self.tolerance:
                break
            more = path_regrets(snapshot, trial, total - regrets.size, self.tolerance, rng, _N_STARTS)[0]
            regrets = np.concatenate([regrets, more])
            drawn = summed_up(regrets, self.tolerance)
        margin = _SURE * drawn.expected.error
        bound = drawn.expected.value + margin
        terms = {"margin": margin, "n_paths": regrets.size}
        reason = verdict(bound, self.tolerance, "the expected regret")
        return self._certificate(
            snapshot,
            Estimate(bound, incumbent, snapshot.model.maximizers[0].how, terms, reason),
            gap_beside(snapshot, self.delta, self.tolerance, incumbent),
            guarantee="heuristic",
            drawn=drawn,
        )

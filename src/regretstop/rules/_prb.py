"""Rule PRB: stop when simulation says that a trial is ε-optimal with probability 1 − δ (Wilson 2024)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc

from regretstop.array import Array
from regretstop.bound import RiskLedger
from regretstop.certificate import Certificate
from regretstop.gap import gap_beside
from regretstop.model import HasPaths
from regretstop.rules._base import Rule
from regretstop.rules._estimate import Estimate
from regretstop.rules._ledger import risk_spent
from regretstop.rules._remaining import NO_PATHS, can_draw, path_regrets, path_rng, summed_up
from regretstop.snapshot import Snapshot
from regretstop.statement import ProbabilityLeft

# Each costs the others a part of the risk: a fifth instead of all of it takes 64 paths more at δ = 0.05, log 5 / (δ/2).
_N_CANDIDATES = 5
# Paths that choose the candidates; others then judge them. A trial that beats the others with a probability of 5 % is
# seen to by some path 24 times of 25: 0.95⁶⁴ = 0.04.
_N_SCOUTS = 64
# Cumulative numbers of paths, n_j = 16 · 1.5^(j−1), and the risk of the j-th look at them, ∝ j^(−1.1). Growth and decay
# are those of Wilson's program. At δ = 0.05 and with five candidates a stop takes, if no path exceeds ε at all, 411
# paths in the first test, 616 in the 20th and 923 in the 1000th: hence 1000 at the most.
_FIRST, _GROWTH, _MOST = 16, 1.5, 1000
_DECAY = 1.1
# More than for the estimate that other certificates carry: here a maximum that is missed counts for the decision.
_N_STARTS = 3


@dataclass(frozen=True)
class PRB(Rule):
    """The probabilistic regret bound: stop when some trial x̂ has P(f* − f(x̂) ≤ ε | data) ≥ 1 − δ/2, by simulation.

    The other half of δ pays for errors of the estimate, any of which could end the search: all tests share it, and in a
    test up to five candidates.
    Each candidate's regret is computed on posterior paths, in growing numbers, until the Clopper–Pearson limits of the
    probability that it exceeds ε are both on one side of δ/2, or 1000 paths are drawn. Paths are drawn in equal shares
    from all hyperparameter samples: with one posterior, the MAP, it is Wilson's rule, with several our extension.

    The certificate's bound is a quantile with the same meaning: with probability at least 1 − δ/2 over the model, and
    up to δ/2 for the estimate, f* − f(x̂) is at most the bound. It is the upper confidence limit of the (1 − δ/2)
    quantile from the paths drawn, and infinite where they are too few for one: most tests see after a few dozen paths
    that too much is left, and stop drawing. `left.probability` is the estimate itself.

    See docs/theory.md, Posterior paths, and the probability that something better remains.

    The guarantee is "heuristic": the limits would hold for independent exact draws, and the paths are draws of an
    approximation, share its frequencies within a round, and have their maxima searched for.

    Args:
        epsilon: ε in the objective's units: stop when the bound falls below it.
        delta: δ in (0, 1).
        schedule: When tests are made.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why there is no test, in words; None if there is one."""
        return super().obstacle(snapshot) or (None if can_draw(snapshot) else NO_PATHS)

    def _assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate where there is no obstacle."""
        rng = path_rng(snapshot)
        candidates = _candidates(snapshot, rng)
        ledger = RiskLedger(0.5 * self.delta, math.inf, simultaneous=True)
        risk = ledger.risk_of(snapshot.test)
        tally, gaps = self._simulate(snapshot, candidates, risk / len(candidates), rng)
        found = Estimate(
            tally.bound,
            candidates[tally.candidate],
            snapshot.model.maximizers[0].how,
            {"candidates": len(candidates)},
            self._reason(tally),
        )
        return self._certificate(
            snapshot,
            found,
            gap_beside(snapshot, self.delta, self.tolerance, found.incumbent),
            guarantee="heuristic",
            risk=risk_spent(snapshot, ledger, model_risk=0.5 * self.delta),
            left=ProbabilityLeft(probability=tally.probability_left, n_paths=tally.n_paths),
            drawn=summed_up(gaps[tally.candidate], self.tolerance),
        )

    def _simulate(
        self, snapshot: Snapshot, candidates: list[int], risk: float, rng: np.random.Generator
    ) -> tuple["_Tally", Array]:
        """Draw paths until they decide, or enough are drawn; `risk` is each candidate's in this test.

        Returns:
            What they say, and the regrets in the objective's units, shape (candidates, paths).
        """
        totals = _totals(len(snapshot.model.posteriors))
        weights = np.arange(1.0, len(totals) + 1.0) ** -_DECAY
        trials = snapshot.data.points[candidates]
        gaps = np.empty((len(candidates), 0))
        tally = None
        for total, weight in zip(totals, (weights / np.sum(weights)).tolist(), strict=True):
            more = path_regrets(snapshot, trials, total - gaps.shape[1], self.tolerance, rng, _N_STARTS)
            gaps = np.hstack([gaps, more])
            tally, is_hopeless = self._judge(gaps, risk * weight)
            if tally.bound < self.tolerance or is_hopeless:
                break
        assert tally is not None  # there is at least one round
        return tally, gaps

    def _judge(self, gaps: Array, risk: float) -> tuple["_Tally", bool]:
        """Return what gaps of shape (candidates, paths) say at this risk, and whether all candidates are hopeless.

        With c_m the largest count that a Binomial(n, δ/2) number stays at or below with probability at most `risk`,
        the (c_m + 1)-th largest gap is an upper limit of the (1 − δ/2) quantile; it is below ε just when the
        Clopper–Pearson limit of P(gap ≥ ε) is at most δ/2. Equal shares from unequal posteriors spread a count less
        than the binomial does (Hoeffding 1956), so the limits hold for the average probability.
        """
        n, level = gaps.shape[1], 0.5 * self.delta
        # c_m + 1, or 0 where even a count of none is too likely.
        counts: Array = np.arange(float(n))
        at_most: Array = np.asarray(bdtr(counts, n, level), dtype=np.float64)
        allowed = int(np.sum(at_most <= risk))
        limits = np.sort(gaps, axis=1)[:, n - allowed] if allowed else np.full(len(gaps), math.inf)
        above = np.sum(gaps >= self.tolerance, axis=1)
        # P(Binomial ≥ c) = bdtrc(c − 1), which is 1 for c = 0.
        by_chance: Array = np.asarray(bdtrc(np.maximum(above - 1.0, 0.0), n, level), dtype=np.float64)
        is_hopeless = bool(np.all((above > 0) & (by_chance <= risk)))
        best = min(range(len(gaps)), key=lambda i: (float(limits[i]), int(above[i])))
        return _Tally(best, float(limits[best]), int(above[best]) / n, n), is_hopeless

    def _reason(self, tally: "_Tally") -> str:
        left = f"the probability that something better by more than ε remains is about {tally.probability_left:.2g}"
        level = f"{0.5 * self.delta:.4g} (δ/2)"
        if tally.bound < self.tolerance:
            return f"{left}, and below {level} with confidence"
        return f"{left}, and to stop it has to be below {level} with confidence"


@dataclass(frozen=True)
class _Tally:
    """What the paths say about the best candidate: its index, bound in the objective's units, and the estimate."""

    candidate: int
    bound: float
    probability_left: float
    n_paths: int


def _totals(n_posteriors: int) -> list[int]:
    """Return the cumulative numbers of paths, each a multiple of the number of posteriors."""
    totals: list[int] = []
    size = float(_FIRST)
    while not totals or totals[-1] < _MOST:
        total = -(-min(math.ceil(size), _MOST) // n_posteriors) * n_posteriors
        if not totals or total > totals[-1]:
            totals.append(total)
        size *= _GROWTH
    return totals


def _candidates(snapshot: Snapshot, rng: np.random.Generator) -> list[int]:
    """Return indices of trials: the highest mean, then greedily those most likely to beat all before them."""
    means = np.mean([posterior.mean_std(snapshot.data.points)[0] for posterior in snapshot.model.posteriors], axis=0)
    share = -(-_N_SCOUTS // len(snapshot.model.posteriors))
    values = np.hstack(
        [p.paths(share, rng).values(snapshot.data.points) for p in snapshot.model.posteriors if isinstance(p, HasPaths)]
    )
    chosen = [int(np.argmax(means))]
    while len(chosen) < _N_CANDIDATES:
        chances = np.mean(values > np.max(values[chosen], axis=0), axis=1)
        if not np.any(chances > 0.0):
            break
        chosen.append(int(np.argmax(chances)))
    return chosen

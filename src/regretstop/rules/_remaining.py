"""What is left: how much better the optimum is than evaluated trials, counted or on posterior paths."""

import math
from dataclasses import dataclass

import numpy as np

from regretstop.array import Array
from regretstop.gap import CountedGap, Gap, counting_obstacle, left_above
from regretstop.model import HasPaths
from regretstop.search import maximize_paths
from regretstop.snapshot import Snapshot
from regretstop.statement import MeanRegret, ProbabilityLeft

NO_PATHS = "the surrogate's posterior cannot be drawn from as functions, which is what this rule counts"
# For a certificate that cannot count: of 64 paths, so of a probability of 5 % to within 0.03 (a deviation).
_N_PATHS, _N_STARTS = 64, 1
# Relative to ε: no path is climbed for the sake of less. It is about as if ε were larger by so much.
_TOLERANCE = 1e-3


def path_rng(snapshot: Snapshot) -> np.random.Generator:
    """Return the source of randomness for these data: the same data, the same certificate."""
    return np.random.default_rng([snapshot.model.maximizers[0].seed, snapshot.data.n_observations])


def can_draw(snapshot: Snapshot) -> bool:
    """Return whether every posterior can be drawn from as functions."""
    return all(isinstance(posterior, HasPaths) for posterior in snapshot.model.posteriors)


def path_regrets(
    snapshot: Snapshot,
    trials: Array,
    n: int,
    epsilon: float,
    rng: np.random.Generator,
    n_starts: int,
    enough: float = math.inf,
) -> Array:
    """Return the regrets of several x̂ on posterior paths, in the objective's units.

    Args:
        snapshot: Its posteriors must have paths; each gives an equal share.
        trials: The x̂, encoded, shape (k, d).
        n: How many paths; a multiple of the number of posteriors, or it is rounded up to one.
        epsilon: ε in the objective's units: differences far below it are not looked for.
        rng: Draws the paths.
        n_starts: Where to climb from on each path.
        enough: In the objective's units: where a path is above this it is not looked through to the last.

    Returns:
        Shape (k, n), never negative.
    """
    share, units = -(-n // len(snapshot.model.posteriors)), snapshot.model.units
    at = max(posterior.mean_std(trials)[0].max() for posterior in snapshot.model.posteriors)
    regrets: list[Array] = []
    for posterior, maximizer in zip(snapshot.model.posteriors, snapshot.model.maximizers, strict=True):
        assert isinstance(posterior, HasPaths)  # asked before
        paths = posterior.paths(share, rng)
        maxima = maximize_paths(
            paths,
            maximizer,
            trials,
            rng,
            n_starts=n_starts,
            tolerance=_TOLERANCE * epsilon / units.slope(at),
            enough=units.gap(at, enough),
        )
        regrets.append(units.gain(maxima.at_anchors, maxima.values - maxima.at_anchors))
    return np.hstack(regrets)


@dataclass(frozen=True)
class FromPaths:
    """What the regrets of a trial on posterior paths say together.

    Attributes:
        left: The probability that something better by more than ε remains.
        expected: The mean of what may be left to gain.
    """

    left: ProbabilityLeft
    expected: MeanRegret


def summed_up(regrets: Array, epsilon: float) -> FromPaths:
    """Return what the regrets of one trial say together.

    Args:
        regrets: In the objective's units, shape (n,).
        epsilon: ε in the objective's units.
    """
    # A power of two, which changes no digit: sums and squares of large values would overflow.
    regrets = np.minimum(regrets, np.finfo(np.float64).max)
    unit = math.ldexp(1.0, math.frexp(float(np.max(regrets)))[1] - 1)
    error = float(np.std(regrets / unit)) * unit / math.sqrt(max(regrets.size - 1, 1))
    return FromPaths(
        ProbabilityLeft(probability=float(np.mean(regrets > epsilon)), n_paths=regrets.size),
        MeanRegret(value=float(np.mean(regrets / unit)) * unit, error=error, n_paths=regrets.size),
    )


def what_paths_say(snapshot: Snapshot, incumbent: int, epsilon: float) -> FromPaths | None:
    """Return the estimates from 64 posterior paths; None where there are none.

    Args:
        snapshot: Without an obstacle.
        incumbent: Index of x̂ among the snapshot's points.
        epsilon: ε in the objective's units.
    """
    if not can_draw(snapshot):
        return None
    trial = snapshot.data.points[incumbent : incumbent + 1]
    regrets = path_regrets(snapshot, trial, _N_PATHS, epsilon, path_rng(snapshot), _N_STARTS, enough=epsilon)
    return summed_up(regrets[0], epsilon)


def expected_regret(
    snapshot: Snapshot, incumbent: int, epsilon: float, gap: Gap | CountedGap | None, drawn: FromPaths | None
) -> MeanRegret | None:
    """Return the mean of what may be left to gain, from the same source; None where nothing tells.

    Args:
        snapshot: Without an obstacle.
        incumbent: Index of x̂ among the snapshot's points.
        epsilon: A difference that matters, in the objective's units.
        gap: Of x̂ where it was counted, which says what is left.
        drawn: What paths say where they were drawn: it comes first.
    """
    if drawn is None and isinstance(gap, CountedGap) and gap.incumbent == incumbent:
        return MeanRegret(value=gap.mean, error=gap.mean_error, n_paths=None)
    drawn = drawn or what_paths_say(snapshot, incumbent, epsilon)
    return drawn and drawn.expected


def probability_left(
    snapshot: Snapshot,
    incumbent: int,
    epsilon: float,
    gap: Gap | CountedGap | None = None,
    drawn: FromPaths | None = None,
) -> ProbabilityLeft | None:
    """Return the probability that something better by more than ε remains; None where nothing tells.

    Counted where that is possible, which makes it an upper bound, and estimated from posterior paths elsewhere.

    Args:
        snapshot: Without an obstacle.
        incumbent: Index of x̂ among the snapshot's points.
        epsilon: ε in the objective's units.
        gap: Of x̂ where it was counted, which says what is left.
        drawn: What paths say where they were drawn.
    """
    if isinstance(gap, CountedGap) and gap.incumbent == incumbent:
        return ProbabilityLeft(probability=gap.left, n_paths=None)
    if counting_obstacle(snapshot) is None:
        return ProbabilityLeft(probability=left_above(snapshot, epsilon, incumbent), n_paths=None)
    drawn = drawn or what_paths_say(snapshot, incumbent, epsilon)
    return drawn and drawn.left

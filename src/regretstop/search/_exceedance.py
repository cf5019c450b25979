"""Exceedance sampling: look where the optimum may still be, which is what keeps any certificate from closing.

See docs/theory.md, Posterior paths, and the probability that something better remains.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from regretstop.array import Array
from regretstop.model import HasPaths
from regretstop.search._maximize import Maximizer
from regretstop.search._path_maxima import maximize_paths
from regretstop.search._visited import NOTHING, Visited

# With so many paths, what is left with a probability of 5 % is found 24 times of 25: 0.95⁶⁴ = 0.04.
_N_PATHS, _N_STARTS = 64, 2
# Relative to ε: no path is climbed for the sake of less.
_TOLERANCE = 1e-3


def exceeding_point(
    maximizers: Sequence[Maximizer],
    observed: Array,
    gap: Callable[[float], float],
    rng: np.random.Generator,
    visited: Visited = NOTHING,
) -> Array | None:
    """Return the maximiser of a posterior path whose maximum beats the best trial's value on it by more than ε.

    Args:
        maximizers: Of the posteriors; each gives an equal share of the paths.
        observed: Encoded points of the feasible data in the space, shape (n, d); the best has the highest mean.
        gap: Returns how much larger than the best trial's mean a value has to be, both standardised: what ε is there.
        rng: Draws the paths.
        visited: Points to leave alone: a path whose maximum is at one of them is passed over.

    Returns:
        The point, shape (d,); None where no path exceeds elsewhere, there is no trial to beat, or there are no paths.
    """
    if len(observed) == 0 or not all(isinstance(maximizer.posterior, HasPaths) for maximizer in maximizers):
        return None
    means = np.mean([maximizer.posterior.mean_std(observed)[0] for maximizer in maximizers], axis=0)
    best = observed[np.argmax(means)][None]
    epsilon = gap(float(np.max(means)))
    if epsilon == math.inf:
        return None
    share = -(-_N_PATHS // len(maximizers))
    found: list[tuple[int, Array]] = []
    for k in map(int, rng.permutation(len(maximizers))):
        maximizer = maximizers[k]
        assert isinstance(maximizer.posterior, HasPaths)  # asked above
        paths = maximizer.posterior.paths(share, rng)
        maxima = maximize_paths(
            paths, maximizer, best, rng, n_starts=_N_STARTS, tolerance=_TOLERANCE * epsilon, until=epsilon
        )
        exceeding = np.flatnonzero((maxima.values - maxima.at_anchors[0] > epsilon) & ~visited.among(maxima.points))
        if len(exceeding):
            found.append((int(exceeding[0]), maxima.points[exceeding[0]]))
    # As if one path after the other had been drawn, of each posterior in turn, until one exceeded.
    return min(found, key=lambda pair: pair[0])[1] if found else None

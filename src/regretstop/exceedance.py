"""Exceedance sampling: look where the optimum may still be, which is what keeps any certificate from closing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regretstop.maximize import Search
from regretstop.path_maxima import maximize_paths
from regretstop.paths import HasPaths
from regretstop.visited import NOTHING, Visited

Array = NDArray[np.float64]

_N_PATHS, _N_STARTS = 64, 2
# Relative to ε: no path is climbed for the sake of less.
_TOLERANCE = 1e-3


def exceeding_point(
    searches: Sequence[Search], observed: Array, epsilon: float, rng: np.random.Generator, visited: Visited = NOTHING
) -> Array | None:
    """Return the maximiser of a posterior path whose maximum beats the best trial's value on it by more than ε.

    Args:
        searches: Of the posteriors; each gives an equal share of the paths.
        observed: Encoded points of the data in the space, shape (n, d); the best of them has the highest mean.
        epsilon: ε, standardised.
        rng: Draws the paths.
        visited: Points to leave alone: a path whose maximum is at one of them is passed over.

    Returns:
        The point, shape (d,); None where no path exceeds elsewhere, there is no trial to beat, or there are no paths.
    """
    if len(observed) == 0 or not all(isinstance(search.posterior, HasPaths) for search in searches):
        return None
    means = np.mean([search.posterior.mean_std(observed)[0] for search in searches], axis=0)
    best = observed[np.argmax(means)][None]
    share = -(-_N_PATHS // len(searches))
    found: list[tuple[int, Array]] = []
    for k in map(int, rng.permutation(len(searches))):
        search = searches[k]
        assert isinstance(search.posterior, HasPaths)  # asked above
        paths = search.posterior.paths(share, rng)
        maxima = maximize_paths(
            paths, search, best, rng, n_starts=_N_STARTS, tolerance=_TOLERANCE * epsilon, until=epsilon
        )
        exceeding = np.flatnonzero((maxima.values - maxima.at_anchors[0] > epsilon) & ~visited.among(maxima.points))
        if len(exceeding):
            found.append((int(exceeding[0]), maxima.points[exceeding[0]]))
    # As if one path after the other had been drawn, of each posterior in turn, until one exceeded.
    return min(found, key=lambda pair: pair[0])[1] if found else None

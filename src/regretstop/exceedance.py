"""Exceedance sampling: look where the optimum may still be, which is what keeps any certificate from closing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regretstop.maximize import Search
from regretstop.path_maxima import maximize_paths
from regretstop.paths import HasPaths

Array = NDArray[np.float64]

_N_PATHS, _N_STARTS = 64, 2
# Relative to ε: no path is climbed for the sake of less.
_TOLERANCE = 1e-3


def exceeding_point(
    searches: Sequence[Search], observed: Array, epsilon: float, rng: np.random.Generator
) -> Array | None:
    """Return the maximiser of a posterior path whose maximum beats the best trial's value on it by more than ε.

    Args:
        searches: Of the posteriors; each gives an equal share of the paths.
        observed: Encoded points of the data in the space, shape (n, d); the best of them has the highest mean.
        epsilon: ε, standardised.
        rng: Draws the paths, and one of those that exceed.

    Returns:
        The point, shape (d,); None where no path exceeds, there is no trial to beat, or there are no paths.
    """
    if len(observed) == 0 or not all(isinstance(search.posterior, HasPaths) for search in searches):
        return None
    means = np.mean([search.posterior.mean_std(observed)[0] for search in searches], axis=0)
    best = observed[np.argmax(means)][None]
    share = -(-_N_PATHS // len(searches))
    points: list[Array] = []
    for search in searches:
        assert isinstance(search.posterior, HasPaths)
        paths = search.posterior.paths(share, rng)
        maxima = maximize_paths(paths, search, best, rng, n_starts=_N_STARTS, tolerance=_TOLERANCE * epsilon)
        points.extend(maxima.points[maxima.values - maxima.at_anchors[0] > epsilon])
    return points[rng.integers(len(points))] if points else None

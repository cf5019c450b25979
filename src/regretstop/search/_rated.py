"""The largest value of an acquisition that is rated by something else that depends on the point, such as its cost."""

from collections.abc import Callable

import numpy as np

from regretstop.array import Array
from regretstop.search._acquisition import Acquisition
from regretstop.search._maximize import Maximizer
from regretstop.search._moves import moves

# The candidates with the largest μ + 3σ, as for posterior paths.
_SQRT_BETA, _N_CANDIDATES = 3.0, 512
_N_CENTERS, _N_AROUND = 6, 24
# In lengthscales: each round looks closer around the best that it has.
_RADII = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def largest_rated(
    maximizer: Maximizer, acquisition: Acquisition, rating: Callable[[Array], Array]
) -> tuple[float, Array]:
    """Return the largest sum of an acquisition and a rating, and where it is.

    A rating has no gradient, so the space is looked through at random around the best points, closer in each round;
    a space that can be enumerated is.

    Args:
        maximizer: The search of the posterior.
        acquisition: Of its mean and deviation.
        rating: Takes encoded points, shape (m, d), and returns shape (m,).

    Returns:
        The value, and the encoded point, shape (d,).
    """
    space = maximizer.space

    def rate(points: Array) -> Array:
        return acquisition(*maximizer.posterior.mean_std(points)) + rating(points)

    if maximizer.how == "enumerated":
        points = space.enumerate()
        values = rate(points)
        return float(np.max(values)), points[np.argmax(values)]
    rng = np.random.default_rng(maximizer.seed)
    points = np.vstack([maximizer.maximize(acquisition).point, maximizer.promising(_SQRT_BETA, _N_CANDIDATES)])
    values = rate(points)
    reach = np.where(space.categories == 0, np.minimum(maximizer.posterior.lengthscales, 1.0), 0.0)
    for radius in _RADII:
        best = np.argsort(-values, kind="stable")[:_N_CENTERS]
        points, values = points[best], values[best]
        steps = radius * reach * rng.standard_normal((len(points), _N_AROUND, len(reach)))
        around = [space.snap((points[:, None, :] + steps).reshape(-1, len(reach)))]
        if np.any(np.isfinite(space.counts)):
            around.append(moves(space, points[0]))
        tried = np.vstack(around)
        points, values = np.vstack([points, tried]), np.concatenate([values, rate(tried)])
    return float(np.max(values)), points[np.argmax(values)]

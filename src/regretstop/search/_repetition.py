"""Whether a point that was evaluated is worth another evaluation.

A repeat tells of the noise at its point and of nothing else. So it is worth an evaluation only where there is noise,
and where the noise leaves open which point is the best (docs/theory.md, Estimated hyperparameters, "Repeats"); and once
where a decision hangs on the noise that a model assumes, which may be structure finer than the points are dense.
"""

import numpy as np

from regretstop.array import Array
from regretstop.model import Posterior
from regretstop.search._acquisition import UpperConfidenceBound

# σ of which a decision about a difference hangs, as a share of that.
_MATTERS = 0.25


def repeats_agree(points: Array, values: Array) -> bool:
    """Return whether some point was evaluated more than once, and no two evaluations of any point differ.

    Values with noise do not agree to the last digit: the objective has none, whatever noise a model estimates.

    Args:
        points: Encoded, shape (n, d).
        values: Shape (n,).
    """
    _, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    return len(first) < len(points) and bool(np.all(values == values[first[group.ravel()]]))


def noise_is_told(noise_std: float, difference: float, points: Array, values: Array) -> bool:
    """Return whether the noise is small beside a difference that matters, or two evaluations of some point differ.

    Args:
        noise_std: σ that a model assumes.
        difference: In the same units.
        points: Encoded, shape (n, d).
        values: Shape (n,).
    """
    return noise_std <= _MATTERS * difference or (has_repeats(points) and not repeats_agree(points, values))


def has_repeats(points: Array) -> bool:
    """Return whether some of the points, shape (n, d), are the same."""
    return len(np.unique(points, axis=0)) < len(points)


def is_worth_repeating(posterior: Posterior, point: Array, others: Array, sqrt_beta: float) -> bool:
    """Return whether the noise at a point leaves open that another one is better: μ + √β σ there reaches its μ − √β σ.

    Args:
        posterior: The posterior.
        point: Where it was evaluated, and μ + √β σ is largest, shape (d,).
        others: The other evaluated points and the best of those that were not, shape (m, d); the point itself may be
            among them.
        sqrt_beta: √β.
    """
    others = others[np.any(others != point, axis=1)]
    lower = UpperConfidenceBound(-sqrt_beta)(*posterior.mean_std(point[None]))
    upper = UpperConfidenceBound(sqrt_beta)(*posterior.mean_std(others))
    return bool(np.max(upper, initial=-np.inf) > lower[0])

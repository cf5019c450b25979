"""What evaluations tell of the constraints."""

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model._fence import center_and_fence
from regretstop.model._gaussian_process import GaussianProcess
from regretstop.model._lagrangian import Constraint, Drawable


class _SlackProcess(GaussianProcess):
    """Of slacks, of which not the best ones matter but their sign, which a fence might change."""

    _fences = False


def constraints_of(points: Array, values: Array, categories: NDArray[np.intp]) -> tuple[Constraint, ...]:
    """Return a model of each constraint that was violated somewhere, and of which enough is known.

    Args:
        points: Encoded points, shape (n, d).
        values: Values of the constraints, each met where it is at most 0, shape (n, k); NaN where unknown.
            Infinite ones are taken for values beyond the others by as much as these differ.
        categories: Number of categories per axis of the space, 0 for a numeric axis; shape (d,).
    """
    models = [_modelled(points, each, categories) for each in values.T]
    return tuple(model for model in models if model is not None)


def _modelled(points: Array, values: Array, categories: NDArray[np.intp]) -> Constraint | None:
    known = ~np.isnan(values)
    points, values = points[known], _limited(values[known])
    surrogate = _SlackProcess()
    if not np.any(values > 0.0) or len(values) <= surrogate.n_estimated(categories):
        return None
    fit = surrogate.fit(points, _fenced(-values), categories=categories, sign=1.0)
    posterior = fit.posteriors[0]
    if not fit.data.has_spread or not isinstance(posterior, Drawable):
        return None
    return Constraint(posterior, -fit.data.offset / fit.data.scale)


def _limited(values: Array) -> Array:
    finite = np.append(values[np.isfinite(values)], 0.0)  # at which the constraint is just met
    low, high = float(np.min(finite)), float(np.max(finite))
    size = (high - low) or 1.0
    return np.clip(values, low - size, high + size)


def _fenced(slacks: Array) -> Array:
    """Return slacks with disasters raised to a fence that is at least as far below 0 as the best is above it.

    That of an objective may be above 0, where most points have the same large slack.
    """
    center, fence = center_and_fence(slacks)
    return np.maximum(slacks, min(center + fence, -max(float(np.max(slacks)), 0.0)))

"""What the curve of a pruned trial says of the last value that it never had, and a model that is told so.

All values here are those of a maximised objective. An imputed value is an observation that is not feasible: it tells
the model, and is never certified.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regretstop import GaussianProcess
from regretstop.model import Embedding, Fit, GaussianProcessPosterior, LogWarp, merge_duplicates

Array = NDArray[np.float64]
# Value and deviation; None where nothing is said.
Imputed = tuple[float, float] | None
# Told what the trial reported, shape (s,), and what all trials did, those of as many steps as the longest completed.
Way = Callable[[Array, Sequence[Array]], Imputed]

# With fewer completed trials nothing is learned from them.
FEWEST = 5


def nothing(shown: Array, trials: Sequence[Array]) -> Imputed:
    """Return that nothing is known, whatever was shown."""
    return None


def regression(shown: Array, trials: Sequence[Array]) -> Imputed:
    """Return a + b v by least squares over the completed trials at the step of v, and the deviation of a prediction."""
    found = _link(float(shown[-1]), 0.0, *_pairs(trials, len(shown), _n_steps(trials)))
    return None if found is None else (found[0], math.sqrt(found[1]))


def chain(shown: Array, trials: Sequence[Array]) -> Imputed:
    """Return the same in links, each to twice as many steps, over all trials that came so far.

    Whether a trial went on from step s was decided by what it had shown by then. So those that came to step 2s, pruned
    later or not, are less selected than the completed ones.
    """
    value, variance, step, n_steps = float(shown[-1]), 0.0, len(shown), _n_steps(trials)
    while step < n_steps:
        following = min(2 * step, n_steps)
        found = _link(value, variance, *_pairs(trials, step, following))
        if found is None:
            return None
        (value, variance), step = found, following
    return value, math.sqrt(variance)


def optimistic(shown: Array, trials: Sequence[Array]) -> Imputed:
    """Return v and the largest improvement that a completed trial had from that step on, if below the best of them."""
    early, last = _pairs(trials, len(shown), _n_steps(trials))
    if len(last) < FEWEST:
        return None
    value = float(shown[-1] + np.max(last - early))
    return (value, 0.0) if value < np.max(last) else None


def last_value(shown: Array, trials: Sequence[Array]) -> Imputed:
    """Return the last value that was reported."""
    return float(shown[-1]), 0.0


def _n_steps(trials: Sequence[Array]) -> int:
    return max(map(len, trials))


def _pairs(trials: Sequence[Array], early: int, late: int) -> tuple[Array, Array]:
    """Return the values at two steps, counted from 1, of the trials that came to the later one."""
    long = [trial for trial in trials if len(trial) >= late]
    return np.array([trial[early - 1] for trial in long]), np.array([trial[late - 1] for trial in long])


def _link(value: float, variance: float, early: Array, late: Array) -> tuple[float, float] | None:
    """Return mean and variance of a prediction by least squares, from a value that is known up to a variance."""
    k = len(late)
    if k < FEWEST:
        return None
    distance = early - early.mean()
    square = float(distance @ distance)
    slope = float(distance @ late) / square if square > 0.0 else 0.0
    residuals = late - late.mean() - slope * distance
    away = value - float(early.mean())
    leverage = 1.0 + 1.0 / k + ((away**2 + variance) / square if square > 0.0 else 0.0)
    spread = float(residuals @ residuals) / (k - 2) * leverage
    return float(late.mean()) + slope * away, slope**2 * variance + spread


class PartlyImputed(GaussianProcess):
    """A model with the hyperparameters of completed trials alone, which knows how far imputed values may be off.

    Attributes:
        imputed: Value and deviation by the bytes of the encoded point.
    """

    def __init__(self) -> None:
        super().__init__()
        self.imputed: Mapping[bytes, tuple[float, float]] = {}
        self._warp: LogWarp | None = None

    def warp(self, points: Array, values: Array, *, categories: NDArray[np.intp], best: float) -> LogWarp | None:
        done = np.isnan(self._deviations(points))
        self._warp = super().warp(points[done], values[done], categories=categories, best=best)
        return self._warp

    def fit(self, points: Array, values: Array, *, categories: NDArray[np.intp], sign: float) -> Fit:
        deviations = self._deviations(points)
        done = np.isnan(deviations)
        found = super().fit(points[done], values[done], categories=categories, sign=sign)
        (mode,) = found.posteriors
        assert isinstance(mode, GaussianProcessPosterior)
        scaled = (np.maximum(values, found.data.fence) - found.data.offset) / found.data.scale
        # σ²/m is the variance of m repeats: of fewer than one where more is unknown.
        variance, more = mode.noise_std**2, np.where(done, 0.0, deviations / found.data.scale) ** 2
        merged = merge_duplicates(points, scaled, variance / (variance + more))
        posterior = GaussianProcessPosterior(
            *merged[:3],
            kernel=mode.kernel,
            embedding=Embedding(categories),
            lengthscales=mode.lengthscales,
            prior_std=mode.prior_std,
            noise_std=mode.noise_std,
            mean=None,
        )
        return replace(found, posteriors=(posterior,), data=replace(found.data, values=scaled))

    def _deviations(self, points: Array) -> Array:
        """Return the deviations of imputed values as the model sees these, NaN where a value was observed."""
        known = [self.imputed.get(point.tobytes()) for point in points]
        return np.array([math.nan if each is None else self._seen(*each) for each in known])

    def _seen(self, value: float, deviation: float) -> float:
        return deviation if self._warp is None else deviation * float(np.exp(self._warp.log_slopes(np.array(value))))

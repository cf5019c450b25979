"""How much is left above levels: the mean over posteriors, each capped at 1, and what it exceeds but seldom."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtrit

from regretstop.array import Array
from regretstop.bound._maxima import SampledMaxima


class Counts:
    """How much is left above levels, each of which is counted once.

    Args:
        sampled: The places under each posterior.
        known: Replicates of the count under each posterior, shape (p, R), above levels at which it is known.
    """

    def __init__(self, sampled: Sequence[SampledMaxima], known: Mapping[float, Array] | None = None) -> None:
        self._sampled = sampled
        self._known: dict[float, Array] = dict(known or {})

    def at(self, levels: Array) -> Array:
        """Return replicates of the count under each posterior above levels of shape (l,), shape (p, l, R)."""
        new = [level for level in levels.tolist() if level not in self._known]
        if new:
            counts = np.array([each.counts(np.array(new)) for each in self._sampled])
            self._known |= dict(zip(new, counts.swapaxes(0, 1), strict=True))
        return np.stack([self._known[level] for level in levels.tolist()], axis=1)

    @property
    def levels(self) -> list[float]:
        """The levels above which it is known how much is left."""
        return list(self._known)

    def mean(self, levels: Array) -> Array:
        """Return the mean over posteriors of min(1, N), shape (l,)."""
        return self.mean_and_error(levels)[0]

    def mean_and_error(self, levels: Array) -> tuple[Array, Array]:
        """Return the mean over posteriors of min(1, N) and its standard error, both of shape (l,)."""
        mean, error, _ = mean_of_capped(self.at(levels))
        return mean, error

    def upper(self, levels: Array, *, log_risk: float) -> Array:
        """Return what that mean exceeds with a probability of at most e^log_risk, shape (l,)."""
        return upper_limit(self.at(levels), log_risk)


def mean_of_capped(counts: Array) -> tuple[Array, Array, Array]:
    """Return the mean over posteriors of min(1, N), its standard error and the degrees of freedom of that.

    Where N may well be above 1 it counts as 1: the mean of estimates that are capped one by one would be too small.

    Args:
        counts: Replicates of the estimate of N under each posterior, at several levels or none; shape (p, …, R), R ≥ 2.

    Returns:
        All of shape (…).
    """
    n = counts.shape[-1]
    variances = np.var(counts, axis=-1, ddof=1) / n
    means = np.mean(counts, axis=-1)
    is_capped = means + 2.0 * np.sqrt(variances) >= 1.0
    variances = np.where(is_capped, 0.0, variances)
    total = variances.sum(axis=0)
    # Welch & Satterthwaite: as many as if the largest variances alone counted.
    shares = variances / np.where(total > 0.0, total, 1.0)
    freedom = (n - 1) / np.maximum((shares**2).sum(axis=0), 1e-300)
    return np.mean(np.where(is_capped, 1.0, means), axis=0), np.sqrt(total) / len(counts), freedom


def upper_limit(counts: Array, log_risk: float) -> Array:
    """Return what the mean over posteriors of min(1, N) exceeds with a probability of at most e^log_risk, shape (…).

    Student's, for means of many places are about normal.
    """
    mean, error, freedom = mean_of_capped(counts)
    quantile = -np.asarray(stdtrit(freedom, math.exp(log_risk)), dtype=np.float64)
    return np.where(error == 0.0, mean, np.minimum(mean + quantile * error, 1.0))

"""Acquisitions: functions of posterior mean and deviation, whose maximum is looked for."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from regretstop.array import Array
from regretstop.normal import mills_ratio

# Below this a posterior deviation is rounding: the variance is a difference of numbers near 1 in double precision, of
# which 2⁻⁵² = (1.5e-8)² is left.
_LEAST_STD = 1e-10
# Where 1 − t m(t) comes from its asymptotic series: both ways of computing it are exact to 1e-12 there. It is about
# 1/t² = 4e-4: rounding is 2⁻⁵² t² = 6e-13 of it, and the first term left out 10395/t¹⁰ = 1e-13.
_FAR = 50.0


class Acquisition(Protocol):
    """A function of posterior mean and deviation, to be maximised."""

    def __call__(self, mean: Array, std: Array) -> Array:
        """Return the values, shape (m,)."""
        ...

    def slopes(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Return the derivatives with respect to mean and deviation, shape (m,) each."""
        ...


@dataclass(frozen=True)
class UpperConfidenceBound:
    """μ(x) + √β σ(x) (paper, section 2.2; Srinivas et al. 2010)."""

    sqrt_beta: float

    def __call__(self, mean: Array, std: Array) -> Array:
        """Return the values, shape (m,)."""
        return mean + self.sqrt_beta * std

    def slopes(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Return the derivatives with respect to mean and deviation, shape (m,) each."""
        return np.ones_like(mean), np.full_like(std, self.sqrt_beta)


@dataclass(frozen=True)
class LogExpectedImprovement:
    """log E[max(f(x) − best, 0)] = log σ + log h(z),   h(z) = φ(z) + z Φ(z),   z = (μ − best) / σ.

    The expected improvement of Jones et al. 1998, eq. 15, for maximisation. In logarithms a value of 1e-300 has as good
    a gradient as one of 1 (Ament et al. 2023). A deviation below 1e-10, which is rounding, counts as 1e-10.

    Args:
        best: The value to improve on, standardised.
    """

    best: float

    def __call__(self, mean: Array, std: Array) -> Array:
        """Return the values, shape (m,)."""
        floored = np.maximum(std, _LEAST_STD)
        return np.log(floored) + log_h((mean - self.best) / floored)

    def slopes(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Return the derivatives with respect to mean and deviation, shape (m,) each."""
        floored = np.maximum(std, _LEAST_STD)
        z = (mean - self.best) / floored
        # With Q(t)/φ(t) = m: ∂log EI/∂μ = Φ/(σh) = m/(σr) and ∂log EI/∂σ = φ/(σh) = 1/(σr), where h = φ r for z < 0.
        density = np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi)
        below = np.maximum(-z, 0.0)
        mills, rest = mills_ratio(below), _rest(below)
        h = density + z * ndtr(z)
        is_below = z < 0.0
        by_mean = np.where(is_below, mills / rest, ndtr(z) / np.where(is_below, 1.0, h)) / floored
        by_std = np.where(is_below, 1.0 / rest, density / np.where(is_below, 1.0, h)) / floored
        return by_mean, np.where(std > _LEAST_STD, by_std, 0.0)


def log_h(z: Array) -> Array:
    """Return log(φ(z) + z Φ(z)), the log expected excess of a standard normal over −z, without underflow.

    For z < 0 it is log φ(z) + log(1 − |z| m(|z|)), with the Mills ratio m.
    """
    below = np.maximum(-z, 0.0)
    lower = -0.5 * np.square(below) - 0.5 * math.log(2.0 * math.pi) + np.log(_rest(below))
    above = np.maximum(z, 0.0)
    upper = np.log(np.exp(-0.5 * np.square(above)) / math.sqrt(2.0 * math.pi) + above * ndtr(above))
    return np.where(z < 0.0, lower, upper)


def expected_improvement(gain: float, std: float) -> float:
    """Return E[max(X, 0)] of a normal X with this mean and deviation, `v φ(g/v) + g Φ(g/v)`."""
    if std <= 0.0:
        return max(gain, 0.0)
    return std * math.exp(float(log_h(np.array(gain / std))))


def _rest(t: Array) -> Array:
    """Return 1 − t m(t) = h(−t) / φ(t) for t ≥ 0: far out by the series 1/t² − 3/t⁴ + 15/t⁶ − 105/t⁸ + 945/t¹⁰.

    That is Abramowitz & Stegun 26.2.12 for m; see docs/theory.md, The rules of others.
    """
    near = np.minimum(t, _FAR)
    u = np.square(1.0 / np.maximum(t, _FAR))
    series = u * (1.0 - u * (3.0 - u * (15.0 - u * (105.0 - u * 945.0))))
    return np.where(t < _FAR, 1.0 - near * mills_ratio(near), series)

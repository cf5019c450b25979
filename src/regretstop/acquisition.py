"""Acquisitions: functions of posterior mean and deviation, whose maximum is looked for."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
    """μ(x) + √β σ(x)."""

    sqrt_beta: float

    def __call__(self, mean: Array, std: Array) -> Array:
        """Return the values, shape (m,)."""
        return mean + self.sqrt_beta * std

    def slopes(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Return the derivatives with respect to mean and deviation, shape (m,) each."""
        return np.ones_like(mean), np.full_like(std, self.sqrt_beta)

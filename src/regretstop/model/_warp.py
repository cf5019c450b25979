"""The warp of an objective that has a best possible value: docs/theory.md, A declared range."""

from dataclasses import dataclass

import numpy as np

from regretstop.array import Array


@dataclass(frozen=True)
class LogWarp:
    """z = −log(1 + (b − y)/c) of values y ≤ b of a maximised objective, which is 0 at the best possible value.

    The nearer values are to b, the more a difference of them counts; for c → ∞ all count alike. What rounding has put
    beyond b counts as b.

    Attributes:
        best: b, in the objective's units.
        shift: c, in the objective's units; positive.
    """

    best: float
    shift: float

    def __call__(self, values: Array) -> Array:
        """Return z, of the same shape."""
        return -np.log1p(np.maximum(self.best - values, 0.0) / self.shift)

    def log_slopes(self, values: Array) -> Array:
        """Return log dz/dy at values, of the same shape."""
        return -np.log(self.shift + np.maximum(self.best - values, 0.0))

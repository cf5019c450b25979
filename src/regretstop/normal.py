"""The upper tail of the standard normal distribution, exact far out."""

import math
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtri_exp


def upper_quantile(log_p: float) -> float:
    """Return z with P(Z > z) = p for a standard normal Z; exact far into the tail because p comes as its log."""
    return -float(ndtri_exp(log_p))


@overload
def mills_ratio(z: float) -> float: ...
@overload
def mills_ratio(z: NDArray[np.float64]) -> NDArray[np.float64]: ...
def mills_ratio(z: Any) -> Any:
    """Return P(Z > z) / φ(z), which is −dz/d(log p) of `upper_quantile`; elementwise for an array."""
    t: NDArray[np.float64] = np.asarray(z, dtype=np.float64) / math.sqrt(2.0)
    ratio = math.sqrt(math.pi / 2.0) * np.asarray(erfcx(t), dtype=np.float64)
    return float(ratio) if isinstance(z, float) else ratio

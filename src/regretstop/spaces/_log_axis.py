"""Coordinates of logarithmic integer axes: one value or many, by the same code.

Values of a whole axis and a single one must have equal coordinates to the last bit, or a point would not be found
among the points of its own space.
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


@overload
def log_centre(k: float, count: float, low: float) -> np.float64: ...
@overload
def log_centre(
    k: NDArray[np.float64], count: float | NDArray[np.float64], low: float | NDArray[np.float64]
) -> NDArray[np.float64]: ...
def log_centre(k: Any, count: Any, low: Any) -> Any:
    """Return the coordinates of the k-th values of logarithmic integer axes; shapes broadcast.

    Written with log1p of the distance from low, which is exact enough where low is large.
    """
    offset = low - 0.5
    return np.log1p((k + 0.5) / offset) / np.log1p(count / offset)


@overload
def log_cell(u: float, count: float, low: float) -> np.float64: ...
@overload
def log_cell(
    u: NDArray[np.float64], count: float | NDArray[np.float64], low: float | NDArray[np.float64]
) -> NDArray[np.float64]: ...
def log_cell(u: Any, count: Any, low: Any) -> Any:
    """Return the k whose cells hold coordinates u in [0, 1], count at u = 1; shapes broadcast."""
    offset = low - 0.5
    return np.floor(np.expm1(u * np.log1p(count / offset)) * offset)

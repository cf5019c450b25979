"""The one array type: floating-point numbers; shapes stand in the docstrings."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@cache
def upper_triangle(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of the upper triangle of a (k, k) matrix, which takes longer to find than to use."""
    return np.triu_indices(k)

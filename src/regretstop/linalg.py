"""Matrix products through SciPy's BLAS.

NumPy and SciPy each bring a BLAS with its own thread pool. Where their calls alternate, as in a likelihood that
factorises with one and multiplies with the other, the threads of the one wait busily while those of the other want the
cores: on two cores a fit to 100 points took 262 ms of CPU instead of 40. The user's thread settings stay as they are;
one library for all of it is enough.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

Array = NDArray[np.float64]


def matmul(a: Array, b: Array) -> Array:
    """Return a @ b, shape (m, n), of matrices of shape (m, k) and (k, n)."""
    # (ab)ᵀ = bᵀaᵀ: the transposes of row-major matrices are column-major, as BLAS wants them, and nothing is copied.
    if b.flags.f_contiguous and not b.flags.c_contiguous:
        return np.asarray(blas.dgemm(1.0, b, a.T, trans_a=1)).T
    return np.asarray(blas.dgemm(1.0, b.T, a.T)).T


def matvec(a: Array, x: Array) -> Array:
    """Return a @ x, shape (m,), of a matrix of shape (m, n); too little work for any thread."""
    return np.einsum("ij,j->i", a, x)

"""Matrix products, and the Cholesky factor of a kernel matrix, through SciPy's BLAS and LAPACK.

NumPy and SciPy each bring a BLAS with its own thread pool. Where their calls alternate, as in a likelihood that
factorises with one and multiplies with the other, the threads of the one wait busily while those of the other want the
cores: on two cores a fit to 100 points took 262 ms of CPU instead of 40. The user's thread settings stay as they are;
one library for all of it is enough.

What rounding may do to a posterior variance is in docs/theory.md, Rounding.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import blas, lapack

from regretstop.array import Array

# How wrong rounding may make a posterior variance at worst, relative to s². In 4,160 fits to clustered points with at
# most that, against arithmetic of 60 digits, no deviation came out too small by more than 8.3e-6 s.
MOST_ROUNDING = 1e-2
# A kernel matrix that is not positive definite with that much noise, a hundredth of s in deviation, is none.
_LARGEST_JITTER = 1e-4


def matmul(a: Array, b: Array) -> Array:
    """Return a @ b, shape (m, n), of matrices of shape (m, k) and (k, n)."""
    # (ab)ᵀ = bᵀaᵀ: the transposes of row-major matrices are column-major, as BLAS wants them, and nothing is copied.
    if b.flags.f_contiguous and not b.flags.c_contiguous:
        return np.asarray(blas.dgemm(1.0, b, a.T, trans_a=1)).T
    return np.asarray(blas.dgemm(1.0, b.T, a.T)).T


def matvec(a: Array, x: Array) -> Array:
    """Return a @ x, shape (m,), of a matrix of shape (m, n); too little work for any thread."""
    return np.einsum("ij,j->i", a, x)


def cholesky(covariance: Array, prior_variance: float) -> tuple[Array, Array, float]:
    """Return the lower Cholesky factor L of a kernel matrix, L⁻¹, and the jitter that they needed, as a variance.

    Rounding makes L the factor of K + E with ‖E‖ of about ε n s², ε the precision of a float (Higham 2002, Theorem
    10.3), so that a posterior variance, s² − ‖L⁻¹k‖², is wrong by up to ε n s² ‖K⁻¹k‖² ≤ ε n s⁴ ‖L⁻¹‖²_F. A factor for
    which that exceeds `MOST_ROUNDING` s² is refused, however positive its pivots: points that lie close together have
    given variances of −0.1. The jitter, which acts as noise, is then the one that is always enough.

    Raises:
        numpy.linalg.LinAlgError: If the largest jitter is not enough, or a number is not finite.
    """
    n = len(covariance)
    precision = float(np.finfo(np.float64).eps)
    for relative in jitters(n, precision, MOST_ROUNDING):
        jitter = relative * prior_variance
        attempt = covariance if jitter == 0.0 else covariance + jitter * np.eye(n)
        factor, info = lapack.dpotrf(attempt, lower=1, clean=1)
        if info == 0:
            inverse = np.asarray(lapack.dtrtri(factor, lower=1)[0])
            if precision * n * prior_variance * float(np.einsum("ij,ij->", inverse, inverse)) < MOST_ROUNDING:
                return np.asarray(factor), inverse, jitter
    raise np.linalg.LinAlgError(f"the kernel matrix is not positive definite even with jitter {_LARGEST_JITTER:g}")


def enough_jitter(n: int, precision: float, most_rounding: float) -> float:
    """Return the jitter, relative to s², with which rounding is at most `most_rounding` s² for any n points.

    With K ⪰ j s² I, s² ‖L⁻¹‖²_F = s² tr K⁻¹ ≤ n / j. Half as much again is for the rounding of K itself.
    """
    return 1.5 * precision * n**2 / most_rounding


def jitters(n: int, precision: float, most_rounding: float) -> Iterator[float]:
    """Yield the jitters to try for n points, relative to s²: none, what is enough, and more where that fails."""
    yield 0.0
    jitter = enough_jitter(n, precision, most_rounding)
    while jitter < _LARGEST_JITTER:
        yield jitter
        jitter *= 10.0
    yield _LARGEST_JITTER

"""The work that some code does: it is the same at every hour and beside any neighbour, which its seconds are not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from scipy.linalg import blas, lapack


@dataclass
class Work:
    """What was counted.

    Attributes:
        factorised: The size n of each matrix that was factorised: one for a posterior, one for an evaluation of a
            likelihood.
        multiplied: Multiplications of numbers in products of matrices.
    """

    factorised: list[int] = field(default_factory=list)
    multiplied: int = 0

    @property
    def operations(self) -> float:
        """Multiplications in all, n³ for a factor with its inverse and derivatives; a core does some 1e10 a second."""
        return self.multiplied + sum(float(n) ** 3 for n in self.factorised)


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work that the block has done by SciPy's LAPACK and BLAS, which stay the real ones."""
    work = Work()
    dpotrf, dgemm = lapack.dpotrf, blas.dgemm

    def factorise(matrix: Any, **options: Any) -> Any:
        work.factorised.append(len(matrix))
        return dpotrf(matrix, **options)

    def multiply(alpha: float, a: Any, b: Any, *, trans_a: int = 0) -> Any:
        product = dgemm(alpha, a, b, trans_a=trans_a)
        work.multiplied += product.size * a.shape[0 if trans_a else 1]
        return product

    with patch.object(lapack, "dpotrf", factorise), patch.object(blas, "dgemm", multiply):
        yield work

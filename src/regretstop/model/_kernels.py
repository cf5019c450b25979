"""Stationary kernels with one lengthscale per axis (ARD), as functions of the squared distance.

A kernel here is `s² ρ(r²)` with `r² = Σ_j Δ_j² / ℓ_j²`. Working with `r²` instead of `r` makes every derivative
finite at zero distance, and one number per kernel, `−2 ρ'(0)`, gives the slope of its draws:
`sd(∂f/∂x_j) = s √(−2 ρ'(0)) / ℓ_j` (Rasmussen & Williams 2006, eq. 9.1; docs/theory.md, Slope levels from the kernel).

A categorical axis contributes `1[x ≠ x'] / ℓ_j²`. This is the squared distance of one-hot vectors scaled by 1/√2,
so the kernel stays positive definite and does not depend on the order of the categories.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.checks import check_positive


@dataclass(frozen=True)
class Kernel(ABC):
    """A stationary ARD kernel; without numbers it names a family whose numbers are estimated.

    Args:
        lengthscales: ℓ, one per free axis, on the unit cube (a categorical axis: in units of "is another
            category"). None where they are to be estimated.
        outputscale: s², the prior variance of the objective, in its own units squared. None where it is to be
            estimated.

    Raises:
        ValueError: If a number is not positive and finite.
    """

    lengthscales: Sequence[float] | None = None
    outputscale: float | None = None

    curvature: ClassVar[float]
    """−2 ρ'(0): the variance of ∂f/∂x in units of (s/ℓ)²."""
    fourth: ClassVar[float]
    """ρ''(0): the coefficient behind the second derivatives, E(∂_j∂_k f)² = 4 ρ''(0) (s/(ℓ_j ℓ_k))² for j ≠ k,
    three times that for j = k."""

    def __post_init__(self) -> None:
        """Check the numbers, and store the lengthscales as a tuple so that kernels can be compared."""
        if self.lengthscales is not None:
            if not isinstance(self.lengthscales, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"lengthscales must be a sequence of numbers, got {self.lengthscales!r}")
            for value in self.lengthscales:
                check_positive("lengthscales", value)
            object.__setattr__(self, "lengthscales", tuple(float(v) for v in self.lengthscales))
        if self.outputscale is not None:
            check_positive("outputscale", self.outputscale)

    @staticmethod
    @abstractmethod
    def correlation(r2: Array) -> Array:
        """Return ρ(r²), elementwise."""

    @staticmethod
    @abstractmethod
    def correlation_and_slope(r2: Array) -> tuple[Array, Array]:
        """Return ρ(r²) and dρ/d(r²), elementwise."""

    @staticmethod
    @abstractmethod
    def correlation_and_slopes(r2: Array) -> tuple[Array, Array, Array]:
        """Return ρ(r²), dρ/d(r²) and d²ρ/d(r²)², elementwise."""

    @staticmethod
    @abstractmethod
    def frequencies(n: int, dim: int, rng: np.random.Generator) -> Array:
        """Return n draws of the spectral distribution, E cos(ω·Δ) = ρ(‖Δ‖²) for Δ of shape (dim,); shape (n, dim)."""

    @staticmethod
    @abstractmethod
    def log_spectral_density(omega2: Array, dim: int) -> Array:
        """Return the log density of that distribution at ‖ω‖² in `dim` dimensions, elementwise."""


@dataclass(frozen=True)
class Matern52(Kernel):
    """Matérn-5/2: ρ(r²) = (1 + √5 r + 5 r²/3) exp(−√5 r). Draws are twice differentiable.

    See Rasmussen & Williams 2006, eq. 4.17, and eq. 4.15 for the spectral density: Student-t with 2ν = 5.
    """

    curvature: ClassVar[float] = 5 / 3  # ρ' = −(5/6)(1 + √5 r) exp(−√5 r)
    fourth: ClassVar[float] = 25 / 12  # ρ'' = (25/12) exp(−√5 r)

    @staticmethod
    def correlation(r2: Array) -> Array:
        """Return ρ(r²), elementwise."""
        root = np.sqrt(5.0 * r2)
        return (1.0 + root + (5.0 / 3.0) * r2) * np.exp(-root)

    @staticmethod
    def correlation_and_slope(r2: Array) -> tuple[Array, Array]:
        """Return ρ(r²) and dρ/d(r²) = −(5/6)(1 + √5 r) exp(−√5 r), elementwise."""
        # In place: for large matrices fresh memory costs more than the arithmetic.
        linear = 5.0 * r2
        np.sqrt(linear, out=linear)
        decay = np.negative(linear)
        np.exp(decay, out=decay)
        linear += 1.0
        linear *= decay
        rho = (5.0 / 3.0) * r2
        rho *= decay
        rho += linear
        linear *= -5.0 / 6.0
        return rho, linear

    @staticmethod
    def correlation_and_slopes(r2: Array) -> tuple[Array, Array, Array]:
        """Return ρ(r²), dρ/d(r²) and d²ρ/d(r²)² = (25/12) exp(−√5 r), elementwise."""
        root = np.sqrt(5.0 * r2)
        decay = np.exp(-root)
        linear = (1.0 + root) * decay
        return linear + (5.0 / 3.0) * r2 * decay, (-5.0 / 6.0) * linear, (25.0 / 12.0) * decay

    @staticmethod
    def frequencies(n: int, dim: int, rng: np.random.Generator) -> Array:
        """Return n draws of the spectral distribution, Student-t with 5 degrees of freedom; shape (n, dim)."""
        return rng.standard_normal((n, dim)) / np.sqrt(rng.chisquare(5.0, n) / 5.0)[:, None]

    @staticmethod
    def log_spectral_density(omega2: Array, dim: int) -> Array:
        """Return the log density of that distribution at ‖ω‖² in `dim` dimensions, elementwise."""
        return log_student_t(omega2, dim, 5.0)


@dataclass(frozen=True)
class SquaredExponential(Kernel):
    """Squared exponential (RBF): ρ(r²) = exp(−r²/2). Draws are infinitely smooth.

    See Rasmussen & Williams 2006, eq. 4.9; its spectral density is normal.
    """

    curvature: ClassVar[float] = 1.0  # ρ' = −ρ/2
    fourth: ClassVar[float] = 0.25  # ρ'' = ρ/4

    @staticmethod
    def correlation(r2: Array) -> Array:
        """Return ρ(r²), elementwise."""
        return np.exp(-0.5 * r2)

    @staticmethod
    def correlation_and_slope(r2: Array) -> tuple[Array, Array]:
        """Return ρ(r²) and dρ/d(r²) = −ρ/2, elementwise."""
        rho = np.exp(-0.5 * r2)
        return rho, -0.5 * rho

    @staticmethod
    def correlation_and_slopes(r2: Array) -> tuple[Array, Array, Array]:
        """Return ρ(r²), dρ/d(r²) = −ρ/2 and d²ρ/d(r²)² = ρ/4, elementwise."""
        rho = np.exp(-0.5 * r2)
        return rho, -0.5 * rho, 0.25 * rho

    @staticmethod
    def frequencies(n: int, dim: int, rng: np.random.Generator) -> Array:
        """Return n draws of the spectral distribution, standard normal; shape (n, dim)."""
        return rng.standard_normal((n, dim))

    @staticmethod
    def log_spectral_density(omega2: Array, dim: int) -> Array:
        """Return the log density of that distribution at ‖ω‖² in `dim` dimensions, elementwise."""
        return -0.5 * (omega2 + dim * math.log(2.0 * math.pi))


def log_student_t(r2: Array, dim: int, freedom: float) -> Array:
    """Return the log density of the spherical Student-t distribution at squared radius r², elementwise."""
    constant = math.lgamma((freedom + dim) / 2.0) - math.lgamma(freedom / 2.0)
    constant -= 0.5 * dim * math.log(freedom * math.pi)
    return constant - 0.5 * (freedom + dim) * np.log1p(r2 / freedom)


class Embedding:
    """Turns encoded points, with category numbers, into columns whose squared distances the kernels use.

    Args:
        categories: Number of categories per axis, 0 for a numeric axis; shape (d,).

    Attributes:
        axis: Axis that each column belongs to, shape (D,).
        numeric: Which axes are numeric, shape (d,).
        numeric_columns: Columns of the numeric axes, in the order of the axes.
        is_identity: Whether all axes are numeric: then the columns are the coordinates.
    """

    def __init__(self, categories: Sequence[int] | NDArray[np.intp]) -> None:
        self.categories = tuple(int(c) for c in categories)
        self.axis = np.repeat(np.arange(len(self.categories)), [max(c, 1) for c in self.categories])
        self.numeric = np.array([c == 0 for c in self.categories])
        self.numeric_columns = np.flatnonzero(self.numeric[self.axis])
        self.is_identity = bool(self.numeric.all())

    def __call__(self, points: Array) -> Array:
        """Return the columns, shape (n, D), of encoded points of shape (n, d)."""
        if self.is_identity:
            return points
        columns = np.zeros((len(points), len(self.axis)))
        columns[:, self.numeric_columns] = points[:, self.numeric]
        for j in np.flatnonzero(~self.numeric):
            first = int(np.searchsorted(self.axis, j))
            columns[np.arange(len(points)), first + points[:, j].astype(int)] = math.sqrt(0.5)
        return columns

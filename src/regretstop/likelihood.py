"""How plausible hyperparameters are: marginal likelihood times priors, with an analytic gradient.

Hyperparameters are θ = (log ℓ_1, …, log ℓ_d, log s, log σ); the last only where the noise is learned. The density
is taken with respect to θ, so its maximum does not depend on how a scale parameter is written.

Priors on the unit cube and standardised values. Few flat observations look like a smooth function, and a prior that
favours long lengthscales in high dimension then makes every stopping rule stop at once; these medians do not:

    ℓ_j ~ LogNormal(log 0.5, 1)    s ~ LogNormal(0, 1)    σ ~ LogNormal(−4, 2), at least 1e-4
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.spatial.distance import cdist

from regretstop.kernels import Embedding, Kernel
from regretstop.linalg import matmul, matvec
from regretstop.posterior import cholesky, merge_duplicates

Array = NDArray[np.float64]

LENGTHSCALE_PRIOR = (math.log(0.5), 1.0)
PRIOR_STD_PRIOR = (0.0, 1.0)
NOISE_STD_PRIOR = (-4.0, 2.0)
NOISE_STD_FLOOR = 1e-4

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Hyperparameters:
    """ℓ of shape (d,), s and σ, for standardised values on the unit cube."""

    lengthscales: Array
    prior_std: float
    noise_std: float


class HyperparameterDensity:
    """The negative log posterior density of θ given observations.

    Args:
        points: Encoded points, shape (n, d); repeats allowed.
        values: Standardised values, shape (n,).
        kernel: The kernel family.
        embedding: How encoded points become columns.
        noise_std: σ where it is known (0 for noise-free), None where it is learned.
    """

    def __init__(
        self,
        points: Array,
        values: Array,
        *,
        kernel: Kernel,
        embedding: Embedding,
        noise_std: float | None,
    ) -> None:
        merged, means, repeats, self._within = merge_duplicates(points, values, np.ones(len(values)))
        self._kernel = kernel
        self._axis = embedding.axis
        columns = embedding(merged)
        self._columns = columns - np.mean(columns, axis=0)  # centred: the gradient subtracts squares
        self._values = means
        self._repeats = repeats
        self._n_extra = float(np.sum(repeats)) - len(means)
        self._log_repeats = float(np.sum(np.log(repeats)))
        self._noise_std = noise_std
        self.dim = points.shape[1]

    @property
    def size(self) -> int:
        """Length of θ."""
        return self.dim + 1 + (self._noise_std is None)

    def unpack(self, theta: Array) -> Hyperparameters:
        """Return ℓ, s and σ."""
        noise = self._noise_std if self._noise_std is not None else math.exp(theta[self.dim + 1])
        return Hyperparameters(np.exp(theta[: self.dim]), math.exp(theta[self.dim]), noise)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return −log p(θ | data) up to a constant, and its gradient, shape (size,).

        With G = ½ (K⁻¹ − K⁻¹r rᵀK⁻¹ − K⁻¹1 1ᵀK⁻¹/c), the derivative along any change dK is Σ G ∘ dK: the last term
        comes from the integrated mean.
        """
        value, gradient = self._negative_log_prior(theta)
        parameters = self.unpack(theta)
        variance = parameters.prior_std**2
        noise_variance = parameters.noise_std**2
        n = len(self._values)
        columns = self._columns / parameters.lengthscales[self._axis]
        rho, slope = self._kernel.correlation_and_slope(cdist(columns, columns, "sqeuclidean"))
        signal = variance * rho
        covariance = signal.copy()
        covariance.flat[:: n + 1] += noise_variance / self._repeats
        try:
            chol, _ = cholesky(covariance, variance)
        except np.linalg.LinAlgError:
            return math.inf, np.zeros_like(theta)
        log_determinant = 2.0 * float(np.log(chol.flat[:: n + 1]).sum())
        # dtrtri and dsyrk instead of dpotri: OpenBLAS gives dpotri threads at any size, which on a busy machine costs
        # milliseconds a call.
        inverse_chol = np.asarray(lapack.dtrtri(chol, lower=1)[0])
        half = np.asarray(blas.dsyrk(1.0, inverse_chol, trans=1, lower=1))  # the upper triangle stays zero
        inverse = half + half.T
        inverse.flat[:: n + 1] *= 0.5
        # From the factor, so that rounding cannot make it negative where K is nearly singular.
        whitened_ones = inverse_chol.sum(axis=1)
        precision = float(whitened_ones @ whitened_ones)
        inverse_ones = matvec(inverse_chol.T, whitened_ones)
        residuals = self._values - float(inverse_ones @ self._values) / precision
        weights = matvec(inverse, residuals)
        value += 0.5 * (float(residuals @ weights) + log_determinant + math.log(precision))

        low_rank = np.column_stack([weights, inverse_ones / math.sqrt(precision)])
        inverse -= matmul(low_rank, low_rank.T)  # now 2 G
        # dK/dlog ℓ_j = −2 s² ρ' Δ_j²/ℓ_j²; Σ M_ik (z_i − z_k)² = 2 (Σ_i (M1)_i z_i² − zᵀMz) needs no n × n × d array.
        mixed = inverse * slope
        per_column = mixed.sum(axis=1) @ columns**2 - np.einsum("ic,ic->c", columns, matmul(mixed, columns))
        gradient[: self.dim] -= 2.0 * variance * np.bincount(self._axis, weights=per_column, minlength=self.dim)
        gradient[self.dim] += float(np.einsum("ij,ij->", inverse, signal))
        if self._noise_std is None:
            # The single values behind a merged mean still speak about the noise.
            value += 0.5 * (self._n_extra * (_LOG_2PI + math.log(noise_variance)) + self._within / noise_variance)
            value += 0.5 * self._log_repeats
            gradient[-1] += noise_variance * float((inverse.flat[:: n + 1] / self._repeats).sum())
            gradient[-1] += self._n_extra - self._within / noise_variance
        return value, gradient

    def _negative_log_prior(self, theta: Array) -> tuple[float, Array]:
        centers = np.full(self.size, LENGTHSCALE_PRIOR[0])
        widths = np.full(self.size, LENGTHSCALE_PRIOR[1])
        centers[self.dim], widths[self.dim] = PRIOR_STD_PRIOR
        if self._noise_std is None:
            centers[-1], widths[-1] = NOISE_STD_PRIOR
        z = (theta - centers) / widths
        return 0.5 * float(z @ z), z / widths

"""How plausible hyperparameters are: marginal likelihood times priors, with an analytic gradient.

Hyperparameters are θ = (log ℓ_1, …, log ℓ_d, log s, log σ); the last only where the noise is learned. The density
is taken with respect to θ, so its maximum does not depend on how a scale parameter is written.

Priors on the unit cube and standardised values. Few flat observations look like a smooth function, and a prior that
favours long lengthscales in high dimension then makes every stopping rule stop at once; these medians do not:

    ℓ_j ~ LogNormal(log 0.5, 1)    s ~ LogNormal(0, 1)    σ ~ LogNormal(−4, 2), at least 1e-4

Standardised values have deviation 1, the median of s; within two deviations σ is between 3e-4 and 1. See
docs/theory.md, Estimated hyperparameters, which also says what the floor is for.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas
from scipy.spatial.distance import cdist

from regretstop.array import Array
from regretstop.model._kernels import Embedding, Kernel
from regretstop.model._linalg import MOST_ROUNDING, cholesky, enough_jitter, matmul
from regretstop.model._repeats import merge_duplicates

LENGTHSCALE_PRIOR = (math.log(0.5), 1.0)
PRIOR_STD_PRIOR = (0.0, 1.0)
NOISE_STD_PRIOR = (-4.0, 2.0)
NOISE_STD_FLOOR = 1e-4

# Elements of n × n matrices that are worked on together: they should fit into a cache, 160 kB an array.
_AT_ONCE = 20_000
_LOG_FLOOR = math.log(NOISE_STD_FLOOR)
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
        self._gaps = _squared_gaps(embedding(merged), embedding.axis)
        self._values = means
        self._repeats = repeats
        self._n_extra = float(np.sum(repeats)) - len(means)
        self._log_repeats = float(np.sum(np.log(repeats)))
        self._noise_std = noise_std
        self._jitter = enough_jitter(len(means), float(np.finfo(np.float64).eps), MOST_ROUNDING)
        self.dim = points.shape[1]

    @property
    def learns_noise(self) -> bool:
        """Whether σ is the last of θ."""
        return self._noise_std is None

    @property
    def size(self) -> int:
        """Length of θ."""
        return self.dim + 1 + self.learns_noise

    def unpack(self, theta: Array) -> Hyperparameters:
        """Return ℓ, s and σ."""
        noise = self._noise_std if self._noise_std is not None else max(math.exp(theta[-1]), NOISE_STD_FLOOR)
        return Hyperparameters(np.exp(theta[: self.dim]), math.exp(theta[self.dim]), noise)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return −log p(θ | data) up to a constant, and its gradient, shape (size,)."""
        values, gradients = self.many(theta[None])
        return float(values[0]), gradients[0]

    def many(self, thetas: Array) -> tuple[Array, Array]:
        """Return −log p(θ | data) of several θ, shape (k,), and its gradients, shape (k, size), for shape (k, size).

        A θ whose matrix cannot be factorised has an infinite value and a zero gradient. What n allows is done for
        several θ at once: with few observations the time goes into the calls.
        """
        size = max(_AT_ONCE // len(self._values) ** 2, 1)
        parts = [self._few(thetas[i : i + size]) for i in range(0, len(thetas), size)]
        return np.concatenate([value for value, _ in parts]), np.concatenate([gradient for _, gradient in parts])

    def _few(self, thetas: Array) -> tuple[Array, Array]:
        """Return values and gradients.

        The value is ½ (rᵀK⁻¹r + log |K| + log c), r = y − mean, up to a constant and the prior: Rasmussen & Williams
        2006, eq. 2.45, for one constant basis function. With G = ½ (K⁻¹ − K⁻¹r rᵀK⁻¹ − K⁻¹1 1ᵀK⁻¹/c), the derivative
        along any change dK is Σ G ∘ dK (their eq. 5.9): the last term comes from the integrated mean.
        """
        values, gradients = self._negative_log_prior(thetas)
        k, n = len(thetas), len(self._values)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            weights = np.exp(-2.0 * thetas[:, : self.dim])
            variance = np.exp(2.0 * thetas[:, self.dim])
            # Below its floor σ makes no difference. Without one the matrices of clustered points become singular, and
            # the density rugged.
            noise_variance = (
                np.maximum(np.exp(2.0 * thetas[:, -1]), NOISE_STD_FLOOR**2)
                if self._noise_std is None
                else np.full(k, float(self._noise_std) ** 2)
            )
            rho, slope = self._kernel.correlation_and_slope(matmul(weights, self._gaps).reshape(k, n, n))
            # Always, rather than where a factor asks for it: the density would have a step there.
            rho.reshape(k, -1)[:, :: n + 1] += self._jitter
            signal = variance[:, None, None] * rho
            covariance = signal.copy()
            covariance.reshape(k, -1)[:, :: n + 1] += noise_variance[:, None] / self._repeats
        inverse_chol, inverse = np.empty((2, k, n, n))
        log_determinant, failed = np.zeros(k), np.zeros(k, dtype=bool)
        for i in range(k):
            try:
                if not np.isfinite(covariance[i]).all():
                    raise np.linalg.LinAlgError("a covariance overflows")
                chol, inverse_chol[i], _ = cholesky(covariance[i], float(variance[i]))
            except np.linalg.LinAlgError:
                failed[i] = True
                continue
            log_determinant[i] = 2.0 * float(np.log(chol.flat[:: n + 1]).sum())
            # dtrtri and dsyrk instead of dpotri: OpenBLAS gives dpotri threads at any size, which on a busy machine
            # costs milliseconds a call.
            half = np.asarray(blas.dsyrk(1.0, inverse_chol[i].T, lower=1))  # the upper triangle stays zero
            np.add(half, half.T, out=inverse[i])
        if failed.any():
            values[failed], gradients[failed] = np.inf, 0.0
            if failed.all():
                return values, gradients
            ok_values, ok_gradients = self._few(thetas[~failed])
            values[~failed], gradients[~failed] = ok_values, ok_gradients
            return values, gradients
        inverse.reshape(k, -1)[:, :: n + 1] *= 0.5  # which the sum of the two halves has twice
        # From the factor, so that rounding cannot make it negative where K is nearly singular.
        whitened_ones = inverse_chol.sum(axis=2)
        precision = np.einsum("ki,ki->k", whitened_ones, whitened_ones)
        inverse_ones = np.einsum("kij,ki->kj", inverse_chol, whitened_ones)
        residuals = self._values - (np.einsum("kj,j->k", inverse_ones, self._values) / precision)[:, None]
        solved = np.einsum("kij,kj->ki", inverse, residuals)
        values += 0.5 * (np.einsum("ki,ki->k", residuals, solved) + log_determinant + np.log(precision))

        twice_g = _less_two_squares(inverse, solved, inverse_ones / np.sqrt(precision)[:, None], spare=covariance)
        # dK/dlog ℓ_j = −2 s² ρ' Δ_j²/ℓ_j².
        slope *= twice_g
        by_axis = matmul(slope.reshape(k, -1), self._gaps.T)
        gradients[:, : self.dim] -= variance[:, None] * weights * by_axis
        gradients[:, self.dim] += np.einsum("kij,kij->k", twice_g, signal)
        if self._noise_std is None:
            # The single values behind a merged mean still speak about the noise. The density of m of them is that of
            # their mean, of variance σ²/m, times (2πσ²)^(−(m−1)/2) m^(−1/2) exp(−(sum of squares within)/2σ²).
            values += 0.5 * (self._n_extra * (_LOG_2PI + np.log(noise_variance)) + self._within / noise_variance)
            values += 0.5 * self._log_repeats
            of_each = twice_g.reshape(k, -1)[:, :: n + 1]
            slope_in_noise = noise_variance * (of_each / self._repeats).sum(axis=1)
            slope_in_noise += self._n_extra - self._within / noise_variance
            gradients[:, -1] += np.where(thetas[:, -1] >= _LOG_FLOOR, slope_in_noise, 0.0)
        return values, gradients

    @property
    def prior_widths(self) -> Array:
        """Prior deviations of θ, shape (size,)."""
        widths = np.full(self.size, LENGTHSCALE_PRIOR[1])
        widths[self.dim] = PRIOR_STD_PRIOR[1]
        if self._noise_std is None:
            widths[-1] = NOISE_STD_PRIOR[1]
        return widths

    @property
    def prior_medians(self) -> Array:
        """Prior medians of θ, shape (size,)."""
        medians = np.full(self.size, LENGTHSCALE_PRIOR[0])
        medians[self.dim] = PRIOR_STD_PRIOR[0]
        if self._noise_std is None:
            medians[-1] = NOISE_STD_PRIOR[0]
        return medians

    def _negative_log_prior(self, thetas: Array) -> tuple[Array, Array]:
        widths = self.prior_widths
        z = (thetas - self.prior_medians) / widths
        return 0.5 * np.einsum("ki,ki->k", z, z), z / widths


def _less_two_squares(matrices: Array, one: Array, other: Array, *, spare: Array) -> Array:
    """Return A − a aᵀ − b bᵀ for each of k matrices, in the memory of `matrices`.

    In place, and by way of `spare`, which is lost too: fresh pages cost more than the arithmetic.

    Args:
        matrices: A, shape (k, n, n).
        one: a, shape (k, n).
        other: b, shape (k, n).
        spare: Of the shape of the matrices.
    """
    for vectors in (one, other):
        matrices -= np.multiply(vectors[:, :, None], vectors[:, None, :], out=spare)
    return matrices


def _squared_gaps(columns: Array, axis: NDArray[np.intp]) -> Array:
    """Return the squared distance of every two points along every axis, shape (d, n²)."""
    gaps = [
        cdist(columns[:, axis == j], columns[:, axis == j], "sqeuclidean").ravel() for j in range(int(axis[-1]) + 1)
    ]
    return np.array(gaps)

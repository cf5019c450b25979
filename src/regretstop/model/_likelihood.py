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
from scipy.spatial.distance import pdist

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
    """The negative log posterior density of θ given observations. Not for several threads at once.

    Args:
        points: Encoded points, shape (n, d); repeats allowed.
        values: Standardised values, shape (n,).
        kernel: The kernel family.
        embedding: How encoded points become columns.
        noise_std: σ where it is known (0 for noise-free), None where it is learned.

    Attributes:
        dim: d.
        prior_medians: Prior medians of θ, shape (size,).
        prior_widths: Prior deviations of θ, shape (size,).
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
        self._above = np.flatnonzero(np.triu(np.ones((len(means), len(means)), dtype=bool), 1))
        # Three stacks of matrices, used again by every call: fresh memory costs more than the arithmetic.
        self._work = np.zeros((3, max(_AT_ONCE // len(means) ** 2, 1), len(means), len(means)))
        self._values = means
        self._repeats = repeats
        self._n_extra = float(np.sum(repeats)) - len(means)
        self._log_repeats = float(np.sum(np.log(repeats)))
        self._noise_std = noise_std
        self._jitter = enough_jitter(len(means), float(np.finfo(np.float64).eps), MOST_ROUNDING)
        self.dim = points.shape[1]
        medians, widths = np.array(
            [LENGTHSCALE_PRIOR] * self.dim + [PRIOR_STD_PRIOR] + [NOISE_STD_PRIOR] * self.learns_noise
        ).T
        self.prior_medians, self.prior_widths = medians, widths

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
        size = self._work.shape[1]
        parts = [self._few(thetas[i : i + size]) for i in range(0, len(thetas), size)]
        return np.concatenate([value for value, _ in parts]), np.concatenate([gradient for _, gradient in parts])

    def _few(self, thetas: Array) -> tuple[Array, Array]:
        """Return values and gradients.

        The value is ½ (rᵀK⁻¹r + log |K| + log c), r = y − mean, up to a constant and the prior: Rasmussen & Williams
        2006, eq. 2.45, for one constant basis function. With G = ½ (K⁻¹ − K⁻¹r rᵀK⁻¹ − K⁻¹1 1ᵀK⁻¹/c), the derivative
        along any change dK is Σ G ∘ dK (their eq. 5.9): the last term comes from the integrated mean.

        Of the symmetric matrices only the diagonal and what is above it are computed: half of the work.
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
            rho, slope = self._kernel.correlation_and_slope(matmul(weights, self._gaps))
            # The jitter is there always, rather than where a factor asks for it: the density would have a step there.
            signal, signal_variance = variance[:, None] * rho, variance * (1.0 + self._jitter)
            total_variance = signal_variance[:, None] + noise_variance[:, None] / self._repeats
        covariance, inverse_chol, twice_g = self._work[:, :k]
        covariance.reshape(k, -1)[:, :: n + 1] = total_variance
        log_determinant = np.zeros(k)
        failed = np.asarray(~(np.isfinite(total_variance).all(axis=1) & np.isfinite(signal).all(axis=1)))
        for i in np.flatnonzero(~failed):
            covariance[i].ravel()[self._above] = signal[i]  # four times as fast as for all at once
            try:
                chol, inverse_chol[i], _ = cholesky(covariance[i].T, float(variance[i]))
            except np.linalg.LinAlgError:
                failed[i] = True
                continue
            log_determinant[i] = 2.0 * float(np.log(chol.flat[:: n + 1]).sum())
        if failed.any():
            values[failed], gradients[failed] = np.inf, 0.0
            if failed.all():
                return values, gradients
            ok_values, ok_gradients = self._few(thetas[~failed])
            values[~failed], gradients[~failed] = ok_values, ok_gradients
            return values, gradients
        # From the factor, so that rounding cannot make them negative where K is nearly singular.
        whitened_ones = inverse_chol.sum(axis=2)
        whitened = np.einsum("kij,j->ki", inverse_chol, self._values)
        precision = np.einsum("ki,ki->k", whitened_ones, whitened_ones)
        whitened -= whitened_ones * (np.einsum("ki,ki->k", whitened_ones, whitened) / precision)[:, None]
        values += 0.5 * (np.einsum("ki,ki->k", whitened, whitened) + log_determinant + np.log(precision))

        solved = np.einsum("kij,ki->kj", inverse_chol, whitened)
        solved_ones = np.einsum("kij,ki->kj", inverse_chol, whitened_ones) / np.sqrt(precision)[:, None]
        for i in range(k):
            _inverse_less_two_squares(inverse_chol[i], solved[i], solved_ones[i], out=twice_g[i])
        above, diagonal = twice_g.reshape(k, -1).take(self._above, axis=1), twice_g.reshape(k, -1)[:, :: n + 1]
        # dK/dlog ℓ_j = −2 s² ρ' Δ_j²/ℓ_j², and each of the sums below is over both triangles.
        slope *= above
        by_axis = matmul(slope, self._gaps.T)
        gradients[:, : self.dim] -= 2.0 * variance[:, None] * weights * by_axis
        gradients[:, self.dim] += 2.0 * np.einsum("ki,ki->k", above, signal) + signal_variance * diagonal.sum(axis=1)
        if self._noise_std is None:
            # The single values behind a merged mean still speak about the noise. The density of m of them is that of
            # their mean, of variance σ²/m, times (2πσ²)^(−(m−1)/2) m^(−1/2) exp(−(sum of squares within)/2σ²).
            values += 0.5 * (self._n_extra * (_LOG_2PI + np.log(noise_variance)) + self._within / noise_variance)
            values += 0.5 * self._log_repeats
            slope_in_noise = noise_variance * (diagonal / self._repeats).sum(axis=1)
            slope_in_noise += self._n_extra - self._within / noise_variance
            gradients[:, -1] += np.where(thetas[:, -1] >= _LOG_FLOOR, slope_in_noise, 0.0)
        return values, gradients

    def _negative_log_prior(self, thetas: Array) -> tuple[Array, Array]:
        z = (thetas - self.prior_medians) / self.prior_widths
        return 0.5 * np.einsum("ki,ki->k", z, z), z / self.prior_widths


def _inverse_less_two_squares(inverse_chol: Array, one: Array, other: Array, *, out: Array) -> None:
    """Write K⁻¹ − a aᵀ − b bᵀ, from L⁻¹, a and b, into `out`, shape (n, n): its diagonal and what is above it."""
    # dtrtri and dsyrk instead of dpotri: OpenBLAS gives dpotri threads at any size, which on a busy machine costs
    # milliseconds a call. The transposes are column-major, so that their lower triangles are written in place.
    blas.dsyrk(1.0, inverse_chol.T, beta=0.0, c=out.T, overwrite_c=1, lower=1)
    for vector in (one, other):
        blas.dsyr(-1.0, vector, a=out.T, overwrite_a=1, lower=1)


def _squared_gaps(columns: Array, axis: NDArray[np.intp]) -> Array:
    """Return the squared distance of every two different points along every axis, shape (d, n(n−1)/2)."""
    return np.array([pdist(columns[:, axis == j], "sqeuclidean") for j in range(int(axis[-1]) + 1)])

"""The posterior of a Gaussian process, and what the rest of the package asks of any posterior.

Notation (standardised values, encoded points):

    s, ℓ, σ    prior deviation, lengthscales, noise deviation        prior_std, lengthscales, noise_std
    K          s² ρ(X, X) + σ² diag(1/m), m repeats of each point     = L Lᵀ
    c          1ᵀ K⁻¹ 1, the precision of the unknown constant mean

With a known mean the posterior is that of the paper, section 2.1 (Rasmussen & Williams 2006, eq. 2.25 and 2.26).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from regretstop.array import Array
from regretstop.model._jet import correlation_of_jet, correlation_with_jets
from regretstop.model._kernels import Embedding, Kernel
from regretstop.model._linalg import cholesky, matmul, matvec
from regretstop.model._paths import FourierPrior, Paths
from regretstop.model._repeats import merge_duplicates, take_back

# Relative to s²: what rounding leaves of a variance of 0 in a fit that `cholesky` accepts is a hundredth of that
# (docs/theory.md, Rounding).
_CLEARLY_NEGATIVE = 1e-8


class GaussianProcessPosterior:
    """The exact posterior of a GP with a stationary kernel; the constant mean is known or integrated out.

    With an unknown mean (flat prior) the variance includes what is not known about the mean:
    `σ_n²(x) = s² − k(x)ᵀK⁻¹k(x) + (1 − 1ᵀK⁻¹k(x))² / c` (Rasmussen & Williams 2006, eq. 2.42).

    Args:
        points: Encoded points, shape (n, d), no two the same.
        values: Standardised values, shape (n,): means over the repeats.
        repeats: Observations behind each value, shape (n,).
        kernel: The kernel family; its own numbers are not used.
        embedding: How encoded points become columns.
        lengthscales: ℓ, shape (d,).
        prior_std: s.
        noise_std: σ.
        mean: The known constant mean, or None to integrate it out.

    Raises:
        numpy.linalg.LinAlgError: If the kernel matrix is not positive definite with the largest jitter.
    """

    def __init__(
        self,
        points: Array,
        values: Array,
        repeats: Array,
        *,
        kernel: Kernel,
        embedding: Embedding,
        lengthscales: Array,
        prior_std: float,
        noise_std: float,
        mean: float | None,
    ) -> None:
        self.points = points
        self.values = values
        self.repeats = repeats
        self.kernel = kernel
        self.lengthscales = lengthscales
        self.prior_std = prior_std
        self.noise_std = noise_std
        self._known_mean = mean
        self._embedding = embedding
        self._column_scale = 1.0 / lengthscales[embedding.axis]
        self._columns = embedding(points) * self._column_scale
        self._columns_and_one = np.hstack([self._columns, np.ones((len(points), 1))])
        covariance = prior_std**2 * kernel.correlation(cdist(self._columns, self._columns, "sqeuclidean"))
        covariance.flat[:: len(values) + 1] += noise_std**2 / repeats
        # The triangular inverse makes every later prediction two matrix products, which is what the hundreds of
        # candidates of an acquisition search want.
        _, self._inverse_chol, self.jitter = cholesky(covariance, prior_std**2)
        ones = self._inverse_chol.sum(axis=1)
        self._inverse_ones = matvec(self._inverse_chol.T, ones)  # K⁻¹ 1
        self._mean_precision = float(ones @ ones) if mean is None else math.inf
        whitened = matvec(self._inverse_chol, values)
        # The generalised least-squares mean, 1ᵀK⁻¹y / c
        self.mean = float(ones @ whitened) / self._mean_precision if mean is None else mean
        self._weights = matvec(self._inverse_chol.T, whitened - self.mean * ones)  # K⁻¹ (y − mean)
        self._variance_floor = variance_floor(prior_std, noise_std**2 / repeats + self.jitter)

    def mean_std(self, points: Array) -> tuple[Array, Array]:
        """Return μ and σ_n, each of shape (m,), at points of shape (m, d)."""
        cross = self.cross(self.columns(points))
        whitened = matmul(cross, self._inverse_chol.T)
        mean = self.mean + matvec(cross, self._weights)  # m + kᵀK⁻¹(y − m)
        return mean, self._std(whitened, 1.0 - matvec(cross, self._inverse_ones))

    def mean_std_gradient(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return μ, σ_n of shape (m,) and their gradients of shape (m, d), zero along categorical axes."""
        columns = self.columns(points)
        rho, slope = self.kernel.correlation_and_slope(cdist(columns, self._columns, "sqeuclidean"))
        cross = self.prior_std**2 * rho
        whitened = matmul(cross, self._inverse_chol.T)
        mean = self.mean + matvec(cross, self._weights)
        unexplained = 1.0 - matvec(cross, self._inverse_ones)
        std = self._std(whitened, unexplained)
        # dσ/dk = −(K⁻¹k + (1 − 1ᵀK⁻¹k) K⁻¹1 / c) / σ
        std_weights = matmul(whitened, self._inverse_chol)
        std_weights += (unexplained / self._mean_precision)[:, None] * self._inverse_ones
        std_weights /= -np.maximum(std, 1e-150)[:, None]
        both = self._chain(
            np.concatenate([columns, columns]), np.concatenate([slope * self._weights, slope * std_weights])
        )
        return mean, std, both[: len(points)], both[len(points) :]

    def condition_on(self, points: Array, values: Array | None = None) -> "GaussianProcessPosterior":
        """Return the posterior as if the points, shape (m, d), had been observed, by default at their mean."""
        if len(points) == 0:
            return self
        if values is None:
            values = self.mean_std(points)[0]
        merged, merged_values, repeats = merge_duplicates(
            np.vstack([self.points, points]),
            np.concatenate([self.values, values]),
            np.concatenate([self.repeats, np.ones(len(points))]),
        )[:3]
        return self._given(merged, merged_values, repeats)

    def without(self, point: Array, value: float) -> "GaussianProcessPosterior":
        """Return the posterior, hyperparameters unchanged, as if one observation had not been made; it needs another.

        Args:
            point: Where, encoded, shape (d,).
            value: What was observed, standardised.
        """
        return self._given(*take_back(self.points, self.values, self.repeats, point, value))

    def covariance(self, points: Array) -> Array:
        """Return the posterior covariance of the objective, shape (m, m), at points of shape (m, d).

        Rasmussen & Williams 2006, eq. 2.42.
        """
        columns = self.columns(points)
        cross = self.cross(columns)
        whitened = matmul(cross, self._inverse_chol.T)
        unexplained = 1.0 - matvec(cross, self._inverse_ones)
        prior = self.prior_std**2 * self.kernel.correlation(cdist(columns, columns, "sqeuclidean"))
        return prior - matmul(whitened, whitened.T) + np.outer(unexplained, unexplained) / self._mean_precision

    def jet(
        self, points: Array, axes: NDArray[np.intp], n_free: int, reference: Array, weight: float = 1.0
    ) -> tuple[Array, Array]:
        """Return mean and covariance of f − κ f(x̂) and its derivatives, in units of ℓ, as `HasJets` wants them.

        Derivatives are linear in f, so they follow the formulas of the class with their own covariances for k(x).
        """
        own = self.columns(reference[None])
        along = np.searchsorted(self._embedding.axis, axes)
        cross = correlation_with_jets(self.kernel, self.columns(points), along, n_free, np.vstack([self._columns, own]))
        cross *= self.prior_std**2
        shape = cross.shape[:2]
        to_data = np.ascontiguousarray(cross[:, :, :-1]).reshape(-1, len(self._columns))
        whitened = matmul(to_data, self._inverse_chol.T).reshape(*shape, -1)
        unexplained = -matvec(to_data, self._inverse_ones).reshape(shape)
        unexplained[:, 0] += 1.0  # of a derivative of the mean there is nothing to explain
        own_cross = self.cross(own)[0]
        own_whitened = matvec(self._inverse_chol, own_cross)
        own_unexplained = (1.0 - float(own_cross @ self._inverse_ones)) / self._mean_precision
        own_variance = self.prior_std**2 - float(own_whitened @ own_whitened)
        own_variance += self._mean_precision * own_unexplained**2 if self._known_mean is None else 0.0

        mean = matvec(to_data, self._weights).reshape(shape)
        # The constant mean cancels in f − f(x̂).
        mean[:, 0] += (1.0 - weight) * self.mean - weight * float(own_cross @ self._weights)
        covariance = self.prior_std**2 * correlation_of_jet(type(self.kernel), axes.shape[1], n_free)
        covariance = covariance - whitened @ whitened.transpose(0, 2, 1)
        covariance += unexplained[:, :, None] * unexplained[:, None, :] / self._mean_precision
        with_own = cross[:, :, -1] - whitened @ own_whitened + own_unexplained * unexplained
        covariance[:, 0] -= weight * with_own
        covariance[:, :, 0] -= weight * with_own
        covariance[:, 0, 0] += weight**2 * own_variance
        return mean, covariance

    def _given(self, points: Array, values: Array, repeats: Array) -> "GaussianProcessPosterior":
        """Return the posterior with the same hyperparameters given other data."""
        return GaussianProcessPosterior(
            points,
            values,
            repeats,
            kernel=self.kernel,
            embedding=self._embedding,
            lengthscales=self.lengthscales,
            prior_std=self.prior_std,
            noise_std=self.noise_std,
            mean=self._known_mean,
        )

    def paths(self, n: int, rng: np.random.Generator) -> Paths:
        """Return n draws of the posterior as functions, by Matheron's rule (Wilson et al. 2020); the jitter is noise.

            f(x) = m + g(x) + k(x)ᵀ K⁻¹ (y − m − g(X) − e),   g a draw of the prior, e one of the noise

        An unknown mean is `m = 1ᵀK⁻¹(y − g(X) − e) / c`: the limit of the rule for a mean whose prior gets flat
        (docs/theory.md, Posterior paths).
        """
        prior = FourierPrior(self.kernel, self._columns.shape[1], self.prior_std, n, rng)
        noise_std = np.sqrt(self.noise_std**2 / self.repeats + self.jitter)
        noise = noise_std[:, None] * rng.standard_normal((len(self.values), n))
        residuals = self.values[:, None] - prior.values(self._columns) - noise
        if self._known_mean is None:
            means = matvec(residuals.T, self._inverse_ones) / self._mean_precision
        else:
            means = np.full(n, self._known_mean)
        weights = matmul(self._inverse_chol.T, matmul(self._inverse_chol, residuals - means)).T
        return Paths(prior, self, np.ascontiguousarray(weights), means)

    def columns(self, points: Array) -> Array:
        """Return the columns whose squared distances the kernel uses, in lengthscales, shape (m, D)."""
        return self._embedding(points) * self._column_scale

    def cross(self, columns: Array) -> Array:
        """Return k(x, x_i), shape (m, n), for points given by their columns."""
        return self.prior_std**2 * self.kernel.correlation(cdist(columns, self._columns, "sqeuclidean"))

    def weighted_cross(self, columns: Array, weights: Array) -> tuple[Array, Array]:
        """Return Σ_i w_mi k(x_m, x_i), shape (m,), for weights of shape (m, n), and the gradients, shape (m, d)."""
        rho, slope = self.kernel.correlation_and_slope(cdist(columns, self._columns, "sqeuclidean"))
        values = self.prior_std**2 * np.einsum("mn,mn->m", rho, weights)
        return values, self._chain(columns, slope * weights)

    def to_axes(self, gradients: Array) -> Array:
        """Return gradients along the axes, shape (m, d), of gradients along the columns, shape (m, D)."""
        if self._embedding.is_identity:
            return gradients * self._column_scale
        numeric = self._embedding.numeric_columns
        along = np.zeros((len(gradients), len(self._embedding.numeric)))
        along[:, self._embedding.numeric] = gradients[:, numeric] * self._column_scale[numeric]
        return along

    def _std(self, whitened: Array, unexplained: Array) -> Array:
        """Return σ_n of L⁻¹k, shape (m, n), and 1 − 1ᵀK⁻¹k, shape (m,), by the formula of the class."""
        variance = self.prior_std**2 - np.einsum("mn,mn->m", whitened, whitened)
        variance += unexplained**2 / self._mean_precision
        return np.sqrt(at_least_the_floor(variance, self._variance_floor, self.prior_std))

    def _chain(self, columns: Array, weights: Array) -> Array:
        """Return Σ_i weights_mi d(s² r²_mi)/dx_m, shape (m, d), for weights that contain dρ/d(r²)."""
        sums = matmul(weights, self._columns_and_one)
        moved = columns * sums[:, -1:] - sums[:, :-1]
        return self.to_axes(2.0 * self.prior_std**2 * moved)


def variance_floor(prior_std: float, noise_variances: Array) -> float:
    """Return what no posterior variance can be below: what all observations would leave, were they at x itself.

        (1/s² + Σ_i 1/σ_i²)⁻¹        (paper, Lemma B.4, eq. (16), for any s and for noise that differs)

    Args:
        prior_std: s.
        noise_variances: σ_i² of the observations, jitter included, shape (n,).
    """
    if np.any(noise_variances == 0.0):
        return 0.0
    return 1.0 / (1.0 / prior_std**2 + float(np.sum(1.0 / noise_variances)))


def at_least_the_floor(variances: Array, floor: float, prior_std: float) -> Array:
    """Return computed variances, shape (m,), none below the floor: what rounding leaves below it is not knowledge.

    Raises:
        numpy.linalg.LinAlgError: If one is so far below 0 that it is no rounding: the kernel is not positive definite.
    """
    least = float(np.min(variances, initial=math.inf))
    if least < -_CLEARLY_NEGATIVE * prior_std**2:
        share = least / prior_std**2
        raise np.linalg.LinAlgError(
            f"a posterior variance came out as {share:.2g} of the prior's: the kernel is not positive definite"
        )
    return np.maximum(variances, floor)

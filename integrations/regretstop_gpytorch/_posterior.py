# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
"""The exact posterior for any kernel: `regretstop.model.GaussianProcessPosterior` with torch."""

import math

import numpy as np
import torch
from torch import Tensor

from regretstop.array import Array
from regretstop.model import (
    Embedding,
    GaussianProcessPosterior,
    at_least_the_floor,
    merge_duplicates,
    take_back,
    variance_floor,
)
from regretstop_gpytorch._prior import Prior, family_of, has_one_lengthscale_per_axis
from regretstop_gpytorch._torch import cholesky, isolated, to_numpy


class GPyTorchPosterior:
    """The posterior of a prior given observations, with the algebra of the native one.

    Args:
        points: Encoded points, shape (n, d), no two the same.
        values: Standardised values, shape (n,): means over the repeats.
        repeats: Observations behind each value, shape (n,).
        prior: The prior.
        embedding: How encoded points become columns.
        noise_std: σ.
        device: Where to compute.

    Raises:
        numpy.linalg.LinAlgError: If the kernel matrix is not positive definite with the largest jitter.
    """

    def __init__(
        self,
        points: Array,
        values: Array,
        repeats: Array,
        *,
        prior: Prior,
        embedding: Embedding,
        noise_std: float,
        device: torch.device,
    ) -> None:
        self.points = points
        self.values = values
        self.repeats = repeats
        self.prior_std = prior.prior_std
        self.noise_std = noise_std
        self.kernel, self.lengthscales = family_of(prior, embedding)
        self._prior = prior
        self._embedding = embedding
        self._device = device
        with isolated(device):
            self._columns = self._tensor(embedding(points))
            covariance = prior.covariance(self._columns, self._columns)
            covariance = covariance + torch.diag(self._tensor(noise_std**2 / repeats))
            _, self._inverse_chol, self.jitter = cholesky(covariance, self.prior_std**2)
            ones = self._inverse_chol.sum(dim=1)
            self._inverse_ones = self._inverse_chol.T @ ones  # K⁻¹ 1
            is_known = prior.mean_module is not None
            self._mean_precision = math.inf if is_known else float(ones @ ones)
            whitened = self._inverse_chol @ (self._tensor(values) - prior.mean(self._columns))
            self._constant = 0.0 if is_known else float(ones @ whitened) / self._mean_precision
            constant = float(prior.mean(self._columns[:1]))
            self._weights = self._inverse_chol.T @ (whitened - self._constant * ones)  # K⁻¹ (y − mean)
        self._variance_floor = variance_floor(self.prior_std, noise_std**2 / repeats + self.jitter)
        if self.kernel is not None and has_one_lengthscale_per_axis(prior, embedding):
            # Derivatives are those of the native posterior with these numbers. A posterior without the method is one
            # whose draws' derivatives are not known.
            self.jet = GaussianProcessPosterior(
                points,
                values,
                repeats,
                kernel=self.kernel,
                embedding=embedding,
                lengthscales=self.lengthscales,
                prior_std=self.prior_std,
                noise_std=noise_std,
                mean=constant if is_known else None,
            ).jet

    def mean_std(self, points: Array) -> tuple[Array, Array]:
        """Return μ and σ_n, each of shape (m,), at points of shape (m, d)."""
        with isolated(self._device):
            mean, variance = self._mean_variance(self._tensor(self._embedding(points)))
            return to_numpy(mean), self._std(variance)

    def mean_std_gradient(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return μ, σ_n of shape (m,) and their gradients of shape (m, d), zero along categorical axes."""
        with isolated(self._device, gradients=True):
            columns = self._tensor(self._embedding(points)).requires_grad_()
            mean, variance = self._mean_variance(columns)
            # The points do not interact, so the gradient of the sum holds the gradient of each.
            slopes = [self._gradient(total, columns, points) for total in (mean.sum(), variance.sum())]
            std = self._std(variance)
            return to_numpy(mean), std, slopes[0], slopes[1] / (2.0 * np.maximum(std, 1e-150))[:, None]

    def condition_on(self, points: Array, values: Array | None = None) -> "GPyTorchPosterior":
        """Return the posterior as if the points, shape (m, d), had been observed, by default at their mean."""
        if len(points) == 0:
            return self
        if values is None:
            values = self.mean_std(points)[0]
        merged, merged_values, repeats, _ = merge_duplicates(
            np.vstack([self.points, points]),
            np.concatenate([self.values, values]),
            np.concatenate([self.repeats, np.ones(len(points))]),
        )
        return self._given(merged, merged_values, repeats)

    def without(self, point: Array, value: float) -> "GPyTorchPosterior":
        """Return the posterior, hyperparameters unchanged, as if one observation had not been made; it needs another.

        Args:
            point: Where, encoded, shape (d,).
            value: What was observed, standardised.
        """
        return self._given(*take_back(self.points, self.values, self.repeats, point, value))

    def covariance(self, points: Array) -> Array:
        """Return the posterior covariance of the objective, shape (m, m), at points of shape (m, d)."""
        with isolated(self._device):
            columns = self._tensor(self._embedding(points))
            cross = self._prior.covariance(columns, self._columns)
            whitened = cross @ self._inverse_chol.T
            unexplained = 1.0 - cross @ self._inverse_ones
            known = whitened @ whitened.T - torch.outer(unexplained, unexplained) / self._mean_precision
            return to_numpy(self._prior.covariance(columns, columns) - known)

    def _given(self, points: Array, values: Array, repeats: Array) -> "GPyTorchPosterior":
        """Return the posterior with the same hyperparameters given other data."""
        return GPyTorchPosterior(
            points,
            values,
            repeats,
            prior=self._prior,
            embedding=self._embedding,
            noise_std=self.noise_std,
            device=self._device,
        )

    def _mean_variance(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        cross = self._prior.covariance(columns, self._columns)
        whitened = cross @ self._inverse_chol.T
        mean = self._prior.mean(columns) + self._constant + cross @ self._weights
        variance = self.prior_std**2 - (whitened**2).sum(dim=1)
        return mean, variance + (1.0 - cross @ self._inverse_ones) ** 2 / self._mean_precision

    def _std(self, variance: Tensor) -> Array:
        return np.sqrt(at_least_the_floor(to_numpy(variance), self._variance_floor, self.prior_std))

    def _gradient(self, total: Tensor, columns: Tensor, points: Array) -> Array:
        gradient = np.zeros(points.shape)
        if not total.requires_grad:  # a constant kernel
            return gradient
        (by_column,) = torch.autograd.grad(total, columns, retain_graph=True, allow_unused=True, materialize_grads=True)
        # A kernel with a kink at its data has no derivative there; any number will do for an ascent.
        found = np.nan_to_num(to_numpy(by_column), nan=0.0, posinf=0.0, neginf=0.0)
        gradient[:, self._embedding.numeric] = found[:, self._embedding.numeric_columns]
        return gradient

    def _tensor(self, array: Array) -> Tensor:
        return torch.tensor(array, dtype=torch.float64, device=self._device)

"""The objective less what constraints cost: a function that is at least f wherever all constraints are met.

With slacks s_i(x), at least 0 where a constraint is met, and any multipliers λ_i(x) ≥ 0, the Lagrangian

    h(x) = f(x) + Σ_i λ_i(x) s_i(x)

is at least f(x) at every feasible x, so that whatever bounds h bounds f there (docs/theory.md, Constraints). Given the
data h is a Gaussian process, a sum of independent ones. Here λ(x) = ω / (1 + exp(μ(x)/τ)), μ the posterior mean of s:
about 0 where the constraint is met with room, so that h stays near f, and about ω where it is violated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from regretstop.array import Array, upper_triangle
from regretstop.model._kernels import Kernel
from regretstop.model._protocols import Draws, HasJets, HasPaths, Posterior


@runtime_checkable
class Drawable(HasJets, HasPaths, Protocol):
    """A posterior of which all is known that a Lagrangian needs: moments, derivatives and draws."""

    @property
    def noise_std(self) -> float:
        """σ, the deviation of the noise that the model assumes."""
        ...

    @property
    def jitter(self) -> float:
        """Variance added to every observation for numerical reasons."""
        ...

    def mean_std(self, points: Array) -> tuple[Array, Array]:
        """Return μ and σ_n, each of shape (m,), at points of shape (m, d)."""
        ...

    def mean_std_gradient(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return μ, σ_n of shape (m,) and their gradients of shape (m, d), zero along categorical axes."""
        ...

    def condition_on(self, points: Array, values: Array | None = None) -> Posterior:
        """Return the posterior as if the points, shape (m, d), had been observed, by default at their mean."""
        ...


@dataclass(frozen=True)
class Constraint:
    """What is known of a constraint: it is met where the slack, a draw of the posterior less the limit, is at least 0.

    Attributes:
        posterior: Of the slack, standardised and not yet less the limit.
        limit: Standardised.
    """

    posterior: Drawable
    limit: float

    def keeping_away(self, points: Array) -> "Constraint":
        """Return what would be known if points, shape (m, d), had been observed at their mean."""
        posterior = self.posterior.condition_on(points)
        assert isinstance(posterior, Drawable)
        return Constraint(posterior, self.limit)


@dataclass(frozen=True)
class Multiplier:
    """λ = ω / (1 + exp(z/τ)), z the posterior mean of a slack.

    Attributes:
        weight: ω ≥ 0, in standardised units of the objective for one of the slack.
        width: τ > 0, in standardised units of the slack.
    """

    weight: float
    width: float

    def __call__(self, z: Array) -> tuple[Array, Array, Array]:
        """Return λ and its first two derivatives in z."""
        share = expit(-z / self.width)
        slope = -share * (1.0 - share) / self.width
        return self.weight * share, self.weight * slope, -self.weight * slope * (1.0 - 2.0 * share) / self.width


class Lagrangian:
    """The posterior of f + Σ λ_i s_i, standardised and encoded as the objective's.

    Args:
        objective: The posterior of f.
        constraints: The constraints, at least one, with their multipliers.
    """

    def __init__(self, objective: Drawable, constraints: Sequence[tuple[Constraint, Multiplier]]) -> None:
        self._objective = objective
        self._constraints = tuple(constraints)
        self.noise_std = objective.noise_std
        self.jitter = objective.jitter
        self.kernel: Kernel = objective.kernel
        lengthscales = [objective.lengthscales, *(constraint.posterior.lengthscales for constraint, _ in constraints)]
        self.lengthscales: Array = np.min(lengthscales, axis=0)
        variances = [objective.prior_std**2, *((m.weight * c.posterior.prior_std) ** 2 for c, m in constraints)]
        self.prior_std = float(np.sqrt(np.sum(variances)))

    def mean_std(self, points: Array) -> tuple[Array, Array]:
        """Return μ and σ_n, each of shape (m,), at points of shape (m, d)."""
        mean, std = self._objective.mean_std(points)
        variance = np.square(std)
        for constraint, multiplier in self._constraints:
            its_mean, its_std = constraint.posterior.mean_std(points)
            z = its_mean - constraint.limit
            size = multiplier(z)[0]
            mean = mean + size * z
            variance = variance + np.square(size * its_std)
        return mean, np.sqrt(variance)

    def mean_std_gradient(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return μ, σ_n of shape (m,) and their gradients of shape (m, d), zero along categorical axes."""
        mean, std, by_mean, by_std = self._objective.mean_std_gradient(points)
        variance, by_variance = np.square(std), 2.0 * std[:, None] * by_std
        for constraint, multiplier in self._constraints:
            its_mean, its_std, its_by_mean, its_by_std = constraint.posterior.mean_std_gradient(points)
            z = its_mean - constraint.limit
            size, slope, _ = multiplier(z)
            mean = mean + size * z
            by_mean = by_mean + (slope * z + size)[:, None] * its_by_mean
            variance = variance + np.square(size * its_std)
            rising = slope[:, None] * its_std[:, None] * its_by_mean + size[:, None] * its_by_std
            by_variance = by_variance + 2.0 * (size * its_std)[:, None] * rising
        std = np.sqrt(variance)
        return mean, std, by_mean, by_variance / (2.0 * np.maximum(std, 1e-150))[:, None]

    def condition_on(self, points: Array, values: Array | None = None) -> "Lagrangian":
        """Return the posterior as if f had been observed at points, shape (m, d), and the constraints at their mean."""
        objective = self._objective.condition_on(points, values)
        assert isinstance(objective, Drawable)
        return Lagrangian(objective, [(c.keeping_away(points), multiplier) for c, multiplier in self._constraints])

    def jet(
        self, points: Array, axes: NDArray[np.intp], n_free: int, reference: Array, weight: float = 1.0
    ) -> tuple[Array, Array]:
        """Return mean and covariance of h − κ f(x̂) and the derivatives of h, as `HasJets` wants them.

        The jet of a product with a known function is linear in that of the other (Leibniz).
        """
        mean, covariance = _in_units(self._objective, self.lengthscales, points, axes, n_free, reference, weight)
        for constraint, multiplier in self._constraints:
            its_mean, its_covariance = _in_units(
                constraint.posterior, self.lengthscales, points, axes, n_free, reference, 0.0
            )
            its_mean[:, 0] -= constraint.limit
            product = _product(its_mean, multiplier, axes.shape[1], n_free)
            mean = mean + np.einsum("mij,mj->mi", product, its_mean)
            covariance = covariance + product @ its_covariance @ product.transpose(0, 2, 1)
        return mean, covariance

    def paths(self, n: int, rng: np.random.Generator) -> "LagrangianPaths":
        """Return n draws of f less ω times the violations of as many draws of the constraints."""
        drawn = [(c.posterior.paths(n, rng), c.limit, multiplier.weight) for c, multiplier in self._constraints]
        return LagrangianPaths(self._objective.paths(n, rng), drawn)


class LagrangianPaths:
    """Functions f + Σ_i ω_i min(s_i, 0): below f where a draw of a constraint is violated, and f elsewhere.

    Args:
        objective: Draws of f.
        constraints: As many draws of each slack, its limit and its weight ω.
    """

    def __init__(self, objective: Draws, constraints: Sequence[tuple[Draws, float, float]]) -> None:
        self._objective = objective
        self._constraints = constraints

    def __len__(self) -> int:
        return len(self._objective)

    def values(self, points: Array) -> Array:
        """Return every path at encoded points of shape (m, d), shape (m, number of paths)."""
        values = self._objective.values(points)
        for drawn, limit, weight in self._constraints:
            values = values + weight * np.minimum(drawn.values(points) - limit, 0.0)
        return values

    def value_gradient(self, points: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return path `which[i]` at point i, shape (m,), and its gradient, shape (m, d)."""
        values, gradients = self._objective.value_gradient(points, which)
        for drawn, limit, weight in self._constraints:
            its_values, its_gradients = drawn.value_gradient(points, which)
            values = values + weight * np.minimum(its_values - limit, 0.0)
            gradients = gradients + weight * np.where((its_values < limit)[:, None], its_gradients, 0.0)
        return values, gradients


def _in_units(
    posterior: Drawable,
    lengthscales: Array,
    points: Array,
    axes: NDArray[np.intp],
    n_free: int,
    reference: Array,
    weight: float,
) -> tuple[Array, Array]:
    """Return the jet of a posterior with slopes in units of other lengthscales than its own."""
    mean, covariance = posterior.jet(points, axes, n_free, reference, weight)
    ratios = (lengthscales / posterior.lengthscales)[axes]
    first, second = upper_triangle(n_free)
    units = np.concatenate([np.ones((len(axes), 1)), ratios, ratios[:, first] * ratios[:, second]], axis=1)
    return mean * units, covariance * units[:, :, None] * units[:, None, :]


def _product(mean: Array, multiplier: Multiplier, n_axes: int, n_free: int) -> Array:
    """Return the matrices, shape (m, q, q), that take a slack's jet to that of its product with the multiplier.

    Args:
        mean: Of the slack's jet, shape (m, q), by which the multiplier goes.
        multiplier: λ.
        n_axes: How many slopes there are.
        n_free: Second derivatives are those along the first so many axes.
    """
    first, second = upper_triangle(n_free)
    size, slope, bend = multiplier(mean[:, 0])
    slopes, bends = mean[:, 1 : 1 + n_axes], mean[:, 1 + n_axes :]
    own_slopes = slope[:, None] * slopes
    own_bends = bend[:, None] * slopes[:, first] * slopes[:, second] + slope[:, None] * bends
    q = mean.shape[1]
    product = size[:, None, None] * np.eye(q)
    product[:, 1 : 1 + n_axes, 0] = own_slopes
    product[:, 1 + n_axes :, 0] = own_bends
    for row, (i, j) in enumerate(zip(first, second, strict=True), 1 + n_axes):
        product[:, row, 1 + j] += own_slopes[:, i]
        product[:, row, 1 + i] += own_slopes[:, j]
    return product

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
"""The hyperparameters of highest posterior density: `regretstop.model` for any kernel, by autograd."""

import math

import numpy as np
import torch
from torch import Tensor

from regretstop.array import Array
from regretstop.model import merge_duplicates
from regretstop_gpytorch._modules import Modules, covariance, mean_of
from regretstop_gpytorch._torch import cholesky, to_numpy

_LOG_2PI = math.log(2.0 * math.pi)


class Density:
    """The negative log posterior density of the modules' free parameters given observations.

    Args:
        modules: Kernel, mean and noise with their priors; calls set their parameters.
        columns: Embedded points, shape (n, D); repeats allowed.
        values: Standardised values, shape (n,).
        noise_std: σ where it is known, None where it is learned.

    Attributes:
        bounds: Of each free number, for constraints that are left to the optimizer.
    """

    def __init__(self, modules: Modules, columns: Array, values: Array, noise_std: float | None) -> None:
        merged, means, repeats, within = merge_duplicates(columns, values, np.ones(len(values)))
        free = [(p, c) for _, p, c in modules.named_parameters_and_constraints() if p.requires_grad]
        like = next(iter(modules.parameters()))
        self._modules = modules
        self._parameters = [parameter for parameter, _ in free]
        self._columns = torch.as_tensor(merged).to(like)
        self._values = torch.as_tensor(means).to(like)
        self._repeats = torch.as_tensor(repeats).to(like)
        self._noise_std = noise_std
        self._within = within
        self._n_extra = float(np.sum(repeats)) - len(means)
        self.bounds: list[tuple[float, float]] = []
        for parameter, constraint in free:
            low, high = -math.inf, math.inf
            if constraint is not None and not constraint.enforced:
                low, high = float(constraint.lower_bound), float(constraint.upper_bound)
            self.bounds += [(low, high)] * parameter.numel()

    @property
    def theta(self) -> Array:
        """The free parameters in one vector."""
        return np.concatenate([np.zeros(0), *(to_numpy(p).ravel() for p in self._parameters)])

    @theta.setter
    def theta(self, theta: Array) -> None:
        start = 0
        with torch.no_grad():
            for parameter in self._parameters:
                part = theta[start : start + parameter.numel()]
                parameter.copy_(torch.as_tensor(part).to(parameter).view_as(parameter))
                start += parameter.numel()

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return −log p(θ | data) up to a constant, and its gradient; what cannot be computed is implausible."""
        self.theta = theta
        nothing = math.inf, np.zeros_like(theta)
        try:
            value = self._negative_log()
        except np.linalg.LinAlgError:
            return nothing
        gradients = torch.autograd.grad(value, self._parameters, allow_unused=True, materialize_grads=True)
        gradient = np.concatenate([to_numpy(g).ravel() for g in gradients])
        if not (math.isfinite(value.item()) and np.all(np.isfinite(gradient))):
            return nothing
        return value.item(), gradient

    def _negative_log(self) -> Tensor:
        signal = covariance(self._modules.covar_module, self._columns, self._columns)
        if self._noise_std is None:
            noise = self._modules.likelihood.noise.squeeze()
        else:
            noise = torch.full_like(self._values[0], self._noise_std**2)
        chol, _, _ = cholesky(signal + torch.diag(noise / self._repeats), float(signal.detach().diagonal().max()))
        value = torch.log(chol.diagonal()).sum()
        residuals = self._values
        if not self._modules.mean_is_integrated:
            residuals = residuals - mean_of(self._modules.mean_module, self._columns)
        both = torch.stack([residuals, torch.ones_like(residuals)], dim=1)
        whitened, ones = torch.linalg.solve_triangular(chol, both, upper=False).T
        if self._modules.mean_is_integrated:
            precision = ones @ ones
            whitened = whitened - (ones @ whitened) / precision * ones
            value = value + 0.5 * torch.log(precision)
        value = value + 0.5 * (whitened @ whitened)
        if self._noise_std is None:
            # The single values behind a merged mean still speak about the noise.
            value = value + 0.5 * (self._n_extra * (_LOG_2PI + torch.log(noise)) + self._within / noise)
        for _, module, prior, closure, _ in self._modules.named_priors():
            value = value - prior.log_prob(closure(module)).sum()
        return value


def settle(density: Density) -> None:
    """Set the parameters to the mode that L-BFGS-B finds from where they are."""
    from scipy.optimize import minimize  # slow to import, and needed only to fit

    if len(density.bounds) == 0:
        return
    start = density.theta
    result = minimize(
        density, start, jac=True, method="L-BFGS-B", bounds=density.bounds, options={"maxiter": 200, "ftol": 1e-6}
    )
    density.theta = np.asarray(result.x) if math.isfinite(float(result.fun)) else start

"""Data, and GPyTorch modules with the native priors."""

from typing import Any

import gpytorch
import numpy as np
import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.priors import LogNormalPrior

from regretstop import Matern52, SquaredExponential
from regretstop.model import LENGTHSCALE_PRIOR, NOISE_STD_PRIOR, PRIOR_STD_PRIOR

NATIVE = {"matern": Matern52, "rbf": SquaredExponential}
SPACES = {"numeric": np.array([0, 0]), "mixed": np.array([0, 3, 0])}


def prior_of(center: float, width: float) -> LogNormalPrior:
    """The prior of a value whose logarithm the core takes for N(center, width²)."""
    loc, scale = torch.tensor([center + width**2, width], dtype=torch.float64)
    return LogNormalPrior(loc, scale)


def scaled(name: str, dim: int, **numbers: Any) -> Kernel:
    """Return a scaled kernel with the native priors, its free parameters being logarithms."""
    bases = {"matern": MaternKernel, "rbf": RBFKernel}
    options = {"lengthscale_prior": prior_of(*LENGTHSCALE_PRIOR), "lengthscale_constraint": logarithm()}
    center, width = PRIOR_STD_PRIOR
    kernel = ScaleKernel(
        bases[name](ard_num_dims=dim, **options),
        outputscale_prior=prior_of(2.0 * center, 2.0 * width),
        outputscale_constraint=logarithm(),
    ).double()
    kernel.base_kernel.lengthscale = exactly(numbers.get("lengthscales", [0.5] * dim))
    kernel.outputscale = exactly(numbers.get("prior_std", 1.0) ** 2)
    return kernel


def rational_quadratic() -> Kernel:
    """Return a scaled kernel that the core does not have, with the native priors."""
    center, width = PRIOR_STD_PRIOR
    base = RQKernel(lengthscale_prior=prior_of(*LENGTHSCALE_PRIOR))
    return ScaleKernel(base, outputscale_prior=prior_of(2.0 * center, 2.0 * width))


def noise() -> GaussianLikelihood:
    """Return noise with the native prior."""
    center, width = NOISE_STD_PRIOR
    return GaussianLikelihood(noise_prior=prior_of(2.0 * center, 2.0 * width))


def exactly(value: Any) -> torch.Tensor:
    """Return numbers as GPyTorch does not round them: a plain float would pass through the default dtype."""
    return torch.tensor(value, dtype=torch.float64)


def logarithm() -> Positive:
    return Positive(transform=torch.exp, inv_transform=torch.log)


class ExactGP(gpytorch.models.ExactGP):
    """The model of GPyTorch's tutorial."""

    def __init__(self, x: Any, y: Any, covar_module: Kernel, mean_module: Any = None, likelihood: Any = None) -> None:
        super().__init__(x, y.squeeze(-1), likelihood or GaussianLikelihood())
        self.mean_module = mean_module or gpytorch.means.ZeroMean()
        self.covar_module = covar_module

    def forward(self, x: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

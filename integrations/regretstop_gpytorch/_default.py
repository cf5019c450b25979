# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false, reportPrivateUsage=false
"""The native surrogate's kernel and noise as GPyTorch modules, and its priors for any.

A prior of GPyTorch is a density of the value itself, the native one of its logarithm. With LogNormal(μ + τ², τ) for the
value the two differ by a constant, so that both have the same mode:

    −log v − (log v − μ − τ²)²/(2τ²) = −(log v − μ)²/(2τ²) + constant
"""

from collections.abc import Callable
from typing import Any

import torch
from gpytorch import Module
from gpytorch.constraints import GreaterThan, Positive
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.likelihoods.noise_models import HomoskedasticNoise
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from regretstop.model import LENGTHSCALE_PRIOR, NOISE_STD_FLOOR, NOISE_STD_PRIOR, PRIOR_STD_PRIOR, Embedding

# The priors' medians, but for the noise, which begins where it explains little: 1 % of a deviation.
_START_LENGTHSCALE, _START_OUTPUTSCALE, _START_NOISE = 0.5, 1.0, 1e-4


class AxisMatern52(Kernel):
    """Matérn-5/2 with one lengthscale per axis of the space: the columns of a categorical axis share theirs.

    Args:
        axis: Axis that each column belongs to, shape (D,).
        **options: Arguments of `gpytorch.kernels.Kernel`.
    """

    has_lengthscale = True

    def __init__(self, axis: Tensor, **options: Any) -> None:
        super().__init__(ard_num_dims=int(axis.max()) + 1, **options)
        self._axis = axis.tolist()

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # GPyTorch's own kernels leave out the rest too
        self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any
    ) -> Tensor:
        """Return ρ of the scaled distances."""
        scale = self.lengthscale[..., self._axis]
        r2 = self.covar_dist(x1 / scale, x2 / scale, square_dist=True, diag=diag, **params)
        root = (5.0 * r2).clamp_min(1e-30).sqrt()  # the derivative of a root at zero is infinite
        return (1.0 + root + (5.0 / 3.0) * r2) * torch.exp(-root)


def default_kernel(embedding: Embedding) -> ScaleKernel:
    """Return s² times Matérn-5/2 for the columns of the embedding."""
    matern = AxisMatern52(torch.as_tensor(embedding.axis), lengthscale_constraint=_logarithmic(Positive))
    kernel = ScaleKernel(matern, outputscale_constraint=_logarithmic(Positive)).double()
    matern.initialize(lengthscale=_START_LENGTHSCALE)
    return kernel.initialize(outputscale=_START_OUTPUTSCALE)


def default_likelihood() -> GaussianLikelihood:
    """Return Gaussian noise with the native floor."""
    likelihood = GaussianLikelihood(noise_constraint=_logarithmic(GreaterThan, NOISE_STD_FLOOR**2)).double()
    return likelihood.initialize(noise=_START_NOISE)


def complete_priors(root: Module) -> None:
    """Register the native prior for every lengthscale, outputscale and noise inside that has none.

    Without any, the first few observations look like a flat function, and every rule stops at once.
    """
    for module in root.modules():
        if isinstance(module, Kernel) and module.has_lengthscale:
            _register(module, "lengthscale_prior", _lengthscale, LENGTHSCALE_PRIOR)
        if isinstance(module, ScaleKernel):
            _register(module, "outputscale_prior", _outputscale, _of_square(PRIOR_STD_PRIOR))
        if isinstance(module, HomoskedasticNoise):
            _register(module, "noise_prior", _noise, _of_square(NOISE_STD_PRIOR))


def _register(module: Module, name: str, value: Callable[[Any], Tensor], prior: tuple[float, float]) -> None:
    if name not in module._priors:
        module.register_prior(name, _log_normal(*prior), value)


# Functions by name, which unlike lambdas can be pickled.
def _lengthscale(module: Any) -> Tensor:
    return module.lengthscale


def _outputscale(module: Any) -> Tensor:
    return module.outputscale


def _noise(module: Any) -> Tensor:
    return module.noise


def _of_square(prior: tuple[float, float]) -> tuple[float, float]:
    """Return the prior of log v² for that of log v."""
    return 2.0 * prior[0], 2.0 * prior[1]


def _log_normal(center: float, width: float) -> LogNormalPrior:
    """Return the prior of a value whose logarithm has the native prior N(center, width²)."""
    loc, scale = torch.tensor([center + width**2, width], dtype=torch.float64)
    return LogNormalPrior(loc, scale)


def _logarithmic(constraint: type[Positive] | type[GreaterThan], *bound: float) -> Positive | GreaterThan:
    """Return the constraint with the logarithm as its free parameter."""
    return constraint(*bound, transform=torch.exp, inv_transform=torch.log)  # pyright: ignore[reportArgumentType]

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
"""A prior whose hyperparameters are settled, and what is known about its draws."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.means import ConstantMean, Mean, ZeroMean
from torch import Tensor

from regretstop.array import Array
from regretstop.model import Embedding, Matern52, SquaredExponential
from regretstop.model import Kernel as Family
from regretstop_gpytorch._default import AxisMatern52
from regretstop_gpytorch._modules import covariance, mean_of
from regretstop_gpytorch._torch import to_numpy

# For a kernel that is not known, the search for a maximum looks about this far around a point.
_NEIGHBOURHOOD = 0.5


@dataclass(frozen=True)
class Prior:
    """A Gaussian process on the embedded columns, in float64, before there are data.

    Attributes:
        covar_module: The kernel.
        mean_module: The mean; None for a constant with a flat prior.
        prior_std: s, in units of `unit`.
        unit: One standardised unit, in the units of the kernel and the mean.
        sign: −1 where the mean is that of the values times −1.
    """

    covar_module: Kernel
    mean_module: Mean | None
    prior_std: float
    unit: float = 1.0
    sign: float = 1.0

    def covariance(self, one: Tensor, other: Tensor) -> Tensor:
        """Return k(x, x'), shape (n, m), standardised."""
        return covariance(self.covar_module, one, other) / self.unit**2

    def mean(self, columns: Tensor) -> Tensor:
        """Return the mean, shape (n,), standardised; zero where it is unknown."""
        if self.mean_module is None:
            return torch.zeros_like(columns[:, 0])
        return mean_of(self.mean_module, columns) * (self.sign / self.unit)


def family_of(prior: Prior, embedding: Embedding) -> tuple[Family | None, Array]:
    """Return the native family that a prior's kernel belongs to and its lengthscales, shape (d,).

    Only a squared exponential or Matérn-5/2 over all columns is recognised, scaled or not. The slope of draws of any
    other kernel is not known, nor is that of a subclass, which may compute something else, nor that of the objective
    where its mean has a slope of its own: the family is then None.
    A categorical axis whose columns have several lengthscales gets the shortest, which no bound depends on.
    """
    kernel = prior.covar_module
    base = kernel.base_kernel if type(kernel) is ScaleKernel else kernel
    per_axis = np.full(len(embedding.categories), _NEIGHBOURHOOD)
    if type(base) is RBFKernel:
        family: Family | None = SquaredExponential()
    elif type(base) is AxisMatern52 or (type(base) is MaternKernel and base.nu == 2.5):
        family = Matern52()
    else:
        family = None
    is_flat = prior.mean_module is None or type(prior.mean_module) in (ConstantMean, ZeroMean)
    if family is None or not is_flat or _is_partial(kernel) or _is_partial(base):
        return None, per_axis
    lengthscales = to_numpy(base.lengthscale).ravel()
    if type(base) is AxisMatern52:
        return family, lengthscales
    per_axis.fill(math.inf)
    np.minimum.at(per_axis, embedding.axis, np.broadcast_to(lengthscales, embedding.axis.shape))
    return family, per_axis


def has_one_lengthscale_per_axis(prior: Prior, embedding: Embedding) -> bool:
    """Return whether the columns of each categorical axis share a lengthscale, as those of the native kernels do."""
    kernel = prior.covar_module
    base = kernel.base_kernel if type(kernel) is ScaleKernel else kernel
    if type(base) is AxisMatern52:
        return True
    lengthscales = np.broadcast_to(to_numpy(base.lengthscale).ravel(), embedding.axis.shape)
    return all(np.ptp(lengthscales[embedding.axis == axis]) == 0.0 for axis in np.unique(embedding.axis))


def _is_partial(kernel: Kernel) -> bool:
    """Return whether the kernel looks at some of the columns only."""
    return getattr(kernel, "active_dims", None) is not None

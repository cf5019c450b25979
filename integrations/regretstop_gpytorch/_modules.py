# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false, reportUnknownParameterType=false
"""The modules of a prior: kernel, mean and noise, as the user gave them or as the native surrogate has them."""

import copy
from collections.abc import Callable
from typing import Any

import gpytorch
import numpy as np
import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, Mean
from linear_operator import to_dense
from numpy.typing import NDArray
from torch import Tensor

from regretstop.array import Array
from regretstop.model import Embedding
from regretstop_gpytorch._default import complete_priors, default_kernel, default_likelihood
from regretstop_gpytorch._torch import seeded, to_numpy

Build = Callable[[Tensor, Tensor], Any]
# Relative: what single precision leaves of numbers that are equal.
_TOLERANCE = 1e-6


class Modules(gpytorch.Module):
    """Copies of a kernel, a mean and a likelihood in one module, so that their priors and constraints are found.

    Args:
        covar_module: The kernel.
        mean_module: The mean; None for a constant that nothing is known about.
        likelihood: The noise.
        noise_is_declared: Whether the likelihood's own noise is of no interest.

    Attributes:
        mean_is_integrated: Whether the mean is a free constant without a prior. It is then integrated out, with a flat
            prior, and not estimated.
    """

    def __init__(
        self, covar_module: Kernel, mean_module: Mean | None, likelihood: GaussianLikelihood, noise_is_declared: bool
    ) -> None:
        super().__init__()
        self.covar_module = covar_module
        self.mean_module = ConstantMean() if mean_module is None else mean_module
        self.likelihood = likelihood
        self.mean_is_integrated = (
            type(self.mean_module) is ConstantMean
            and any(p.requires_grad for p in self.mean_module.parameters())
            and not list(self.mean_module.named_priors())
        )
        if self.mean_is_integrated:
            self.mean_module.requires_grad_(False)
        if noise_is_declared:
            self.likelihood.requires_grad_(False)

    @property
    def n_estimated(self) -> int:
        """How many numbers are estimated from the data."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad) + self.mean_is_integrated


def modules_from(
    model: Kernel | Build | None,
    mean_module: Mean | None,
    embedding: Embedding,
    columns: Tensor,
    values: Array,
    *,
    noise_is_declared: bool,
) -> tuple[Modules, Array]:
    """Return fresh modules for data, and the values as the model sees them, shape (n,).

    Args:
        model: None for the native kernel, a kernel, or a function that builds a model.
        mean_module: The mean, with None or a kernel.
        embedding: How encoded points become columns.
        columns: Shape (n, D), float64, on the device where all is to be.
        values: Shape (n,).
        noise_is_declared: Whether the model's own noise is of no interest.

    Raises:
        ValueError: If the model does not go with the columns, or is not what the bounds can be computed for.
    """
    targets = values
    if model is None or isinstance(model, Kernel):
        kernel = default_kernel(embedding) if model is None else copy.deepcopy(model)
        mean, likelihood = copy.deepcopy(mean_module), default_likelihood()
    else:
        kernel, mean, likelihood, targets = _built(model, columns, values, noise_is_declared)
    modules = Modules(kernel, mean, likelihood, noise_is_declared)
    complete_priors(modules)
    modules.to(columns)
    modules.train()
    _check(modules, columns)
    return modules, targets


def covariance(kernel: Kernel, one: Tensor, other: Tensor) -> Tensor:
    """Return k(x, x'), shape (n, m)."""
    return to_dense(kernel(one, other))


def mean_of(module: Mean, columns: Tensor) -> Tensor:
    """Return the prior mean, shape (n,)."""
    return to_dense(module(columns))  # pyright: ignore[reportArgumentType]


def prior_variance(kernel: Kernel, columns: Tensor) -> float:
    """Return k(x, x), the same for all columns, shape (n, D).

    Raises:
        ValueError: If it is not, or is not a positive number.
    """
    diagonal = to_numpy(to_dense(kernel(columns, diag=True)))
    low, high = float(np.min(diagonal)), float(np.max(diagonal))
    if not (np.all(np.isfinite(diagonal)) and low > 0.0):
        raise ValueError(f"the prior variance must be positive and finite, got {low!r} to {high!r}")
    if high - low > _TOLERANCE * high:
        raise ValueError(
            f"the prior variance must be the same everywhere, got {low:.4g} to {high:.4g}: the bounds are stated in "
            "units of one prior deviation, so divide the kernel by the root of its diagonal"
        )
    return high


def _built(
    build: Build, columns: Tensor, values: Array, noise_is_declared: bool
) -> tuple[Kernel, Mean, GaussianLikelihood, Array]:
    """Return the parts of the model that the user's function builds, and the targets that it holds."""
    y = torch.as_tensor(values).to(columns)
    with torch.enable_grad(), seeded(columns.device):
        built = build(columns.clone(), y[:, None])
    kernel, mean = getattr(built, "covar_module", None), getattr(built, "mean_module", None)
    likelihood, held = getattr(built, "likelihood", None), getattr(built, "train_targets", None)
    if not (isinstance(kernel, Kernel) and isinstance(mean, Mean) and isinstance(held, Tensor)):
        raise ValueError(
            "model must be a kernel, or build an exact GP with covar_module, mean_module, likelihood and "
            f"train_targets; it built {type(built).__name__}"
        )
    if not isinstance(likelihood, GaussianLikelihood):
        if not noise_is_declared:
            raise ValueError(
                f"the model's likelihood must be a GaussianLikelihood, whose noise is one number, got "
                f"{type(likelihood).__name__}; give noise_std where the noise is known"
            )
        likelihood = default_likelihood()
    targets = to_numpy(held)
    if targets.shape != values.shape:
        raise ValueError(f"the model must keep all {len(values)} values as its targets, got shape {targets.shape}")
    built.to(columns)
    built.train()  # BoTorch's models transform their inputs in this mode only
    prior = built.forward(columns)
    expected = covariance(kernel, columns, columns), mean_of(mean, columns)
    if not (_agree(prior.covariance_matrix, expected[0]) and _agree(prior.mean, expected[1])):
        raise ValueError(
            "the model's forward must be its mean_module and covar_module at the inputs as they are: leave out input "
            "transforms (points come from the unit cube), and put features into the kernel"
        )
    return kernel, mean, likelihood, targets


def _check(modules: Modules, columns: Tensor) -> None:
    n, width = columns.shape
    for part in modules.covar_module.modules():
        # A single column is as good as several to PyTorch, which repeats it.
        if isinstance(part, Kernel) and part.has_lengthscale and width == 1 and (part.ard_num_dims or 1) > 1:
            raise ValueError(
                f"the model does not take points with 1 columns, one per numeric parameter and per category: "
                f"{type(part).__name__} has ard_num_dims={part.ard_num_dims}"
            )
    try:
        shape = tuple(covariance(modules.covar_module, columns, columns).shape)
        mean_shape = tuple(mean_of(modules.mean_module, columns).shape)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"the model does not take points with {width} columns, one per numeric parameter and per category: {error}"
        ) from error
    if shape != (n, n) or mean_shape != (n,):
        raise ValueError(
            f"the model must give one covariance per pair and one mean per point, got shapes {shape} and {mean_shape} "
            f"for {n} points"
        )
    prior_variance(modules.covar_module, columns)


def _agree(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE)


def undo(values: Array, targets: Array) -> tuple[float, float]:
    """Return offset and scale with values = offset + scale × targets, for what a model made of the values.

    Raises:
        ValueError: If the targets are anything else than shifted and stretched values.
    """
    i, j = int(np.argmax(values)), int(np.argmin(values))
    moved = float(targets[i] - targets[j])
    scale = float(values[i] - values[j]) / moved if moved > 0.0 else 1.0
    offset = float(values[i] - scale * targets[i])
    if not np.allclose(offset + scale * targets, values, rtol=_TOLERANCE, atol=_TOLERANCE):
        raise ValueError(
            "the model's outcome transform must be a shift and a stretch, such as Standardize: a bound on the regret "
            "of transformed values is none on that of the objective"
        )
    return offset, scale


def probes(categories: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return points all over a space, shape (n, d), and values, by which a model can be tried before there are data."""
    rng = np.random.default_rng(0)
    points = np.floor(rng.random((16, len(categories))) * np.maximum(categories, 1))
    numeric = categories == 0
    points[:, numeric] = rng.random((16, int(np.sum(numeric))))
    values = rng.standard_normal(16)
    return points, (values - np.mean(values)) / np.std(values)

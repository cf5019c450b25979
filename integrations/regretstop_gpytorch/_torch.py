# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# torch and gpytorch are only partly typed.
"""Work with torch that leaves the user's torch as it was."""

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from regretstop.array import Array
from regretstop.model import MOST_ROUNDING, jitters

# In float32 there is only the search for hyperparameters, and the jitter has to stay below what noise there may be.
_MOST_ROUNDING = {torch.float64: MOST_ROUNDING, torch.float32: 1e3}


@contextmanager
def isolated(device: torch.device, *, gradients: bool = False) -> Generator[None]:
    """Work on a device, with or without gradients, whatever the caller's defaults and modes are.

    The default dtype, which is one for the whole process, and the thread settings are not touched: nothing here
    depends on them.
    """
    with torch.inference_mode(False), torch.set_grad_enabled(gradients):
        if torch.empty(0).device == device:
            yield
        else:  # GPyTorch leaves some tensors to the default device; the context costs time on every call
            with torch.device(device):
                yield


@contextmanager
def seeded(device: torch.device) -> Generator[None]:
    """Make what is drawn inside the same every time, and leave the random state as it was."""
    on_gpu = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if on_gpu else []):
        torch.default_generator.manual_seed(0)
        if on_gpu:  # torch.manual_seed would also reach the other devices
            with torch.cuda.device(device):
                torch.cuda.manual_seed(0)
        yield


def cholesky(covariance: Tensor, prior_variance: float) -> tuple[Tensor, Tensor, float]:
    """Return the lower Cholesky factor, its inverse and their jitter, as `regretstop.linalg.cholesky` does.

    The inverse has no gradient.

    Raises:
        numpy.linalg.LinAlgError: If the largest jitter is not enough, or a number is not finite.
    """
    n, most = len(covariance), _MOST_ROUNDING[covariance.dtype]
    precision = torch.finfo(covariance.dtype).eps
    identity = torch.eye(n, dtype=covariance.dtype, device=covariance.device)
    for relative in jitters(n, precision, most):
        jitter = relative * prior_variance
        factor, info = torch.linalg.cholesky_ex(covariance + jitter * identity)
        if int(info) == 0:
            inverse = torch.linalg.solve_triangular(factor.detach(), identity, upper=False)
            if precision * n * prior_variance * float(inverse.square().sum()) < most:
                return factor, inverse, jitter
    raise np.linalg.LinAlgError("the kernel matrix is not positive definite even with the largest jitter")


def to_numpy(tensor: Tensor) -> Array:
    """Return the tensor as a float64 array of its own."""
    return tensor.detach().to("cpu", torch.float64).numpy().copy()

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# torch and gpytorch are only partly typed.
"""Work with torch that leaves the user's torch as it was."""

import math
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regretstop.posterior import JITTERS

Array = NDArray[np.float64]

# The least pivot, in prior deviations, that rounding has not swallowed: about the root of the precision.
_LEAST_PIVOT = {torch.float64: 1e-8, torch.float32: 3e-4}


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


def cholesky(covariance: Tensor, prior_variance: float) -> tuple[Tensor, float]:
    """Return the lower Cholesky factor and the jitter that it needed, as `regretstop.posterior.cholesky` does.

    Raises:
        numpy.linalg.LinAlgError: If the largest jitter is not enough.
    """
    least = _LEAST_PIVOT[covariance.dtype] * math.sqrt(prior_variance)
    for relative in JITTERS:
        jitter = relative * prior_variance
        noise = torch.full((len(covariance),), jitter, dtype=covariance.dtype, device=covariance.device)
        factor, info = torch.linalg.cholesky_ex(covariance + torch.diag(noise))
        if int(info) == 0 and float(factor.detach().diagonal().min()) > least:
            return factor, jitter
    raise np.linalg.LinAlgError("the kernel matrix is not positive definite even with jitter 1e-4")


def to_numpy(tensor: Tensor) -> Array:
    """Return the tensor as a float64 array of its own."""
    return tensor.detach().to("cpu", torch.float64).numpy().copy()

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
"""From what the user gave and the observations to a posterior."""

import copy
import math
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from gpytorch.kernels import Kernel
from gpytorch.means import Mean
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.checks import check_number_or
from regretstop.model import MOST_NOISE, Embedding, Fit, Standardized, merge_duplicates, standardize, thinned
from regretstop_gpytorch._density import Density, settle
from regretstop_gpytorch._modules import Build, Modules, modules_from, prior_variance, probes, undo
from regretstop_gpytorch._posterior import GPyTorchPosterior
from regretstop_gpytorch._prior import Prior
from regretstop_gpytorch._torch import isolated


class Recipe:
    """What `GPyTorchSurrogate` was given, checked and copied; its arguments are described there."""

    def __init__(
        self,
        *,
        model: Kernel | Build | None,
        mean_module: Mean | None,
        noise_std: float | Literal["learned"],
        hyperparameters: Literal["map", "fixed"],
        device: str | torch.device | None,
        dtype: torch.dtype | None,
    ) -> None:
        is_built = _is_built(model)
        if not (mean_module is None or isinstance(mean_module, Mean)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"mean_module must be a GPyTorch mean, got {mean_module!r}")
        if is_built and mean_module is not None:
            raise ValueError(f"a model that is built brings its own mean: leave out mean_module={mean_module!r}")
        check_number_or("noise_std", noise_std, "learned")
        if hyperparameters not in ("map", "fixed"):
            raise ValueError(f"hyperparameters must be 'map' or 'fixed', got {hyperparameters!r}")
        if hyperparameters == "fixed" and (model is None or noise_std == "learned"):
            raise ValueError(
                "hyperparameters='fixed' needs a model with its numbers, and noise_std as a number; "
                f"got model={model!r}, noise_std={noise_std!r}"
            )
        if dtype not in (None, torch.float32, torch.float64):
            raise ValueError(f"dtype must be torch.float64 or torch.float32, got {dtype!r}")
        # Copies: what becomes of the user's modules must not change a search that is under way.
        with torch.inference_mode(False):
            self._model = model if is_built else copy.deepcopy(model)
            self._mean_module = copy.deepcopy(mean_module)
        self._noise_std = None if isinstance(noise_std, str) else float(noise_std)
        self.is_declared = hyperparameters == "fixed"
        self._device = None if device is None else _checked_device(device)
        self._dtype = dtype or torch.float64

    def n_estimated(self, categories: NDArray[np.intp]) -> int:
        """Return how many numbers a fit estimates; this tries the model on points of such a space."""
        points, values = probes(categories)
        embedding = Embedding(categories)
        data = Standardized(values, 0.0, 1.0, 0, has_spread=True)
        with isolated(self._where()):
            modules, _ = self._modules(embedding, embedding(points), data)
        return 0 if self.is_declared else modules.n_estimated

    def fit(self, points: Array, values: Array, categories: NDArray[np.intp], sign: float) -> Fit:
        """Return the posterior."""
        embedding = Embedding(categories)
        columns = embedding(points)
        with isolated(self._where(), gradients=True):
            if self.is_declared:
                prior, data = self._declared(embedding, columns, values, sign)
                noise_std = self._noise(data.scale)
            else:
                prior, noise_std, data = self._estimated(embedding, columns, values)
        merged, means, repeats, _ = merge_duplicates(points, data.values, np.ones(len(values)))
        posterior = GPyTorchPosterior(
            merged, means, repeats, prior=prior, embedding=embedding, noise_std=noise_std or 0.0, device=self._where()
        )
        return Fit((posterior,), data)

    def _declared(self, embedding: Embedding, columns: Array, values: Array, sign: float) -> tuple[Prior, Standardized]:
        as_given = Standardized(sign * values, 0.0, 1.0, 0, has_spread=True)
        modules, _ = self._modules(embedding, columns, as_given)
        modules.requires_grad_(False)
        unit = math.sqrt(prior_variance(modules.covar_module, self._tensor(columns)))
        prior = Prior(modules.covar_module, modules.mean_module, 1.0, unit, sign)
        return prior, Standardized(values / unit, 0.0, unit, 0, has_spread=True)

    def _estimated(self, embedding: Embedding, columns: Array, values: Array) -> tuple[Prior, float, Standardized]:
        modules, data = self._modules(embedding, columns, standardize(values))
        noise_std = self._noise(data.scale)
        subset = thinned(len(values))
        settle(Density(modules.to(self._dtype), columns[subset], data.values[subset], noise_std))
        modules.double().requires_grad_(False)
        if noise_std is None:
            noise_std = math.sqrt(float(modules.likelihood.noise))
        prior_std = math.sqrt(prior_variance(modules.covar_module, self._tensor(columns)))
        mean_module = None if modules.mean_is_integrated else modules.mean_module
        return Prior(modules.covar_module, mean_module, prior_std), noise_std, data

    def _modules(self, embedding: Embedding, columns: Array, data: Standardized) -> tuple[Modules, Standardized]:
        """Return fresh modules, and the data in the units that the model keeps its targets in."""
        modules, targets = modules_from(
            self._model,
            self._mean_module,
            embedding,
            self._tensor(columns),
            data.values,
            noise_is_declared=self._noise_std is not None,
        )
        offset, scale = undo(data.values, targets)
        if self.is_declared and (offset, scale) != (0.0, 1.0):
            raise ValueError(
                "hyperparameters='fixed' declares the model in the objective's units, so it must not transform the "
                "outcomes: a transform that is learned from them is not declared"
            )
        return modules, replace(
            data, values=targets, offset=data.offset + offset * data.scale, scale=data.scale * scale
        )

    def _noise(self, scale: float) -> float | None:
        """Return the declared σ in standardised units, None where it is learned."""
        return None if self._noise_std is None else min(self._noise_std / scale, MOST_NOISE)

    def _where(self) -> torch.device:
        if self._device is None:
            return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else _CPU
        return self._device

    def _tensor(self, array: Array) -> torch.Tensor:
        return torch.tensor(array, dtype=torch.float64, device=self._where())


_CPU = torch.device("cpu")


def _is_built(model: object) -> bool:
    """Return whether the model is a function that builds one.

    Raises:
        ValueError: If it is neither that nor a kernel nor None.
    """
    if model is None or isinstance(model, Kernel):
        return False
    if not callable(model) or isinstance(model, type | torch.nn.Module):
        raise ValueError(f"model must be a kernel, or a function of x and y that builds a model, got {model!r}")
    return True


def _checked_device(device: str | torch.device) -> torch.device:
    try:
        checked = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must name a CPU or CUDA device, got {device!r}") from error
    if checked.type not in ("cpu", "cuda"):  # others have no float64, or compute nothing
        raise ValueError(f"device must name a CPU or CUDA device, got {device!r}")
    if checked.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device must be there, got {device!r} where CUDA is not available")
    return checked

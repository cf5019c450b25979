"""How strong the warp of a best possible value is: docs/theory.md, A declared range."""

import math
from typing import Literal

import numpy as np

from regretstop.array import Array
from regretstop.model._hyperparameters import TrainingData, find_modes, fixed_starts
from regretstop.model._kernels import Embedding, Kernel
from regretstop.model._likelihood import HyperparameterDensity
from regretstop.model._standardize import standardize
from regretstop.model._warp import LogWarp

# The warp is that of the last of 8, 16, 32, 64 and 128 observations: where it changes all that is modelled does.
_FIRST, _LAST = 8, 128
# c, in how far the first observations are from the best possible value: from a warp that is felt to next to none. A
# stronger one, 0.03, made bounds on recorded jobs smaller by a tenth more, and of a noisy score that happened to be the
# best possible one an outlier five times as far as the model expected.
_SHIFTS = (0.3, 1.0, 3.0, 10.0)
_MIDDLE = 1.0
# Of log densities: a difference that one would see by chance.
_BY_CHANCE = 2.0


def warp_checkpoint(n: int) -> int:
    """Return how many of n observations the warp is chosen from."""
    return n if n < _FIRST else min(_FIRST << int(math.log2(n / _FIRST)), _LAST)


def choose_warp(
    kernel: Kernel, noise_std: float | Literal["learned"], data: TrainingData, best: float
) -> LogWarp | None:
    """Return the strongest warp that the data do not speak against; None where they are all at the best value.

    That values bend towards the best possible one is what it is declared for. Data object where the density at the mode
    of the hyperparameters, of the values before the warp, is lower than under a weaker warp by more than chance.

    Args:
        kernel: The kernel family.
        noise_std: As of the surrogate: "learned" or 0.
        data: As many observations as `warp_checkpoint` says.
        best: The best possible value of the maximised objective.
    """
    gaps = np.maximum(best - data.values[:_FIRST], 0.0)
    unit = float(np.median(gaps)) or float(np.max(gaps))
    if unit <= 0.0:
        return None
    if len(data.values) < _FIRST:
        return LogWarp(best, _MIDDLE * unit)
    kept = data.values >= data.standardized.fence  # what is raised to a fence has no density
    warps = [LogWarp(best, shift * unit) for shift in _SHIFTS]
    points, values = data.points[kept], data.values[kept]
    found = [_log_density(kernel, noise_std, points, values, data.embedding, warp) for warp in warps]
    return next(warp for warp, each in zip(warps, found, strict=True) if each >= max(found) - _BY_CHANCE)


def _log_density(
    kernel: Kernel,
    noise_std: float | Literal["learned"],
    points: Array,
    values: Array,
    embedding: Embedding,
    warp: LogWarp,
) -> float:
    """Return the log density of values before the warp, at the mode of the hyperparameters, up to a constant."""
    data = standardize(warp(values))
    if not data.has_spread:
        return -math.inf
    known = None if noise_std == "learned" else float(noise_std)
    density = HyperparameterDensity(points, data.values, kernel=kernel, embedding=embedding, noise_std=known)
    lowest = float(find_modes(density, *fixed_starts(density)).values[0])
    return float(np.sum(warp.log_slopes(values))) - len(values) * math.log(data.scale) - lowest

# pyright: reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# scikit-optimize is not typed.
"""What scikit-optimize's results say, in the words of the core."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from regretstop import Categorical, Float, Int, Observation
from regretstop.spaces import Parameter


def names_of(dimensions: Sequence[Any]) -> list[str]:
    """Return a name for each dimension, its own or x0, x1, …; numbered if they would not be distinct."""
    names = [dimension.name or f"x{i}" for i, dimension in enumerate(dimensions)]
    return names if len(set(names)) == len(names) else [f"{i}: {name}" for i, name in enumerate(names)]


def parameters_of(dimensions: Sequence[Any]) -> dict[str, Parameter]:
    """Return the dimensions as parameters, in their order.

    Only what the user declared is read. The transform of a dimension is not: it depends on the optimizer, which sets
    it even on dimensions that were made for another one.

    Raises:
        ValueError: If a dimension is of an unknown kind, or has a range that the core refuses.
    """
    return {name: _parameter(name, d) for name, d in zip(names_of(dimensions), dimensions, strict=True)}


def _parameter(name: str, dimension: Any) -> Parameter:
    from skopt import space

    try:
        match dimension:
            case space.Real():
                return Float(dimension.low, dimension.high, log=dimension.prior == "log-uniform")
            case space.Integer():
                return Int(dimension.low, dimension.high, log=dimension.prior == "log-uniform")
            case space.Categorical():
                return Categorical(dimension.categories)
            case _:
                raise ValueError(f"it is of unknown kind: {dimension!r}")
    except ValueError as error:
        raise ValueError(f"dimension {name!r} cannot be modelled: {error}") from error


def observations_of(result: Any) -> list[Observation]:
    """Return the evaluations in order, numbered by their place in `result.x_iters`.

    The result's own list grows while the search goes on: nothing of it is kept.
    """
    names = names_of(result.space.dimensions)
    return [
        Observation(dict(zip(names, x, strict=False)), _as_float(value), number)
        for number, (x, value) in enumerate(zip(result.x_iters, np.asarray(result.func_vals).tolist(), strict=True))
    ]


def _as_float(value: Any) -> float:
    """Return a value as a float; NaN if it is a number without order or beyond range, which scikit-optimize lets in."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan

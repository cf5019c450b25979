"""Small spaces, random histories on them, and optimizers that were told them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from regretstop import GPUCB, Categorical, Float, GaussianProcess, Int, Matern52, Space
from regretstop.model import Kernel

FINITE = {
    "twelve integers": Space({"x": Int(0, 11)}),
    "a table": Space({"x": Int(0, 4), "y": Int(0, 3)}),
    "integers and categories": Space({"n": Int(1, 4), "c": Categorical(["a", "b", "c"])}),
}
INFINITE = {
    "a line": Space({"x": Float(0, 1)}),
    "a square": Space({"x": Float(0, 1), "y": Float(1e-3, 1, log=True)}),
    "a line and categories": Space({"x": Float(0, 1), "c": Categorical(["a", "b"])}),
}
SPACES = FINITE | INFINITE


@dataclass(frozen=True)
class History:
    """Parameters and values, in order."""

    space: Space
    params: Sequence[dict[str, Any]]
    values: Sequence[float]

    def told(self, **options: Any) -> GPUCB:
        """Return a GPUCB that was told this history."""
        optimizer = GPUCB(self.space, **{"seed": 0} | options)
        for params, value in zip(self.params, self.values, strict=True):
            optimizer.tell(params, value)
        return optimizer

    def with_values(self, values: Sequence[float]) -> "History":
        return replace(self, values=[float(v) for v in values])


def random_points(space: Space, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n encoded points of the space, shape (n, d)."""
    return space.snap(rng.random((n, space.dim)) * np.maximum(space.categories, 1) - 0.5 * (space.categories > 0))


def random_history(space: Space, n: int, seed: int, noise_std: float = 0.1) -> History:
    """Return n noisy values of a random sum of waves at random points."""
    rng = np.random.default_rng(seed)
    points = random_points(space, n, rng)
    frequencies = 3.0 * rng.standard_normal((4, space.dim))
    phases = rng.uniform(0.0, 2.0 * np.pi, 4)
    values = np.cos(points @ frequencies.T + phases) @ (0.7 * rng.standard_normal(4))
    values += noise_std * rng.standard_normal(n)
    return History(space, [space.decode(point) for point in points], [float(v) for v in values])


@st.composite
def histories(draw: st.DrawFn, spaces: dict[str, Space] = SPACES, least: int = 6, most: int = 12) -> History:
    """Random histories; six observations are enough for estimated hyperparameters in two dimensions."""
    name = draw(st.sampled_from(sorted(spaces)))
    return random_history(spaces[name], draw(st.integers(least, most)), draw(st.integers(0, 2**32 - 1)))


def declared(
    space: Space,
    *,
    kernel: type[Kernel] = Matern52,
    lengthscale: float = 0.3,
    outputscale: float = 1.0,
    noise_std: float = 0.1,
    mean: float = 0.0,
) -> dict[str, Any]:
    """Return the options of a GPUCB that knows its hyperparameters."""
    known = kernel(lengthscales=[lengthscale] * space.dim, outputscale=outputscale)
    return {"surrogate": GaussianProcess(hyperparameters="fixed", kernel=known, noise_std=noise_std, mean=mean)}


def options_of(treatment: str, space: Space, **numbers: Any) -> dict[str, Any]:
    """Return the options of a GPUCB for "fixed", "map" or "posterior"."""
    return declared(space, **numbers) if treatment == "fixed" else estimated(hyperparameters=treatment)


def estimated(**numbers: Any) -> dict[str, Any]:
    """Return the options of a GPUCB with this model."""
    return {"surrogate": GaussianProcess(**numbers)}

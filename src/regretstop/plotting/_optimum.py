"""Where the optimum can still be: slices of the model, and the maximisers of draws from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from regretstop.array import Array
from regretstop.checks import check_between
from regretstop.model import HasPaths
from regretstop.optimizer import GPUCB
from regretstop.search import maximize_paths
from regretstop.snapshot import Snapshot
from regretstop.spaces import Categorical, Float, Int, Parameter, Space

# Of a share of 5 % to within 0.014 (a deviation), which is about what the bars can show.
_N_PATHS, _N_STARTS = 256, 1
# Relative to ε, or to the scale of the values where no ε is known: no path is climbed for the sake of less.
_TOLERANCE = 1e-3
# Points along an axis: of a line, and of each side of a map.
_LINE, _SIDE = 201, 41
# More panels than this say less than fewer.
_MOST_AXES = 12
# Bars along an axis of numbers; one for each value where these are no more.
_N_BARS = 24


@dataclass(frozen=True)
class Axis:
    """A parameter as the axis of a plot.

    Attributes:
        name: Of the parameter.
        positions: Where its values are drawn: a number is where it is, a choice at its index.
        choices: The choices in words; empty for a number.
        log: Whether numbers are drawn on a logarithmic axis.
        edges: Of the bars along it, shape (m + 1,).
    """

    name: str
    positions: Array
    choices: tuple[str, ...]
    log: bool
    edges: Array


@dataclass(frozen=True)
class Optimum:
    """Where the optimum can still be, and the model there, in the objective's units and sign.

    Attributes:
        axes: The parameters that are shown: one or two of a slice, or those of which marginals are shown.
        n_hidden: How many further parameters there are.
        mean: Posterior mean over a slice, shape (m,) or (m, k) with the first axis first; None where marginals are
            shown.
        std: Posterior deviation of the objective, without noise, likewise.
        is_whole: Whether a slice is all of the space, and does not pass through the incumbent.
        maximisers: Where the maxima of posterior paths are along each axis, shape (number of paths, number of axes);
            none where the model has no paths.
        gains: By how much each of these maxima is better than the incumbent.
        epsilon: More than that is worth looking for; NaN where it is not known.
        incumbent: The trial that is compared with: its place along each axis.
        incumbent_number: Its number.
        points: Where the evaluations were, shape (n, number of axes).
        values: What they gave, shape (n,).
        direction: Of the objective.
        objective: What the objective's values are.
    """

    axes: tuple[Axis, ...]
    n_hidden: int
    mean: Array | None
    std: Array | None
    is_whole: bool
    maximisers: Array
    gains: Array
    epsilon: float
    incumbent: Array
    incumbent_number: int
    points: Array
    values: Array
    direction: Literal["maximize", "minimize"]
    objective: str

    @property
    def is_open(self) -> Array:
        """Which of the maximisers are better than the incumbent by more than ε, shape (number of paths,), 0 or 1."""
        return (self.gains > (0.0 if math.isnan(self.epsilon) else self.epsilon)).astype(np.float64)


def optimum_of(
    optimizer: GPUCB,
    *,
    epsilon: float | None = None,
    incumbent: int | None = None,
    params: Sequence[str] | None = None,
    objective: str = "objective",
) -> Optimum:
    """Return where the optimum of a search can still be.

    Args:
        optimizer: The search with its history.
        epsilon: ε in the objective's units; None where it is not known.
        incumbent: Number of the trial to compare with; that with the best posterior mean if None.
        params: One or two parameters for a slice of the space through the incumbent. By default the whole space if it
            has one or two that vary, else the marginals of all, or of the twelve that are most open.
        objective: What the objective's values are, for the axes.

    Raises:
        ValueError: If nothing can be fitted, with the reason; if there is no such parameter; or if there are to be
            marginals and the model has no paths.
    """
    space = optimizer.space
    if epsilon is not None:
        check_between("epsilon", epsilon, 0)
    unknown = [name for name in params or () if name not in space.names]
    if unknown or (params is not None and not (0 < len(params) <= 2 and len(set(params)) == len(params))):
        raise ValueError(f"params must be one or two of {', '.join(map(repr, space.names))}, got {params!r}")
    snapshot = optimizer.snapshot()
    if snapshot.obstacle is not None:
        raise ValueError(f"where the optimum can be is not known: {snapshot.obstacle}")
    best = _incumbent(snapshot, incumbent)
    maximisers, gains = _maximisers(snapshot, best, epsilon)
    sign = 1.0 if optimizer.direction == "maximize" else -1.0
    if params is None and space.dim > 2:
        if not len(gains):
            raise ValueError("the surrogate's posterior has no paths, whose maximisers are shown: give params")
        chosen = _most_open(space, maximisers, gains, epsilon)
        mean, std = None, None
        coordinates = [_coordinates(space, j, _LINE) for j in chosen]
    else:
        chosen = [space.names.index(name) for name in params or space.names]
        coordinates = [_coordinates(space, j, _LINE if len(chosen) == 1 else _SIDE) for j in chosen]
        mean, std = _slice(snapshot, best, chosen, coordinates)
        units = snapshot.model.units
        # Half of what is from one deviation below the mean to one above it.
        mean, std = sign * units.values(mean), 0.5 * units.gain(mean - std, 2.0 * std)

    def placed(points: Array) -> Array:
        return np.stack([_positions(space, j, points[:, j]) for j in chosen], axis=1)

    return Optimum(
        axes=tuple(_axis(space, j, along) for j, along in zip(chosen, coordinates, strict=True)),
        n_hidden=space.dim - len(chosen),
        mean=mean,
        std=std,
        is_whole=space.dim == len(chosen),
        maximisers=placed(maximisers),
        gains=gains,
        epsilon=math.nan if epsilon is None else epsilon,
        incumbent=placed(snapshot.data.points[[best]])[0],
        incumbent_number=int(snapshot.data.numbers[best]),
        points=placed(snapshot.data.points),
        values=snapshot.data.values,
        direction=optimizer.direction,
        objective=objective,
    )


def _incumbent(snapshot: Snapshot, number: int | None) -> int:
    """Return the index of the trial to compare with."""
    found = np.flatnonzero(snapshot.data.numbers == number)
    if number is not None and len(found):
        return int(found[0])
    means = [posterior.mean_std(snapshot.data.points)[0] for posterior in snapshot.model.posteriors]
    return int(np.argmax(np.mean(means, axis=0)))


def _maximisers(snapshot: Snapshot, best: int, epsilon: float | None) -> tuple[Array, Array]:
    """Return the encoded maximisers of posterior paths, shape (n, d), and their gains in the objective's units."""
    rng = np.random.default_rng([snapshot.model.maximizers[0].seed, snapshot.data.n_observations])
    share = -(-_N_PATHS // len(snapshot.model.posteriors))
    points, gains = [np.zeros((0, snapshot.space.dim))], [np.zeros(0)]
    units, at = snapshot.model.units, snapshot.mean_of(best)
    for posterior, maximizer in zip(snapshot.model.posteriors, snapshot.model.maximizers, strict=True):
        if isinstance(posterior, HasPaths):
            maxima = maximize_paths(
                posterior.paths(share, rng),
                maximizer,
                snapshot.data.points[[best]],
                rng,
                n_starts=_N_STARTS,
                tolerance=_TOLERANCE * (1.0 if epsilon is None else epsilon / units.slope(at)),
            )
            points.append(maxima.points)
            gains.append(units.gain(maxima.at_anchors[0], maxima.values - maxima.at_anchors[0]))
    return np.vstack(points), np.concatenate(gains)


def _most_open(space: Space, maximisers: Array, gains: Array, epsilon: float | None) -> list[int]:
    """Return the axes along which the maximisers that matter spread most, in the order of the space."""
    if space.dim <= _MOST_AXES:
        return list(range(space.dim))
    is_open = gains > (0.0 if epsilon is None else epsilon)
    spread = np.std(maximisers[is_open] if np.any(is_open) else maximisers, axis=0) / np.maximum(space.categories, 1)
    return sorted(np.argsort(-spread, kind="stable")[:_MOST_AXES].tolist())


def _slice(snapshot: Snapshot, best: int, chosen: Sequence[int], coordinates: Sequence[Array]) -> tuple[Array, Array]:
    """Return mean and deviation of the mixture of the posteriors over a slice through a trial."""
    grid = np.stack(np.meshgrid(*coordinates, indexing="ij"), axis=-1)
    points = np.tile(snapshot.data.points[best], (grid[..., 0].size, 1))
    points[:, list(chosen)] = grid.reshape(-1, len(chosen))
    moments = [posterior.mean_std(points) for posterior in snapshot.model.posteriors]
    mean = np.mean([mean for mean, _ in moments], axis=0)
    variance = np.mean([std**2 + (each - mean) ** 2 for each, std in moments], axis=0)
    return mean.reshape(grid.shape[:-1]), np.sqrt(variance).reshape(grid.shape[:-1])


def _coordinates(space: Space, j: int, n: int) -> Array:
    """Return coordinates along an axis: of all its values, or of n of them where they are more."""
    if space.counts[j] <= n:
        return space.axis_values(j)
    even = np.tile(space.snap(np.full((1, space.dim), 0.5)), (n, 1))
    even[:, j] = np.linspace(0.0, 1.0, n)
    return np.unique(space.snap(even)[:, j])


def _positions(space: Space, j: int, coordinates: Array) -> Array:
    """Return where coordinates along an axis are drawn."""
    parameter = space[space.names[j]]
    if isinstance(parameter, Categorical):
        return np.rint(coordinates)
    return np.array([float(parameter.decode(u)) for u in coordinates.tolist()])


def _axis(space: Space, j: int, coordinates: Array) -> Axis:
    name = space.names[j]
    parameter: Parameter = space[name]
    log = isinstance(parameter, Float | Int) and parameter.log
    choices = tuple(map(str, parameter.choices)) if isinstance(parameter, Categorical) else ()
    positions = _positions(space, j, coordinates)
    low, high = float(positions[0]), float(positions[-1])
    if space.counts[j] <= _N_BARS:
        between = np.sqrt(positions[1:] * positions[:-1]) if log else 0.5 * (positions[1:] + positions[:-1])
        first, last = (
            (positions[0] ** 2 / between[0], positions[-1] ** 2 / between[-1])
            if log
            else (2.0 * positions[0] - between[0], 2.0 * positions[-1] - between[-1])
        )
        edges = np.concatenate([[first], between, [last]])
    else:
        edges = np.geomspace(low, high, _N_BARS + 1) if log else np.linspace(low, high, _N_BARS + 1)
    return Axis(name, positions, choices, log, edges)


def bars(optimum: Optimum, k: int) -> tuple[Array, Array, Array]:
    """Return how the maximisers are spread along the k-th axis.

    Returns:
        The edges of m bars, and the shares of the paths in each, shape (m,), that are better than the
        incumbent by more than ε, and that are not. All shares add up to 1.
    """
    edges = optimum.axes[k].edges
    is_open, n = optimum.is_open > 0.0, max(len(optimum.gains), 1)
    places = np.clip(optimum.maximisers[:, k], edges[0], edges[-1])
    return (
        edges,
        np.histogram(places[is_open], edges)[0] / n,
        np.histogram(places[~is_open], edges)[0] / n,
    )


def labels(optimum: Optimum) -> Mapping[str, Any]:
    """Return what both backends write: about the paths, the incumbent and the slice."""
    better = "better" if math.isnan(optimum.epsilon) else f"better by more than ε = {optimum.epsilon:.4g}"
    chance = float(np.mean(optimum.is_open)) if len(optimum.gains) else math.nan
    return {
        "open": f"maximum of a path, {better} ({chance:.0%} of {len(optimum.gains)})",
        "settled": "maximum of a path, not so much better",
        "incumbent": f"trial {optimum.incumbent_number}",
        "mean": "posterior mean" if optimum.is_whole else f"posterior mean through trial {optimum.incumbent_number}",
        "band": "± 2 deviations",
    }

"""The global maximum of an acquisition over a mixed space.

An acquisition is a function of the posterior mean and deviation. The deviation and mean of the candidate points are
computed once per posterior and serve every acquisition: a rule that raises its width a little, or the sampler that
asks for the next point, pays for the gradient ascent only.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model import Posterior
from regretstop.search._acquisition import Acquisition
from regretstop.search._moves import climbable, moves, nearest_new
from regretstop.search._visited import NOTHING, Visited
from regretstop.spaces import Space, sobol_points

How = Literal["enumerated", "searched"]

# About ten times what a search predicts, and then the maximum is certain.
_ENUMERATE_UP_TO = 10_000
# Powers of two, for which Sobol points are balanced. None of the four numbers matters much: of 96 posteriors of random
# data in 2 to 10 dimensions one had a maximum of μ + 2 σ that was over 0.01 s short (and not by 0.1) of the best that a
# quarter of each, up to eight times of it, led to.
_N_SOBOL = 512
# Where little is known the maximum is often on a face of the cube, where an inner point is rarely near.
_N_FACES = 256
# In deviations: beyond it a draw goes once in 3.5 million, Q(5) = 2.9e-7.
_SURE = 5.0
# In lengthscales: two values of a draw so far apart along an axis are correlated by 0.97 (Matérn-5/2).
_APART = 0.2
_N_CENTERS = 8
_N_AROUND = 16
# Around the best data: from a tenth of a lengthscale to close to all of it.
_SPREADS = (0.05, 0.2)
# Relative gains for which no ascent goes on: of all starts together, and of the best of them alone, whose value enters
# the bound.
_COARSE, _FINE = 1e-5, 1e-10
# Candidates that are predicted at a time: their covariances with some hundred data stay in the cache.
_BATCH = 256
# Each sweep raises the value, so that it comes to an end: this bounds the work.
_MAX_SWEEPS = 60


@dataclass(frozen=True)
class _Effort:
    """How hard a search that does not enumerate looks: of every how many candidates, and by which ascents."""

    stride: int
    n_starts: int
    n_moved: int
    max_iterations: int


_THOROUGH = _Effort(stride=1, n_starts=8, n_moved=3, max_iterations=40)
# For each of several hyperparameter samples. Fewer starts would cost less, but miss the far maximum that keeps UCBbr's
# bound up while the best data have one of nearly the same height.
_BRISK = _Effort(stride=3, n_starts=8, n_moved=1, max_iterations=10)


@dataclass(frozen=True)
class Maximum:
    """Where an acquisition is largest.

    Attributes:
        point: Encoded, shape (d,).
        value: Of the acquisition, standardised.
        mean: Posterior mean there.
        std: Posterior deviation there.
        how: "enumerated" if every point of the space was tried, else "searched".
    """

    point: Array
    value: float
    mean: float
    std: float
    how: How


class Maximizer:
    """Maximises acquisitions of one posterior.

    Args:
        posterior: The posterior.
        space: The space that its points are encoded by.
        observed: Encoded points of the data, shape (n, d); the neighbourhood of the best is searched too.
        seed: Of the Sobol points and of the neighbourhood.
        like: A search of a posterior of the same data with other hyperparameters: its candidates serve this one too,
            thinned, and the ascents are shorter.
    """

    def __init__(
        self, posterior: Posterior, space: Space, observed: Array, seed: int, like: "Maximizer | None" = None
    ) -> None:
        self.posterior = posterior
        self.space = space
        self._observed = observed
        self.seed = seed
        self._like = like
        self._effort = _THOROUGH if like is None else _BRISK
        self._enumerated = space.size <= _ENUMERATE_UP_TO
        self._memo: dict[Acquisition, Maximum] = {}
        self._hills: dict[Acquisition, Array] = {}
        self._numeric = space.categories == 0
        self._discrete = np.isfinite(space.counts)

    @cached_property
    def candidates(self) -> Array:
        """Encoded points where a search begins, or all of an enumerated space, shape (m, d)."""
        if self._like is not None:
            candidates = self._like.candidates
            return candidates if self._enumerated else candidates[:: self._effort.stride]
        return self.space.enumerate() if self._enumerated else self._spread_out(self._observed, self.seed)

    @cached_property
    def _predicted(self) -> tuple[Array, Array]:
        """Posterior mean and deviation of the candidates, shape (m,) each."""
        return _in_batches(self.posterior, self.candidates)

    @property
    def how(self) -> How:
        """Whether the candidates are all points of the space."""
        return "enumerated" if self._enumerated else "searched"

    def promising(self, sqrt_beta: float, n: int) -> Array:
        """Return the candidates where a draw of the posterior can have its maximum, shape (m, d).

        A candidate is out if even far above its mean it stays below what another one has far below its own; of a space
        that is not enumerated the n of the largest μ + √β σ are in.
        """
        mean, std = self._predicted
        upper, lower = mean + _SURE * std, mean - _SURE * std
        possible = np.flatnonzero(upper >= np.max(lower))
        if not self._enumerated:
            order = np.argsort(-(mean + sqrt_beta * std)[possible], kind="stable")
            possible = possible[order[:n]]
        return self.candidates[possible]

    def near(self, one: Array, other: Array) -> NDArray[np.bool_]:
        """Return which points would climb the same hill: within a good part of a lengthscale; shape (m, k)."""
        apart = np.where(self._numeric, _APART * np.minimum(self.posterior.lengthscales, 1.0), 0.0)
        return np.all(np.abs(one[:, None, :] - other[None, :, :]) <= apart, axis=2)

    def maximize(self, acquisition: Acquisition) -> Maximum:
        """Return the largest value found and where."""
        if acquisition not in self._memo:
            self._memo[acquisition] = self._maximize(acquisition)
        return self._memo[acquisition]

    def hills(self, acquisition: Acquisition) -> Array:
        """Return where ascents from the best candidates end, with discrete axes as continuous ones, shape (m, d)."""
        if acquisition not in self._hills:
            starts = self._starts(acquisition)
            self._hills[acquisition] = self._climb(acquisition, starts, self._numeric, _COARSE)
        return self._hills[acquisition]

    def maximize_new(self, acquisition: Acquisition, visited: Visited) -> Maximum | None:
        """Return the largest value found at a point that was not visited, and where; None if no such point is left."""
        best = self._maximize(acquisition, visited)
        if best.value == -np.inf and not self._enumerated:
            left = nearest_new(self.space, best.point, visited)
            if len(left):
                best = self._best(acquisition, left, *self.posterior.mean_std(left))
        return best if best.value > -np.inf else None

    def best_candidate(self, acquisition: Acquisition) -> Maximum:
        """Return the best of the candidates: the maximum itself where the space is enumerated."""
        return self._best(acquisition, self.candidates, *self._predicted)

    def _maximize(self, acquisition: Acquisition, visited: Visited = NOTHING) -> Maximum:
        """Return the best point found; one of those visited only if no other was found, with the value −∞."""
        if self._enumerated:
            return self._best(acquisition, self.candidates, *self._predicted, visited)
        effort = self._effort
        starts = self._starts(acquisition, visited)
        points = self._climb(acquisition, starts, self._numeric, _COARSE)
        if np.any(self._discrete):
            # The ascent treated integers as continuous: go back to the lattice, then move along it.
            points = self.space.snap(points)
            order = np.argsort(-self._evaluate(acquisition, points, visited))[: effort.n_moved]
            points = np.array([self._move(acquisition, points[i], visited) for i in order])
        # The joint ascent can throw a start far from its hill: the starts themselves stay in the running.
        finalists = np.vstack([points, self.space.snap(starts)])
        best = finalists[[int(np.argmax(self._evaluate(acquisition, finalists, visited)))]]
        # Alone: the steps of the joint ascent are those that suit all starts.
        finalists = np.vstack([best, self._climb(acquisition, best, self._numeric & ~self._discrete, _FINE)])
        return self._best(acquisition, finalists, *self.posterior.mean_std(finalists), visited)

    def _starts(self, acquisition: Acquisition, visited: Visited = NOTHING) -> Array:
        values = _values(acquisition, self.candidates, *self._predicted, visited)
        return self.candidates[self._distinct_best(values, self.candidates, self._effort.n_starts)]

    def _spread_out(self, observed: Array, seed: int) -> Array:
        sobol = np.vstack([sobol_points(self.space, _N_SOBOL, seed), self._faces(seed)])
        if len(observed) == 0:
            return sobol
        mean, _ = self.posterior.mean_std(observed)
        centers = observed[self._distinct_best(mean, observed, _N_CENTERS)]
        rng = np.random.default_rng(seed)
        steps = rng.standard_normal((len(centers), _N_AROUND, centers.shape[1]))
        steps *= np.resize(_SPREADS, _N_AROUND)[:, None] * np.minimum(self.posterior.lengthscales, 1.0)
        around = (centers[:, None, :] + np.where(self._numeric, steps, 0.0)).reshape(-1, centers.shape[1])
        # The centres themselves: a narrow peak at the data must not be missed by the noise of the neighbours.
        return np.vstack([sobol, self.space.snap(centers), self.space.snap(around)])

    def _faces(self, seed: int) -> Array:
        """Return points with each numeric coordinate pushed to an end of its range with probability ½."""
        points = sobol_points(self.space, _N_FACES, seed + 1)
        rng = np.random.default_rng(seed)
        pushed = self._numeric & (rng.random(points.shape) < 0.5)
        return self.space.snap(np.where(pushed, np.round(points), points))

    def _distinct_best(self, values: Array, points: Array, n: int) -> NDArray[np.intp]:
        """Return the indices of the n largest values whose points differ by a good part of a lengthscale.

        Closer ones would climb the same hill.
        """
        order = np.argsort(-values, kind="stable")[: 16 * n]
        ranked = points[order]
        chosen: list[np.intp] = []
        left = np.ones(len(order), dtype=bool)
        while len(chosen) < n and np.any(left):
            best = np.argmax(left)
            chosen.append(order[best])
            left &= ~self.near(ranked, ranked[best : best + 1])[:, 0]
        return np.array(chosen)

    def _evaluate(self, acquisition: Acquisition, points: Array, visited: Visited) -> Array:
        return _values(acquisition, points, *self.posterior.mean_std(points), visited)

    def _best(
        self, acquisition: Acquisition, points: Array, mean: Array, std: Array, visited: Visited = NOTHING
    ) -> Maximum:
        """Return the best of the points with these predictions."""
        values = _values(acquisition, points, mean, std, visited)
        best = int(np.argmax(values))
        return Maximum(points[best], float(values[best]), float(mean[best]), float(std[best]), self.how)

    def _climb(self, acquisition: Acquisition, starts: Array, free: NDArray[np.bool_], tolerance: float) -> Array:
        """Run one L-BFGS-B over all starts at once: the sum of their values separates, its evaluation is shared."""
        from scipy.optimize import Bounds, minimize  # slow to import, and not needed to import the package

        moving = climbable(self.space, starts) & free
        if not np.any(moving):
            return starts
        low, high = (np.broadcast_to(corner, starts.shape)[moving] for corner in (self.space.low, self.space.high))
        points = starts.copy()

        def negative(flat: Array) -> tuple[float, Array]:
            points[moving] = flat
            mean, std, mean_gradient, std_gradient = self.posterior.mean_std_gradient(points)
            by_mean, by_std = acquisition.slopes(mean, std)
            gradient = by_mean[:, None] * mean_gradient + by_std[:, None] * std_gradient
            return -float(np.sum(acquisition(mean, std))), -gradient[moving]

        result = minimize(
            negative,
            points[moving],
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": self._effort.max_iterations, "ftol": tolerance},
        )
        points[moving] = np.asarray(result.x)
        return points

    def _move(self, acquisition: Acquisition, point: Array, visited: Visited) -> Array:
        """Change one discrete axis at a time while that helps."""
        value = float(self._evaluate(acquisition, point[None], visited)[0])
        for _ in range(_MAX_SWEEPS):
            near = moves(self.space, point)
            values = self._evaluate(acquisition, near, visited)
            best = int(np.argmax(values))
            if values[best] <= value:
                break
            point, value = near[best], float(values[best])
        return point


def _values(acquisition: Acquisition, points: Array, mean: Array, std: Array, visited: Visited) -> Array:
    """Return the acquisition at points with these predictions, −∞ where they were visited; shape (m,)."""
    return np.where(visited.among(points), -np.inf, acquisition(mean, std))


def _in_batches(posterior: Posterior, points: Array) -> tuple[Array, Array]:
    parts = [posterior.mean_std(points[i : i + _BATCH]) for i in range(0, len(points), _BATCH)]
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([std for _, std in parts])

"""Places of a space with a face each, chosen at random with a density that is known.

A branch of the space is a cube for each choice of its categories. A face of it extends along some of the numeric axes
that the branch has, and lies at an end of each of the others; the cube itself is one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from regretstop.array import Array
from regretstop.bound._hills import Hill
from regretstop.spaces import Space, scrambled_sobol

# Places of a replicate: a power of two, for which Sobol points are balanced.
N_PLACES = 128
# Half of the places lie around the best data, at so many lengthscales: hills are narrower there than elsewhere.
_NEAR = np.array([0.4, 0.04])
# Of the places, if there are narrow hills: on these.
_ON_HILLS = 0.25
# In lengthscales: a datum so close to the end of an axis is taken to be at it, where hills on that face are.
_AT_END = 0.1
# An axis is free with a probability of at least and at most this, so that no place weighs too much.
_LEAST_FREE, _MOST_FREE = 0.2, 0.95


@dataclass(frozen=True)
class Places:
    """Points on faces of the cube.

    Attributes:
        points: Encoded, shape (m, d).
        varies: Which of the numeric axes vary in the place's branch, shape (m, a).
        is_free: Of the numeric axes, those along which the face extends, shape (m, a).
        is_high: Of the numeric axes that do not, whether the face is at their upper end, shape (m, a).
        log_weights: Log of one by the density with which each was chosen, points measured in lengthscales, shape (m,).
    """

    points: Array
    varies: NDArray[np.bool_]
    is_free: NDArray[np.bool_]
    is_high: NDArray[np.bool_]
    log_weights: Array

    @property
    def n_free(self) -> NDArray[np.intp]:
        """Dimensions of the faces, shape (m,)."""
        return self.is_free.sum(axis=1)

    @property
    def n_numeric(self) -> NDArray[np.intp]:
        """Numeric axes that there are at the places, shape (m,)."""
        return self.varies.sum(axis=1)

    @property
    def order(self) -> NDArray[np.intp]:
        """The numeric axes in the order in which they matter: free ones, others at an end, and the rest; (m, a)."""
        return np.argsort(np.where(self.is_free, 0, np.where(self.varies, 1, 2)), axis=1, kind="stable")

    def take(self, index: NDArray[np.intp]) -> "Places":
        """Return those with these indices."""
        return Places(
            self.points[index], self.varies[index], self.is_free[index], self.is_high[index], self.log_weights[index]
        )


def settings_of(space: Space) -> Places:
    """Return the points of a finite space, none of them on a face along which there would be slopes."""
    none = np.zeros((int(space.size), 0), dtype=bool)
    return Places(space.enumerate(), none, none, none, np.zeros(int(space.size)))


class Faces:
    """Chooses places: half of them anywhere, half around the best data, on faces and with choices like theirs.

    Where there are narrow hills a quarter of all is on these instead. What depends on the branch is an array with the
    branches first: ranges, numbers of choices, the choices.

    Args:
        space: The search space. A discrete axis counts as the interval from its first to its last value.
        lengthscales: ℓ, shape (d,).
        centers: The best data, encoded, shape (m, d), m ≥ 1.
        hills: Hills that are narrow.
        rng: Draws the places.
    """

    def __init__(
        self, space: Space, lengthscales: Array, centers: Array, hills: Sequence[Hill], rng: np.random.Generator
    ) -> None:
        self._rng = rng
        self._sequence: Array | None = None
        self._dim = space.dim
        self.numeric = np.flatnonzero(space.categories == 0)
        self._categorical = np.flatnonzero(space.categories > 0)
        self._n_branches = len(space.branches)
        self._varies = np.array([branch.numeric[self.numeric] for branch in space.branches])
        self._low = np.array([branch.low[self.numeric] for branch in space.branches])
        self._high = np.array([branch.high[self.numeric] for branch in space.branches])
        self._n_choices = np.array([branch.categories[self._categorical] for branch in space.branches])
        self._choices = _table(space, self._categorical, self._n_choices)
        self._lengthscales = lengthscales[self.numeric]
        # Of an axis that does not vary any width will do.
        self._sides = np.where(self._varies, self._high - self._low, 1.0)

        centers = np.repeat(centers, len(_NEAR), axis=0)
        self._centers = centers[:, self.numeric]
        self._branches = space.branch_of(centers)
        self._scales = np.tile(_NEAR, len(centers) // len(_NEAR))[:, None] * self._lengthscales
        width = _cdf((self._high[:, None] - self._centers) / self._scales)
        width -= _cdf((self._low[:, None] - self._centers) / self._scales)
        # Log of the density of a center's points at itself, in lengthscales; shape (B, m, a).
        scales = math.sqrt(2.0 * math.pi) * self._scales / self._lengthscales
        self._log_peaks = -np.log(scales * np.where(self._varies[:, None], width, 1.0))
        self._log_uniform = np.log(self._lengthscales / self._sides)[:, None]
        # The number of a center's own choice among those of each branch, −1 where it is not one; shape (B, m, c).
        is_own = self._choices[:, None] == centers[None, :, self._categorical, None]
        self._own = np.where(is_own.any(axis=3), is_own.argmax(axis=3), -1)
        # With the numbers of their choices.
        chosen = [self._choices[h.branch] == h.point[self._categorical, None] for h in hills]
        self._hills = [(hill, its.argmax(axis=1)) for hill, its in zip(hills, chosen, strict=True)]

    def places(self, n_replicates: int, hills_per_lengthscale: float) -> Places:
        """Return places, 128 a replicate.

        Args:
            n_replicates: How many there are, independent of each other.
            hills_per_lengthscale: Axes are the more often free the more hills they are expected to have.
        """
        a, c, m = len(self.numeric), len(self._categorical), len(self._centers)
        dim = 2 * a + 1 + c + (self._n_branches > 1)
        # One sequence, shifted anew for each replicate: each is unbiased, and they are independent given the sequence.
        if self._sequence is None:
            self._sequence = scrambled_sobol(dim, N_PLACES, self._rng)
        shifts = self._rng.random((n_replicates, 1, dim))
        u = ((self._sequence + shifts) % 1.0).reshape(-1, dim)
        u = np.clip(u, 1e-12, 1.0 - 1e-12)  # kept off 0 and 1, where quantiles are infinite
        of_face, of_point, which, of_choice = u[:, :a], u[:, a : 2 * a], u[:, 2 * a], u[:, 2 * a + 1 : 2 * a + 1 + c]
        on_hill, which = self._split(which)
        source = np.minimum((which * 2 * m).astype(np.intp), m)  # a center, or m for anywhere
        near, is_near = np.minimum(source, m - 1), source < m
        branch = np.zeros(len(u), dtype=np.intp)
        if self._n_branches > 1:
            branch = _kept_or_drawn(u[:, -1], np.where(is_near, self._branches[near], -1), self._n_branches)
        for h, (hill, _) in enumerate(self._hills):
            branch[on_hill == h] = hill.branch

        p_free, p_high = self._face_probabilities(hills_per_lengthscale)
        varies, low, high = self._varies[branch], self._low[branch], self._high[branch]
        is_free = (of_face < p_free[branch, source]) & varies
        is_high = (of_face > 1.0 - p_high[branch, source]) & varies
        center, scale = self._centers[near], self._scales[near]
        below, above = _cdf((low - center) / scale), _cdf((high - center) / scale)
        around = center + scale * np.asarray(ndtri(below + (above - below) * of_point), dtype=np.float64)
        anywhere = low + (high - low) * of_point
        free = np.clip(np.where(is_near[:, None], around, anywhere), low, high)
        own = np.where(is_near[:, None], self._own[branch, near], -1)
        numbers = _kept_or_drawn(of_choice, own, self._n_choices[branch])
        for h, (hill, chosen) in enumerate(self._hills):
            its = on_hill == h
            is_free[its], is_high[its], numbers[its] = hill.is_free, hill.is_high, chosen
            steps = np.asarray(ndtri(of_point[its]), dtype=np.float64) @ hill.factor.T
            free[its] = hill.point[self.numeric] + self._lengthscales * steps
        # What falls out of the cube is a place in vain.
        is_inside = np.all(~is_free | ((low <= free) & (free <= high)), axis=1)
        x = np.where(is_free, np.clip(free, low, high), low + (high - low) * is_high)
        points = np.zeros((len(u), self._dim))
        points[:, self.numeric] = x
        points[:, self._categorical] = self._choices[branch[:, None], np.arange(c), numbers]
        log_density = self._log_density(x, branch, is_free, is_high, numbers, p_free[branch], p_high[branch])
        for hill, chosen in self._hills:
            is_its = (branch == hill.branch) & np.all(numbers == chosen, axis=1)
            is_its &= np.all((is_free == hill.is_free) & (is_high == hill.is_high), axis=1)
            log_density[is_its] = np.logaddexp(log_density[is_its], self._log_density_on(hill, x[is_its]))
        return Places(points, varies, is_free, is_high, np.where(is_inside, -log_density, -np.inf))

    def _split(self, which: Array) -> tuple[NDArray[np.intp], Array]:
        """Return the hill that each place is on, −1 for none, and a uniform number that says what else it is near."""
        if not self._hills:
            return np.full(len(which), -1), which
        on_hill = np.floor(which / _ON_HILLS * len(self._hills)).astype(np.intp)
        is_off = which >= _ON_HILLS
        return np.where(is_off, -1, on_hill), np.where(is_off, (which - _ON_HILLS) / (1.0 - _ON_HILLS), 0.5)

    def _log_density_on(self, hill: Hill, x: Array) -> Array:
        """Return the log density of the places that are chosen on a hill, at points of its face, shape (m,)."""
        z = np.where(hill.is_free, (x - hill.point[self.numeric]) / self._lengthscales, 0.0)
        z = np.linalg.solve(hill.factor, z.T)
        log_peak = -0.5 * hill.is_free.sum() * math.log(2.0 * math.pi) - float(np.linalg.slogdet(hill.factor)[1])
        return math.log(_ON_HILLS / len(self._hills)) + log_peak - 0.5 * (z**2).sum(axis=0)

    def _face_probabilities(self, hills_per_lengthscale: float) -> tuple[Array, Array]:
        """Return with which probability an axis is free, and at its upper end; for each source, shape (B, m + 1, a).

        Around a center half of the choice goes to what it is itself: at an end, or in between.
        """
        odds = hills_per_lengthscale * self._sides[:, None] / self._lengthscales
        p_free = np.asarray(np.clip(odds / (1.0 + odds), _LEAST_FREE, _MOST_FREE), dtype=np.float64)
        at_low = self._centers - self._low[:, None] < _AT_END * self._lengthscales
        at_high = (self._high[:, None] - self._centers < _AT_END * self._lengthscales) & ~at_low
        free = np.concatenate([0.5 * (p_free + ~(at_low | at_high)), p_free], axis=1)
        high = np.concatenate([0.5 * (0.5 * (1.0 - p_free) + at_high), 0.5 * (1.0 - p_free)], axis=1)
        return free, high

    def _log_density(
        self,
        x: Array,
        branch: NDArray[np.intp],
        is_free: NDArray[np.bool_],
        is_high: NDArray[np.bool_],
        numbers: NDArray[np.intp],
        p_free: Array,
        p_high: Array,
    ) -> Array:
        """Return the log density of places, their free coordinates measured in lengthscales, shape (m,)."""
        z = (x[:, None] - self._centers) / self._scales
        log_normal = self._log_peaks[branch] - 0.5 * z**2
        log_uniform = self._log_uniform[branch]
        log_end = np.where(is_high[:, None], np.log(p_high), np.log(1.0 - p_free - p_high))
        log_free = np.log(p_free) + np.concatenate([log_normal, log_uniform], axis=1)
        log_numeric = np.where(is_free[:, None], log_free, log_end)
        log_numeric = np.where(self._varies[branch][:, None], log_numeric, 0.0).sum(axis=2)

        anywhere = np.full((len(x), 1, numbers.shape[1]), -1)
        own = np.concatenate([self._own[branch], anywhere], axis=1)
        log_choices = _log_kept_or_drawn(numbers[:, None], own, self._n_choices[branch][:, None]).sum(axis=2)
        own_branch = np.append(self._branches if self._n_branches > 1 else np.full(len(self._centers), -1), -1)
        log_branch = _log_kept_or_drawn(branch[:, None], own_branch, np.array(self._n_branches))
        log_share = np.log(np.append(np.full(len(self._centers), 0.5 / len(self._centers)), 0.5))
        logs = log_numeric + log_choices + log_branch + log_share
        highest = logs.max(axis=1)
        log_rest = math.log(1.0 - _ON_HILLS) if self._hills else 0.0
        return log_rest + highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1))


def _table(space: Space, axes: NDArray[np.intp], n_choices: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the choices of categorical axes in each branch, padded to one length; shape (branches, axes, longest)."""
    table = np.zeros((*n_choices.shape, int(n_choices.max(initial=1))), dtype=np.intp)
    for b, branch in enumerate(space.branches):
        for i, j in enumerate(axes.tolist()):
            n = int(n_choices[b, i])
            table[b, i, :n] = branch.values.get(j, np.arange(n))
    return table


def _kept_or_drawn(u: Array, own: NDArray[np.intp], n: NDArray[np.int64] | int) -> NDArray[np.intp]:
    """Return numbers below n from uniform ones: one's own stays with a probability of a half, −1 stands for none."""
    has_own = own >= 0
    drawn = np.floor(np.where(has_own, np.abs(2.0 * u - 1.0), u) * n).astype(np.intp)
    return np.where(has_own & (u < 0.5), own, drawn)


def _log_kept_or_drawn(number: NDArray[np.intp], own: NDArray[np.intp], n: NDArray[np.int64]) -> Array:
    """Return the log of the probability that a number is what comes out."""
    return np.log(np.where(own >= 0, 0.5 * (number == own) + 0.5 / n, 1.0 / n))


def _cdf(z: Array) -> Array:
    return np.asarray(ndtr(z), dtype=np.float64)

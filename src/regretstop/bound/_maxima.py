"""How many local maxima of f are expected above a level: what may be left, counted.

If f exceeds a level somewhere, it has a local maximum above it, in the interior of the cube or, with slopes that point
outwards, on one of its faces. So, given the data (Kac and Rice; docs/theory.md, What is left),

    P(sup f > f(x̂) + b) ≤ N(b) = Σ_faces ∫ E[ |det H| 1{H ≺ 0, f − f(x̂) > b, outward slopes} | ∇f = 0 ] p_∇f(0) dx

where f − f(x̂), ∇f and H of the posterior are jointly normal at every x. Categories and branches are summed over; a
branch is a cube of those axes that are active in it. A discrete axis
counts as the interval between its first and last value, where the Gaussian process is defined as well and has no
smaller supremum.

The integral is estimated in two phases. Many cheap places (a face, choices for the categories, a point) say where the
mass seems to be; some of them are drawn, the likelier the more mass they seem to have, and there the integrand is
computed. Both phases are unbiased, and independent replicates of them show how wrong the estimate may be.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from regretstop.array import Array
from regretstop.bound._faces import N_PLACES, Faces, Places, settings_of
from regretstop.bound._hills import Hill, narrow_hills
from regretstop.bound._integrand import N_DRAWS, Draws, Seen
from regretstop.bound._normal_vectors import ROUNDING, at_zero, factor_of
from regretstop.model import HasJets
from regretstop.spaces import Space

# How many of a replicate's 128 places are looked at.
N_CHOSEN = 32
# Fewer places that matter, as the sum of their shares squared tells, make no estimate.
_FEWEST_EFFECTIVE = 16
# More are as good as so many: where one is expected nothing is certified, and sums of larger ones overflow.
_MANY = 1e6
# So much of the choice is left to chance, or a place that wrongly seems to have no mass could have any weight.
_DEFENSIVE = 0.05
# Numbers that are worked on together, 32 MB an array.
_AT_ONCE = 4_000_000
# Hills are not looked at that are lower than f(x̂) by so many deviations, nor from more than so many points.
_UNLIKELY, _MOST_HILLS = 5.0, 12
# In prior deviations: ten times what rounding may leave of one that is 0.
LEAST_LEVEL = 10.0 * math.sqrt(ROUNDING)


class ExpectedMaxima:
    """The expected number of local maxima of f − f(x̂) above levels, under one posterior.

    Args:
        posterior: The posterior.
        space: The space that its points are encoded by.
        reference: x̂, encoded, shape (d,).
        weight: κ: what is above a level is f − κ f(x̂) + (κ − 1) v; 1 for f − f(x̂).
        pivot: v.
        centers: The best data, encoded, shape (m, d), m ≥ 1.
        ends: Returns where ascents of the posterior end, encoded, shape (h, d).
        rng: Draws the places and the second derivatives.
        by_setting: Whether the settings of a finite space at which f is above the level are counted, not maxima:
            exact, and fewer where lengthscales are short for the steps.
        n_data: How many observations the posterior has, which says how much memory a place takes.
    """

    def __init__(
        self,
        posterior: HasJets,
        space: Space,
        reference: Array,
        centers: Array,
        ends: Callable[[], Array],
        rng: np.random.Generator,
        n_data: int,
        by_setting: bool = False,
        *,
        weight: float = 1.0,
        pivot: float = 0.0,
    ) -> None:
        self._settings = settings_of(space) if by_setting else None
        self._posterior = posterior
        self._reference = reference
        self._weight = weight
        self._pivot = pivot
        self._rng = rng
        self._n_data = n_data
        self._space = space
        self._numeric = np.flatnonzero(space.categories == 0)
        self._centers = centers
        self._ends = ends

    @property
    def prior_std(self) -> float:
        """Prior deviation s of the posterior."""
        return self._posterior.prior_std

    @cached_property
    def _at_hills(self) -> tuple[Array, Array]:
        """Mean and deviation of what is above levels at the best data and on hills, of which all settings need none."""
        if self._settings is not None:
            return self._at(self._centers)
        return self._at(np.vstack([self._centers, self._ends(), *(hill.point for hill in self._hills)]))

    @cached_property
    def _hills(self) -> list[Hill]:
        points = np.vstack([self._centers, self._ends()])
        mean, std = self._at(points)
        highest = mean + _UNLIKELY * std
        # x̂ is one, whatever rounding leaves of its 0.
        least = -LEAST_LEVEL * self.prior_std
        ends = points[[i for i in np.argsort(-highest)[:_MOST_HILLS] if highest[i] > least]]
        return narrow_hills(self._jet, self._space, self._posterior.lengthscales, self.prior_std, ends)

    @cached_property
    def _faces(self) -> Faces:
        return Faces(self._space, self._posterior.lengthscales, self._centers, self._hills, self._rng)

    def _at(self, points: Array) -> tuple[Array, Array]:
        mean, covariance = self._jet(points, np.zeros((len(points), 0), dtype=np.intp), 0)
        return mean[:, 0], np.sqrt(np.maximum(covariance[:, 0, 0], 0.0))

    def sample(self, levels: Sequence[float], n_replicates: int) -> "SampledMaxima":
        """Return places that suit these levels and those near one of them, or all settings."""
        if self._settings is not None:
            parts = self._parts(self._settings, lambda k, a: 1)
            draws = [self._draws(self._settings, index, 0) for index, _ in parts]
            return SampledMaxima(draws, np.ones(len(self._settings.points)), 1, self._at_hills, n_alike=n_replicates)
        places = self._places(n_replicates, min(levels))
        seen = self._seen(places)
        share = np.full((n_replicates, N_PLACES), _DEFENSIVE / N_PLACES)
        for level in levels:
            log_mass = seen.log_mass(level).reshape(n_replicates, N_PLACES)
            mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
            share += (1.0 - _DEFENSIVE) / len(levels) * mass / mass.sum(axis=1, keepdims=True)
        # Systematic: a place with a probability of 1/32 and more is certain to be among them.
        at = (np.arange(N_CHOSEN) + self._rng.random((n_replicates, 1))) / N_CHOSEN
        chosen = np.empty(at.shape, dtype=np.intp)
        for i in range(n_replicates):
            chosen[i] = np.searchsorted(np.cumsum(share[i]), at[i])
        np.minimum(chosen, N_PLACES - 1, out=chosen)  # sums of shares may miss 1
        log_weights = -np.log(np.take_along_axis(share, chosen, axis=1).ravel()) - math.log(N_PLACES * N_CHOSEN)
        picked = places.take((chosen + N_PLACES * np.arange(n_replicates)[:, None]).ravel())
        parts = self._parts(picked, lambda k, a: 1 + a + k * (k + 1) // 2)
        draws = [self._draws(picked, index, k) for index, k in parts]
        return SampledMaxima(draws, np.exp(log_weights + picked.log_weights), n_replicates, self._at_hills)

    def level_for(self, apparent: float) -> float:
        """Return about the level above which so many maxima seem to be, which is no estimate of their number."""
        s = self._posterior.prior_std
        seen = self._seen(self._places(1, 3.0 * s))
        low, high = LEAST_LEVEL * s, 10.0 * s
        while high > 1.1 * low:
            middle = math.sqrt(low * high)
            is_above = float(np.mean(np.exp(seen.log_mass(middle)))) > apparent
            low, high = (middle, high) if is_above else (low, middle)
        return high

    def _places(self, n_replicates: int, level: float) -> Places:
        # Along an axis a stationary f has √(λ/2π) u maxima a lengthscale for each at an end (Adler & Taylor 2007,
        # section 11.7).
        height = max(level / self._posterior.prior_std, 1.0)
        return self._faces.places(n_replicates, math.sqrt(self._posterior.kernel.curvature / (2.0 * math.pi)) * height)

    def _parts(self, places: Places, size: Callable[[int, int], int]) -> Iterator[tuple[NDArray[np.intp], int]]:
        """Yield places on faces of one dimension k, of cubes of one dimension a, and k.

        They are as many at a time as memory allows for jets of this size, which k and a tell.
        """
        n_free, n_numeric = places.n_free, places.n_numeric
        kinds = n_numeric * (n_numeric.max(initial=0) + 1) + n_free
        for kind in np.unique(kinds).tolist():
            index = np.flatnonzero(kinds == kind)
            k, a = int(n_free[index[0]]), int(n_numeric[index[0]])
            q = size(k, a)
            most = max(_AT_ONCE // (q * (q + self._n_data)), 1)
            yield from ((index[i : i + most], k) for i in range(0, len(index), most))

    def _jet(self, points: Array, axes: NDArray[np.intp], n_free: int) -> tuple[Array, Array]:
        """Return mean and covariance of what is above levels, slopes and second derivatives, as `HasJets` does."""
        mean, covariance = self._posterior.jet(points, axes, n_free, self._reference, self._weight)
        mean[:, 0] += (self._weight - 1.0) * self._pivot
        return mean, covariance

    def _seen(self, places: Places) -> Seen:
        """Return what slopes and values say, without second derivatives, about what each place adds."""
        seen = np.empty((3, len(places.points)))
        n_free, n_numeric, by_face = places.n_free, places.n_numeric, places.order
        s = self._posterior.prior_std
        for index, k in self._parts(places, lambda k, a: 1 + k):
            axes = self._numeric[by_face[index, :k]]
            mean, covariance = self._jet(places.points[index], axes, 0)
            order = np.r_[1 : 1 + k, 0]
            factor = factor_of(covariance[:, order][:, :, order], s**2)
            w, log_density = at_zero(mean[:, 1:], factor)
            log_sides = math.log(2.0) * (n_numeric[index[0]] - k)
            # E|det H| of a stationary f at a height of one deviation
            seen[0, index] = log_density + k * math.log(self._posterior.kernel.curvature * s) - log_sides
            seen[1, index] = mean[:, 0] + np.einsum("nj,nj->n", factor[:, k, :k], w)
            seen[2, index] = factor[:, k, k]
        return Seen(places.log_weights + seen[0], n_free, seen[1], seen[2])

    def _draws(self, places: Places, index: NDArray[np.intp], k: int) -> Draws:
        """Return the draws at those of the places, on faces of dimension k of cubes of one dimension."""
        places = places.take(index)
        order = places.order[:, : places.n_numeric[0]]
        mean, covariance = self._jet(places.points, self._numeric[order], k)
        n = len(order)
        # The signs with which slopes point outwards, and a maximum bends.
        outward = np.where(np.take_along_axis(places.is_high, order[:, k:], axis=1), 1.0, -1.0)
        sign = np.concatenate([np.ones((n, 1 + k)), outward, -np.ones((n, k * (k + 1) // 2))], axis=1)
        # In the order (slopes along the face, f − f(x̂), other slopes, second derivatives), each is drawn given those
        # before it.
        order_of_all = np.r_[1 : 1 + k, 0, 1 + k : mean.shape[1]]
        mean = (mean * sign)[:, order_of_all]
        covariance = (covariance * sign[:, :, None] * sign[:, None, :])[:, order_of_all][:, :, order_of_all]
        factor = factor_of(covariance, self._posterior.prior_std**2)
        w, log_density = at_zero(mean[:, :k], factor)
        mean = mean[:, k:] + np.einsum("nij,nj->ni", factor[:, k:, :k], w)
        factor = factor[:, k:, k:]
        noise = self._rng.standard_normal((n, N_DRAWS, factor.shape[1] - 1))
        return Draws(
            index=index,
            log_density=log_density,
            mean=mean[:, 0],
            std=factor[:, 0, 0],
            quantiles=(np.arange(N_DRAWS) + 1.0 - self._rng.random((n, N_DRAWS))) / N_DRAWS,
            others=mean[:, None, 1:] + noise @ factor[:, 1:, 1:].transpose(0, 2, 1),
            per_std=factor[:, 1:, 0],
            n_free=k,
        )


class SampledMaxima:
    """Estimates of the expected number of maxima, all from the same places.

    Args:
        draws: By the dimension of the face.
        weights: Of the places, shape (R · m,), a replicate's one after the other.
        n_replicates: How many there are.
        at_hills: Mean and deviation of what is above levels at the best data and on hills, shape (m,) each.
        n_alike: Each counts as so many, as where nothing is left to chance; R ≥ 2 in all.
    """

    def __init__(
        self, draws: list[Draws], weights: Array, n_replicates: int, at_hills: tuple[Array, Array], n_alike: int = 1
    ) -> None:
        self._at_hills = at_hills
        self._draws = draws
        self._weights = weights
        self._n_replicates = n_replicates
        self._n_alike = n_alike

    def counts(self, levels: Array) -> Array:
        """Return an estimate of N at each level from each replicate, shape (l, R), unbiased but for what is known.

        N is no smaller than the probability that f is above the level at one of the best data, or where the posterior
        has a hill. No place may have come near one whose top is known to a small part of a lengthscale.

        Where hardly any place has a draw with H ≺ 0, as at low levels in many dimensions, the estimate would be luck:
        there it is that of all critical points, of which maxima are a part.
        """
        maxima, critical = np.empty((2, len(levels), len(self._weights)))
        for draws in self._draws:
            some = max(_AT_ONCE // max(draws.size, 1), 1)
            for i in range(0, len(levels), some):
                part = slice(i, i + some)
                maxima[part, draws.index], critical[part, draws.index] = draws.expected(levels[part])
        added = maxima * self._weights
        share = added / np.maximum(added.max(axis=1, keepdims=True), 1e-300)
        few = share.sum(axis=1) ** 2 < _FEWEST_EFFECTIVE * (share**2).sum(axis=1)
        few |= added.max(axis=1) == 0.0
        added[few] = critical[few] * self._weights
        per_replicate = added.reshape(len(levels), self._n_replicates, -1).sum(axis=2)
        means, stds = self._at_hills
        with np.errstate(divide="ignore", over="ignore"):
            known = ndtr((means - levels[:, None]) / np.maximum(stds, np.finfo(np.float64).tiny)).max(axis=1)
        # All replicates are raised alike: by how much they differ still says how wrong they may be.
        raised = per_replicate + np.maximum(known - per_replicate.mean(axis=1), 0.0)[:, None]
        return np.repeat(np.minimum(raised, _MANY), self._n_alike, axis=1)

"""What may be left to gain on average: what is left, summed up over all levels."""

from collections.abc import Callable, Sequence

import numpy as np

from regretstop.array import Array
from regretstop.bound._counts import Counts

# Places for one level suit those that are larger, or smaller by no more than this factor. Far below them what is missed
# would not be seen to be.
SUITS = 1.25
# It is summed up over the levels that were looked at, and so many more above them.
_N_HIGHER = 5
# Below the lowest level it is open how soon all is left. Where that matters by more than this share of the sum, and
# less than so much is left above that level, lower ones are looked at, these parts of it; for so many rounds.
_OPEN, _SURE, _LOWER, _LOWER_ROUNDS = 0.1, 0.9, (0.4, 0.1), 6
# As long as the sum seems off by more than this share, a level is added between any two where it is off the most, or by
# more than a quarter as much; for so many rounds.
_COARSE, _SPLIT, _FINER_ROUNDS = 0.05, 0.25, 4


def summed_up(
    counts: Counts,
    suited: float,
    highest: float,
    gain: Callable[[Array], Array],
    count_at: Callable[[Sequence[float]], Counts],
) -> tuple[float, float]:
    """Estimate ∫ min(1, N) dg ≥ E[max(f* − f(x̂), 0)], and its standard error if all levels err together.

    Args:
        counts: Of places that were chosen for some levels.
        suited: The lowest of these.
        highest: A level above all that may be left.
        gain: g of levels, both of shape (l,).
        count_at: Returns the counts of places that suit other levels.
    """
    left = _Left(counts, suited / SUITS)
    top = float(left.levels[-1])
    left.look(np.asarray(np.geomspace(top, max(highest, top), _N_HIGHER), dtype=np.float64))
    for _ in range(_LOWER_ROUNDS):
        lowest = left.levels[:1]
        below, share = float(gain(lowest)[0]), float(left.means[0])
        if share >= _SURE or (1.0 - share) * below <= _OPEN * left.integral(gain)[0]:
            break
        lower = [part * float(lowest[0]) for part in _LOWER]
        left.serve(min(lower), count_at(lower))
        left.look(np.array(lower))
    for _ in range(_FINER_ROUNDS):
        levels, means, gains = left.levels, left.means, gain(left.levels)
        # By the chords of a tail that falls by much from one level to the next the integral is far too large.
        excess = np.diff(gains) * (0.5 * (means[1:] + means[:-1]) - np.sqrt(means[1:] * means[:-1]))
        if not np.sum(excess) > _COARSE * left.integral(gain)[0]:
            break
        left.look(np.sqrt(levels[1:] * levels[:-1])[excess > _SPLIT * np.max(excess)])
    return left.integral(gain)


class _Left:
    """How much is left above levels, each looked at with places that suit it.

    Args:
        counts: Of places that suit the highest levels.
        least: The lowest level that they suit.
    """

    def __init__(self, counts: Counts, least: float) -> None:
        # From the highest levels down.
        self._served = [(least, counts)]
        self._known: dict[float, tuple[float, float]] = {}
        self.look(np.array([least, *(level for level in counts.levels if level >= least)]))

    @property
    def levels(self) -> Array:
        """The levels, in order, shape (l,)."""
        return np.array(sorted(self._known))

    @property
    def means(self) -> Array:
        """How much is left above each, shape (l,)."""
        return np.array([self._known[level][0] for level in self.levels.tolist()])

    def serve(self, least: float, counts: Counts) -> None:
        """Take the counts of places that suit lower levels, down to this one."""
        self._served.append((least, counts))

    def look(self, levels: Array) -> None:
        """Take in how much is left above levels of shape (l,), none of them below what is served."""
        for least, counts in self._served:
            new = [level for level in levels.tolist() if level >= least and level not in self._known]
            if new:
                self._known |= dict(zip(new, zip(*counts.mean_and_error(np.array(new)), strict=True), strict=True))

    def integral(self, gain: Callable[[Array], Array]) -> tuple[float, float]:
        """Return the integral over gains, and its error; by chords, from 1, which is left at no gain."""
        gains = np.append(0.0, gain(self.levels))
        errors = [0.0, *(self._known[level][1] for level in self.levels.tolist())]
        return _by_chords(np.append(1.0, self.means), gains), _by_chords(np.array(errors), gains)


def _by_chords(values: Array, gains: Array) -> float:
    # NumPy's trapezoidal rule has another name in each major version, and SciPy's takes long to import.
    return float(np.sum(0.5 * np.diff(gains) * (values[1:] + values[:-1])))

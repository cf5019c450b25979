"""Parameters that too few points have, or all alike, to say anything of them."""

from dataclasses import dataclass

import numpy as np

from regretstop.array import Array
from regretstop.spaces._branches import Branch
from regretstop.spaces._space import SAME_POINT, Space

# So many times as many points that failed as were needed with a value: then none is to be had.
_IN_VAIN = 2


@dataclass(frozen=True)
class Lacking:
    """Parameters of some branches only that too few observations have.

    Attributes:
        axes: Their axes.
        branch: One of the branches.
        n: Observations that have them.
        needed: How many should.
    """

    axes: list[int]
    branch: Branch
    n: int
    needed: int

    def words(self, space: Space) -> str:
        """Say so."""
        names = ", ".join(repr(space.names[j]) for j in self.axes)
        return f"too few observations with {names}: {self.n} of at least {self.needed}"


def lacking(space: Space, points: Array, n_estimated: int, failed: Array | None = None) -> Lacking | None:
    """Return parameters of some branches only that too few points have; None if there are none.

    They should be one more than the numbers that the model would estimate if there were these parameters alone: two
    points of a branch that happen to agree look as if nothing in it made a difference. Fewer will do if there are no
    more.

    Args:
        space: The search space.
        points: Encoded, shape (n, d).
        n_estimated: How many numbers the model estimates in the whole space.
        failed: Encoded points where the evaluation failed, shape (m, d): what twice as many of them have as
            are needed is no longer lacking.
    """
    active = np.array([branch.active for branch in space.branches])
    counts = space.active(points).sum(axis=0)
    in_vain = np.zeros(space.dim) if failed is None else space.active(failed).sum(axis=0)
    for j in np.flatnonzero(~active.all(axis=0)).tolist():
        alike = np.flatnonzero((active == active[:, [j]]).all(axis=0)).tolist()
        own = [branch for branch in space.branches if branch.active[j]]
        needed = int(min(n_estimated - space.dim + len(alike) + 1, sum(branch.size for branch in own)))
        if n_estimated and counts[j] < needed and in_vain[j] < _IN_VAIN * needed:
            n = int(counts[j])
            return Lacking(alike, own[int(n + in_vain[j]) % len(own)], n, needed)
    return None


def unvaried(space: Space, points: Array, n_estimated: int) -> str | None:
    """Return in words which parameter has the same value in all points, so that they say nothing of others.

    Args:
        space: The search space.
        points: Encoded, shape (n, d).
        n_estimated: How many numbers the model estimates; a declared kernel knows what values do that were not tried.
    """
    active = space.active(points)
    for j, name in enumerate(space.names):
        own = points[active[:, j], j]
        if n_estimated and len(own) and np.max(own) - np.min(own) < SAME_POINT:
            value = space[name].decode(float(own[0]))
            return f"all observations have {name!r} = {value!r}, which says nothing of its other values"
    return None

"""The worst of the gaps under several hyperparameter samples, without a search of the space for each of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from regretstop.search._acquisition import Acquisition
from regretstop.search._maximize import Maximizer, Maximum

T = TypeVar("T")

# An ascent from the best candidate raises a gap by less than this part of it, in all that was measured, which is no
# proof (docs/theory.md, Estimated hyperparameters).
_MOST_GAINED = 0.25


class Maximizes(Protocol):
    """Anything that finds the maximum of an acquisition, well or badly."""

    def maximize(self, acquisition: Acquisition) -> Maximum:
        """Return the largest value found and where."""
        ...

    def best_candidate(self, acquisition: Acquisition) -> Maximum:
        """Return the best of the candidates, which costs next to nothing."""
        ...


@dataclass(frozen=True)
class CoarseMaximizer:
    """A search that stops at the best of its candidates."""

    maximizer: Maximizer

    def maximize(self, acquisition: Acquisition) -> Maximum:
        """Return the largest value among the candidates and where."""
        return self.best_candidate(acquisition)

    def best_candidate(self, acquisition: Acquisition) -> Maximum:
        """Return the best of the candidates."""
        return self.maximizer.best_candidate(acquisition)


def coarse_maximizers(maximizers: Sequence[Maximizer]) -> list[Maximizes]:
    """Return the searches without their ascents; a single one is needed in full anyway."""
    return [*maximizers] if len(maximizers) == 1 else [CoarseMaximizer(maximizer) for maximizer in maximizers]


def largest_of(coarse: Sequence[T], refine: Callable[[int], T], bound_of: Callable[[T], float]) -> T:
    """Return the largest bound, searched for in full wherever it might be the largest.

    Args:
        coarse: What a glance found under each sample: too low by what an ascent gains.
        refine: Returns what a full search finds under the sample with this index.
        bound_of: Its bound.
    """
    if len(coarse) == 1:
        return coarse[0]
    order = sorted(range(len(coarse)), key=lambda k: -bound_of(coarse[k]))
    largest = refine(order[0])
    for k in order[1:]:
        if bound_of(coarse[k]) * (1.0 + _MOST_GAINED) < bound_of(largest):
            break
        largest = max(largest, refine(k), key=bound_of)
    return largest

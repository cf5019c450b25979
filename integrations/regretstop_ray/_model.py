"""The model of an experiment, which outlives a trial, so that what was fitted once is not fitted again."""

from collections.abc import Mapping, Sequence
from typing import Any

from regretstop import GPUCB, Observation
from regretstop.propose import check_search
from regretstop_ray._space import SearchSpace


class Model:
    """The GPUCB of an experiment, rebuilt when the search space or the direction changes.

    Args:
        options: Arguments of `GPUCB`.

    Raises:
        ValueError: If an option is out of its range.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        check_search(**options)
        self.options = dict(options)
        self._built: tuple[SearchSpace, str, GPUCB] | None = None

    def of(
        self, space: SearchSpace, mode: str, observations: Sequence[Observation], pending: Sequence[Mapping[str, Any]]
    ) -> GPUCB:
        """Return the optimizer with this history and these running points.

        Raises:
            ValueError: If declared lengthscales do not fit the space.
        """
        if self._built is None or self._built[:2] != (space, mode):
            direction = "maximize" if mode == "max" else "minimize"
            self._built = space, mode, GPUCB(space.space, direction=direction, **self.options)
        self._built[2].replace_history(observations, pending)
        return self._built[2]

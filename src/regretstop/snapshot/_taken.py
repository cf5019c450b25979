"""How a snapshot is taken of observations: what of them may be certified, and why nothing can be if so."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regretstop.history import EncodedHistory, Observation
from regretstop.model import all_equal, plateau_of
from regretstop.schedule import Due, Schedule
from regretstop.search import SearchModel
from regretstop.snapshot._fitted_model import FittedModel
from regretstop.snapshot._observed_data import LastObservation, ObservedData
from regretstop.snapshot._snapshot import Beta, Snapshot
from regretstop.spaces import Space, lacking, unvaried

# With fewer observations no posterior says anything.
_FEWEST = 3


@dataclass(frozen=True)
class Setting:
    """What does not change during a search.

    Attributes:
        space: The search space.
        sign: 1 where values are maximised, −1 where they are minimised.
        beta: β of the acquisition.
        ceiling: The best value that the objective could ever have, maximised; ∞ if none is declared.
    """

    space: Space
    sign: float
    beta: Beta
    ceiling: float

    def taken(
        self,
        data: EncodedHistory,
        fit: Callable[[EncodedHistory], SearchModel],
        *,
        schedule: Schedule,
        due: Due,
        guarantee: Literal["theorem", "model"],
        n_estimated: int,
        observations: tuple[Observation, ...],
    ) -> Snapshot:
        """Return the snapshot of a test.

        Args:
            data: The observations that the test sees.
            fit: Returns the model given these. Where they are too few it is only asked whether there is noise, if the
                best possible value is declared or every point of the space was evaluated.
            schedule: When tests are made.
            due: The test.
            guarantee: Of the surrogate.
            n_estimated: How many numbers it estimates.
            observations: All evaluations that ended.
        """
        n = len(data.values)
        plateau = plateau_of(data.values) if n else None
        obstacle = self._too_early(data, due, n_estimated)
        model = fit(data) if obstacle is None else None
        # What is no candidate merely because it is not feasible is also among these.
        known = data.inside if model is None else data.inside & _not_raised(data, model)
        candidates = known & data.feasible
        seen, last = FittedModel(guarantee=guarantee), None
        if model is not None:
            obstacle = self._nothing_to_say(data, model, known)
            seen = FittedModel.of(model, guarantee)
            last = LastObservation(data.points[-1], float(model.fit.data.values[-1]), int(np.sum(candidates[:-1])))
        return Snapshot(
            space=self.space,
            beta=self.beta,
            model=seen,
            data=ObservedData(
                points=data.points[candidates],
                numbers=data.numbers[candidates],
                values=self.sign * data.values[candidates],
                n_observations=n,
                n_excluded=data.n_excluded,
                optimum=self._optimum(data, candidates, fit),
                ceiling=self.ceiling,
                is_exact=bool(n) and math.isfinite(self.ceiling) and not fit(data).has_noise,
                is_equal=model is not None and not model.fit.data.has_spread,
                last=last,
                plateau=None if plateau is None else replace(plateau, value=self.sign * plateau.value),
                observations=observations,
                sign=self.sign,
                seconds=data.seconds[candidates],
                infeasible=data.points[known & ~data.feasible],
                n_infeasible=int(np.sum(~data.feasible)),
            ),
            obstacle=obstacle,
            test=max(due.test, 1),
            schedule=schedule,
            next_test=due.following,
        )

    def _too_early(self, data: EncodedHistory, due: Due, n_estimated: int) -> str | None:
        """Return why no model is asked yet, in words; None if one is."""
        n, fewest = len(data.values), fewest_observations(n_estimated)
        if n < fewest:
            few = f"too few observations: {n} of at least {fewest}"
            estimated = f", one more than the {n_estimated} numbers that the model estimates from them"
            return few + estimated if n_estimated >= _FEWEST else few
        if not due.test:
            return f"the first test is due at {due.following} observations, and there are {n}"
        if (unseen := lacking(self.space, data.points, n_estimated)) is not None:
            return unseen.words(self.space)
        if (alike := unvaried(self.space, data.points, n_estimated)) is not None:
            return alike
        if not np.any(data.inside):
            return "no observation lies in the space"
        if not np.any(data.inside & data.feasible):
            return "no trial in the space is feasible yet"
        return None

    def _nothing_to_say(self, data: EncodedHistory, model: SearchModel, known: NDArray[np.bool_]) -> str | None:
        """Return why a model says nothing of what is known, in words; None if it does."""
        if not model.fit.data.has_spread:
            return all_equal(self.sign * float(data.values[0]))
        if not np.any(known):
            return "the values in the space are all far worse than those outside it"
        if not np.any(known & data.feasible):
            return "the values of feasible trials are all far worse than those of others"
        return None

    def _optimum(
        self, data: EncodedHistory, candidates: NDArray[np.bool_], fit: Callable[[EncodedHistory], SearchModel]
    ) -> int | None:
        """Return the index, among the candidates for a certificate, of a point known to be optimal; None if none.

        The surrogate must have been told that there is no noise.
        """
        best = data.best_of_all(self.space)
        if best is None or fit(data).has_noise:
            return None
        place = int(np.flatnonzero(data.inside)[best])
        # The best value of all was not raised to a fence; the best feasible one may have been.
        return int(np.sum(candidates[:place])) if candidates[place] else None


def fewest_observations(n_estimated: int) -> int:
    """Return how many observations a model needs that estimates so many numbers."""
    return max(_FEWEST, n_estimated + 1)


def _not_raised(data: EncodedHistory, model: SearchModel) -> NDArray[np.bool_]:
    """Return which observations were fitted as they are: what is fitted for a value that was raised is better."""
    fitted = model.fit.data
    if not fitted.has_spread:
        return np.ones(len(data.values), dtype=bool)
    as_fitted = data.values if fitted.warp is None else fitted.warp(data.values)
    return np.asarray(as_fitted >= fitted.fence)

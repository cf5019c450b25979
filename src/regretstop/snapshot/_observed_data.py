"""The data as a rule sees them: the candidates for a certificate, and how many observations there were."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.history import Observation
from regretstop.model import Plateau


@dataclass(frozen=True)
class LastObservation:
    """The last observation as the posteriors saw it.

    Attributes:
        point: Encoded, shape (d,).
        value: Standardised.
        n_before: How many candidates for a certificate were observed before it.
    """

    point: Array
    value: float
    n_before: int


@dataclass(frozen=True, eq=False)
class ObservedData:
    """The candidates for a certificate, and how many observations there were in all.

    Candidates are the fitted observations that lie in the space and are feasible, and whose values were fitted as they
    are. Others are fitted too, but cannot be recommended.

    Attributes:
        points: Encoded points of the candidates, shape (n, d).
        numbers: Their trial numbers, shape (n,).
        values: Their observed values, in the objective's units and sign, shape (n,).
        n_observations: Observations that entered the fit.
        n_excluded: Observations that did not.
        optimum: Index among the points of one that is known to be optimal, whatever the model: every point of the
            space was evaluated, and the noise is declared to be 0. None if none is known.
        ceiling: The best value that the objective could ever have, in its units and maximised; ∞ if none is declared.
        is_exact: Whether the noise is declared to be 0.
        is_equal: Whether all fitted values are equal, up to rounding.
        last: The last observation; None where nothing is fitted.
        plateau: The worst values where they look like a penalty; None where they do not.
        observations: All evaluations that ended, also those that are not fitted.
        sign: Their values times the sign are maximised.
        seconds: How long the evaluations of the candidates took, shape (n,); NaN where that is not known.
        infeasible: Encoded points of those that would be candidates if they were feasible, shape (k, d).
        n_infeasible: How many of all that entered the fit are not feasible.
    """

    points: Array
    numbers: NDArray[np.intp]
    values: Array
    n_observations: int
    n_excluded: int
    optimum: int | None = None
    ceiling: float = math.inf
    is_exact: bool = False
    is_equal: bool = False
    last: LastObservation | None = None
    plateau: Plateau | None = None
    observations: tuple[Observation, ...] = ()
    sign: float = 1.0
    seconds: Array = field(default_factory=lambda: np.zeros(0))
    infeasible: Array = field(default_factory=lambda: np.zeros((0, 0)))
    n_infeasible: int = 0

    @property
    def all_points(self) -> Array:
        """Encoded points of the candidates, and then of those that are merely not feasible, shape (n + k, d)."""
        return np.vstack([self.points, self.infeasible]) if len(self.infeasible) else self.points

    def plateau_remark(self) -> str:
        """Return a remark if the worst values look like a penalty; else nothing."""
        return "" if self.plateau is None else self.plateau.remark()

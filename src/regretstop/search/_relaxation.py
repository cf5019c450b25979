"""The Lagrangian whose maximum says the most of the feasible optimum.

Any multipliers give a bound (docs/theory.md, Constraints); these are those with which the largest μ + 2σ among the
candidates of a search is the smallest: a dual problem, solved on a lattice, one constraint after the other.
"""

from collections.abc import Sequence

import numpy as np

from regretstop.array import Array
from regretstop.model import Constraint, Drawable, Lagrangian, Multiplier

# Of the second opinion and of the search. In twelve searches of two problems a count by those for 4, or by the best of
# those for 2, 3 and 4, stopped no sooner.
_SQRT_BETA = 2.0
# In prior deviations of the objective for one of the slack; and widths, in prior deviations of the slack.
_WEIGHTS, _WIDTHS = (0.0, *(2.0**k for k in range(-3, 6))), (0.3, 0.1, 0.03, 0.01)
# Where nothing feasible was found the constraints alone say where to look.
_URGENT = Multiplier(weight=1e3, width=0.3)
# With more constraints than one the best multiplier of each depends on the others.
_SWEEPS = 4


def relaxation(
    objective: Drawable, constraints: Sequence[Constraint], candidates: Array, *, found: bool, steers: bool = False
) -> Lagrangian:
    """Return the Lagrangian.

    Args:
        objective: The posterior of f.
        constraints: What is known of the constraints, at least one.
        candidates: Encoded points, shape (m, d).
        found: Whether a feasible point is known.
        steers: Whether it says where to look next: then a constraint that is surely violated where μ + 2σ is largest
            weighs more, as long as there are larger weights. The smallest bound may be that of f itself, and its
            maximum one that was evaluated, again and again.
    """
    if not found:
        return Lagrangian(objective, [(each, _in_its_units(_URGENT, objective, each)) for each in constraints])
    menus = _Menus(objective, constraints, candidates)
    none = [0] * len(constraints)
    chosen = menus.least(none)
    if len(constraints) > 1:
        # From where all that is violated has its price: one price after the other may not lower the highest point.
        chosen = min(chosen, menus.least(menus.heavier(none)), key=menus.highest)
    return menus.lagrangian(menus.heavier(chosen) if steers else chosen)


class _Menus:
    """The multipliers that each constraint can have, and what they make of the candidates."""

    def __init__(self, objective: Drawable, constraints: Sequence[Constraint], candidates: Array) -> None:
        self._objective, self._constraints = objective, constraints
        self._mean, self._std = objective.mean_std(candidates)
        slacks = [(each, *each.posterior.mean_std(candidates)) for each in constraints]
        self._menus = [
            [_in_its_units(Multiplier(weight, width), objective, each) for weight in _WEIGHTS for width in _WIDTHS]
            for each in constraints
        ]
        # Of each multiplier of each constraint, shape (number, m).
        self._effects = [
            _effects(menu, mean - each.limit, std) for menu, (each, mean, std) in zip(self._menus, slacks, strict=True)
        ]
        self._is_violated = [mean - each.limit + _SQRT_BETA * std < 0.0 for each, mean, std in slacks]

    def lagrangian(self, chosen: Sequence[int]) -> Lagrangian:
        """Return that with these multipliers."""
        pairs = zip(self._constraints, self._menus, chosen, strict=True)
        return Lagrangian(self._objective, [(constraint, menu[k]) for constraint, menu, k in pairs])

    def highest(self, chosen: Sequence[int]) -> float:
        """Return the largest μ + 2σ."""
        return float(np.max(self._upper(chosen, 0, [chosen[0]])))

    def least(self, chosen: Sequence[int]) -> list[int]:
        """Return multipliers with which the largest μ + 2σ is about the smallest, found from others."""
        chosen = list(chosen)
        for _ in range(_SWEEPS if len(chosen) > 1 else 1):
            before = list(chosen)
            for i, menu in enumerate(self._menus):
                chosen[i] = int(np.argmin(np.max(self._upper(chosen, i, range(len(menu))), axis=1)))
            if chosen == before:
                break
        return chosen

    def heavier(self, chosen: Sequence[int]) -> list[int]:
        """Return multipliers with which no constraint is surely violated where μ + 2σ is largest, if there are any."""
        chosen = list(chosen)
        while True:
            at = int(np.argmax(self._upper(chosen, 0, [chosen[0]])[0]))
            light = [
                i
                for i, (menu, is_violated) in enumerate(zip(self._menus, self._is_violated, strict=True))
                if is_violated[at] and chosen[i] + len(_WIDTHS) < len(menu)
            ]
            if not light:
                return chosen
            for i in light:
                chosen[i] += len(_WIDTHS)  # the next weight

    def _upper(self, chosen: Sequence[int], i: int, own: Sequence[int]) -> Array:
        """Return μ + 2σ with each of these multipliers of one constraint, shape (number, m)."""
        own = list(own)
        means, variances = self._effects[i][0][own] + self._mean, self._effects[i][1][own] + self._std**2
        for j, (by_mean, by_variance) in enumerate(self._effects):
            if j != i:
                means, variances = means + by_mean[chosen[j]], variances + by_variance[chosen[j]]
        return means + _SQRT_BETA * np.sqrt(variances)


def _in_its_units(multiplier: Multiplier, objective: Drawable, constraint: Constraint) -> Multiplier:
    unit = constraint.posterior.prior_std
    return Multiplier(multiplier.weight * objective.prior_std / unit, multiplier.width * unit)


def _effects(menu: Sequence[Multiplier], z: Array, std: Array) -> tuple[Array, Array]:
    """Return what each multiplier adds to the mean and to the variance, shape (number, m) each."""
    sizes = np.array([multiplier(z)[0] for multiplier in menu])
    return sizes * z, np.square(sizes * std)

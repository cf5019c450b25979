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
_SWEEPS = 2


def relaxation(objective: Drawable, constraints: Sequence[Constraint], candidates: Array, *, found: bool) -> Lagrangian:
    """Return the Lagrangian.

    Args:
        objective: The posterior of f.
        constraints: What is known of the constraints, at least one.
        candidates: Encoded points, shape (m, d).
        found: Whether a feasible point is known.
    """
    if not found:
        return Lagrangian(objective, [(each, _in_its_units(_URGENT, objective, each)) for each in constraints])
    mean, std = objective.mean_std(candidates)
    moments = [constraint.posterior.mean_std(candidates) for constraint in constraints]
    menus = [
        [_in_its_units(Multiplier(weight, width), objective, constraint) for weight in _WEIGHTS for width in _WIDTHS]
        for constraint in constraints
    ]
    # Of each multiplier of each constraint, shape (number, m).
    effects = [
        _effects(menu, its_mean - constraint.limit, its_std)
        for menu, constraint, (its_mean, its_std) in zip(menus, constraints, moments, strict=True)
    ]
    chosen = [0] * len(constraints)
    for _ in range(_SWEEPS if len(constraints) > 1 else 1):
        for i in range(len(constraints)):
            means, variances = effects[i][0] + mean, effects[i][1] + std**2
            for j, (by_mean, by_variance) in enumerate(effects):
                if j != i:
                    means, variances = means + by_mean[chosen[j]], variances + by_variance[chosen[j]]
            chosen[i] = int(np.argmin(np.max(means + _SQRT_BETA * np.sqrt(variances), axis=1)))
    return Lagrangian(
        objective, [(constraint, menu[k]) for constraint, menu, k in zip(constraints, menus, chosen, strict=True)]
    )


def _in_its_units(multiplier: Multiplier, objective: Drawable, constraint: Constraint) -> Multiplier:
    unit = constraint.posterior.prior_std
    return Multiplier(multiplier.weight * objective.prior_std / unit, multiplier.width * unit)


def _effects(menu: Sequence[Multiplier], z: Array, std: Array) -> tuple[Array, Array]:
    """Return what each multiplier adds to the mean and to the variance, shape (number, m) each."""
    sizes = np.array([multiplier(z)[0] for multiplier in menu])
    return sizes * z, np.square(sizes * std)

"""The part of a study that one model can describe: what its observations have in common."""

from collections.abc import Sequence

from optuna.distributions import BaseDistribution
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, TrialState

from regretstop_optuna._observations import is_observation
from regretstop_optuna._space import Distributions


def joint_distributions(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the distributions that all observations share and that leave a choice, by name.

    An objective that returns infinity before it has suggested everything hides nothing from view.
    """
    shared = intersection_search_space([t for t in trials if is_observation(t)])
    return {name: d for name, d in shared.items() if not d.single()}


def unmodelled_parameters(trials: Sequence[FrozenTrial], joint: Distributions) -> list[str]:
    """Return the parameters that vary, but are not in the joint distributions of all observations.

    They are conditional (absent from some observation) or re-ranged. Pruned and infinite trials are
    searched too: a branch that leads to nothing else is still a branch of the objective. Failed ones
    are not, so that a first attempt with a mistake in it does not spoil a study for good.
    """
    searched = [t for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    differing = {name for t in searched for name, d in t.distributions.items() if joint.get(name) != d}
    return sorted(name for name in differing if _varies(name, searched))


def _varies(name: str, trials: Sequence[FrozenTrial]) -> bool:
    """Whether the parameter ever had a choice, or had different single values."""
    found = [t.distributions[name] for t in trials if name in t.distributions]
    return any(not d.single() for d in found) or any(d != found[0] for d in found[1:])

"""Optuna's distributions as a `regretstop.Space`, and the part of a study that can be modelled."""

from collections.abc import Mapping, Sequence

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, TrialState

from regretstop import Categorical, Float, Int, Space

Distributions = Mapping[str, BaseDistribution]


def space_from(distributions: Distributions) -> Space:
    """Return the space that the distributions span.

    Raises:
        ValueError: If no distribution leaves a choice, or one is of an unknown kind.
    """
    return Space({name: _parameter(name, d) for name, d in distributions.items()})


def _parameter(name: str, distribution: BaseDistribution) -> Float | Int | Categorical:
    match distribution:
        case FloatDistribution(low=low, high=high, log=log, step=step):
            return Float(low, high, log=log, step=step)
        case IntDistribution(low=low, high=high, log=log, step=step):
            return Int(low, high, log=log, step=step)
        case CategoricalDistribution(choices=choices):
            return Categorical(choices)
        case _:
            raise ValueError(
                f"parameter {name!r} has a distribution of unknown kind: {distribution}"
            )


def joint_distributions(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return what every completed trial has in common, without parameters of one value."""
    return free(intersection_search_space(list(trials)))


def free(distributions: Distributions) -> dict[str, BaseDistribution]:
    """Return the distributions that leave a choice."""
    return {name: d for name, d in distributions.items() if not d.single()}


def unmodelled_parameters(trials: Sequence[FrozenTrial], joint: Distributions) -> list[str]:
    """Return the parameters that vary somewhere but not in the same way in every completed trial.

    They are conditional (absent from some trial) or re-ranged. Pruned trials are searched too: a
    branch whose trials are all pruned is still a branch of the objective. Failed ones are not, so
    that a first attempt with a mistake in it does not spoil a study for good.
    """
    searched = [t for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    differing = {
        name for t in searched for name, d in t.distributions.items() if joint.get(name) != d
    }
    return sorted(name for name in differing if _varies(name, searched))


def _varies(name: str, trials: Sequence[FrozenTrial]) -> bool:
    """Whether the parameter ever had a choice, or had different single values."""
    found = [t.distributions[name] for t in trials if name in t.distributions]
    return any(not d.single() for d in found) or any(d != found[0] for d in found[1:])

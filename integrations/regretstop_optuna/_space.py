"""Optuna's distributions as a `regretstop.Space`."""

from collections.abc import Mapping

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
    json_to_distribution,
)

from regretstop import Categorical, Float, Int, Space

Distributions = Mapping[str, BaseDistribution]


def space_from(distributions: Distributions) -> Space:
    """Return the space that the distributions span.

    Raises:
        ValueError: If no distribution leaves a choice, or one is of an unknown kind.
    """
    return Space({name: _parameter(name, d) for name, d in distributions.items()})


def is_of_plain_values(distribution: BaseDistribution) -> bool:
    """Return whether the values are None, truth values, numbers or strings, which come back from JSON as they were."""
    return not isinstance(distribution, CategoricalDistribution) or all(
        choice is None or isinstance(choice, bool | int | float | str)  # pyright: ignore[reportUnnecessaryIsInstance]
        for choice in distribution.choices
    )


def survives_json(distribution: BaseDistribution) -> bool:
    """Return whether the distribution comes back from JSON equal, as lists do and tuples do not."""
    return json_to_distribution(distribution_to_json(distribution)) == distribution


def _parameter(name: str, distribution: BaseDistribution) -> Float | Int | Categorical:
    match distribution:
        case FloatDistribution(low=low, high=high, log=log, step=step):
            return Float(low, high, log=log, step=step)
        case IntDistribution(low=low, high=high, log=log, step=step):
            return Int(low, high, log=log, step=step)
        case CategoricalDistribution(choices=choices):
            return Categorical(choices)
        case _:
            raise ValueError(f"parameter {name!r} has a distribution of unknown kind: {distribution}")

"""Optuna's distributions as parameters of a `regretstop.Space`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
    json_to_distribution,
)

from regretstop import Categorical, Float, Int
from regretstop_optuna._logging import logger

Distributions = Mapping[str, BaseDistribution]

_PLAIN = (bool, int, float, str)


def is_single(distribution: BaseDistribution) -> bool:
    """Return whether there is one value only, of those that Optuna can tell apart."""
    if isinstance(distribution, CategoricalDistribution):
        return len(_distinct(distribution)) == 1
    return distribution.single()


def as_recorded(distribution: BaseDistribution, value: Any) -> Any:
    """Return the value as Optuna's records will have it: of equal choices the first."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.to_external_repr(distribution.to_internal_repr(value))
    return value


def is_of_plain_values(distribution: BaseDistribution) -> bool:
    """Return whether the values are None, truth values, numbers or strings, which come back from JSON as they were."""
    return not isinstance(distribution, CategoricalDistribution) or all(
        choice is None or type(choice) in _PLAIN for choice in distribution.choices
    )


def loses_classes(distribution: BaseDistribution) -> bool:
    """Return whether some choice is, say, a member of a `str` enumeration, which comes back from JSON as the string."""
    return isinstance(distribution, CategoricalDistribution) and any(
        isinstance(choice, int | float | str) and type(choice) not in _PLAIN for choice in distribution.choices
    )


def survives_json(distribution: BaseDistribution) -> bool:
    """Return whether the distribution comes back from JSON equal, as lists do and tuples do not."""
    return json_to_distribution(distribution_to_json(distribution)) == distribution


def parameter(name: str, distribution: BaseDistribution) -> Float | Int | Categorical:
    """Return the distribution as a parameter of a space.

    Choices that are equal, such as 1, 1.0 and True, are one: Optuna records the first of them whichever was used. One
    warning says so.

    Raises:
        ValueError: If the distribution is of an unknown kind.
    """
    match distribution:
        case FloatDistribution(low=low, high=high, log=log, step=step):
            return Float(low, high, log=log, step=step)
        case IntDistribution(low=low, high=high, log=log, step=step):
            return Int(low, high, log=log, step=step)
        case CategoricalDistribution():
            return Categorical(_distinct(distribution))
        case _:
            raise ValueError(f"parameter {name!r} has a distribution of unknown kind: {distribution}")


def _distinct(distribution: CategoricalDistribution) -> list[Any]:
    """Return the choices that Optuna finds again when it looks them up."""
    distinct = [c for i, c in enumerate(distribution.choices) if distribution.to_internal_repr(c) == i]
    if len(distinct) < len(distribution.choices):
        _warn_of_equal_choices(repr(distribution.choices), ", ".join(map(repr, distinct)))
    return distinct


@cache
def _warn_of_equal_choices(choices: str, distinct: str) -> None:
    logger.warning(
        f"Of the choices {choices} some are equal. Optuna cannot tell these apart and records the first of them, so "
        f"they count as one, and what is chosen from is {distinct}. Where they mean different things to the objective, "
        "let it choose among strings."
    )

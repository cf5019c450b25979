"""A search, as pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regretstop import Certificate
from regretstop.plotting import (
    BoundHistory,
    BoundParts,
    Optimum,
    Theme,
    bound_parts_of,
    draw_plotly,
    history_of,
    optimum_of,
)
from regretstop_skopt.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingTypeStubs]


def plot_regret_bound(stopper: RegretBoundStopper, *, theme: Theme = "light") -> "Figure":
    """Draw the regret bound against ε over the evaluations, with plotly.

    The bounds are those that decided. Evaluations told in one batch share one bound, drawn at the last of them.

    Args:
        stopper: A stopper that was called at least once.
        theme: "light" or "dark".

    Raises:
        ValueError: If the stopper holds no bounds.
    """
    return draw_plotly.regret_bound(bound_history(stopper), theme)


def plot_probability_left(stopper: RegretBoundStopper, *, theme: Theme = "light") -> "Figure":
    """Draw the estimated probability that something better by more than ε remains, with plotly.

    Args:
        stopper: A stopper that was called at least once.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated.
    """
    return draw_plotly.probability_left(bound_history(stopper), theme)


def plot_bound_parts(stopper: RegretBoundStopper, *, theme: Theme = "light") -> "Figure":
    """Draw what the bound is made of over the evaluations, with plotly: exploration, confidence, noise and grid.

    Args:
        stopper: A stopper that was called at least once.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it.
    """
    return draw_plotly.bound_parts(bound_parts(stopper), theme)


def plot_optimum(
    stopper: RegretBoundStopper, *, params: Sequence[str] | None = None, theme: Theme = "light"
) -> "Figure":
    """Draw where the optimum can still be, with plotly; see `regretstop.plotting.plot_optimum`.

    Args:
        stopper: A stopper that was called at least once.
        params: One or two dimensions, by their names, or "x0", "x1", … where they have none; the other ones are those
            of the certified evaluation.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are too few observations for a model, or no such dimensions.
    """
    return draw_plotly.optimum(optimum(stopper, params), theme)


def bound_history(stopper: RegretBoundStopper) -> BoundHistory:
    """Return what both backends draw.

    Raises:
        ValueError: If the stopper holds no bounds.
    """
    certificates = _certificates(stopper)
    observations = stopper.observations
    return history_of(
        [o.number for o in observations],
        [certificates.get(o.number) for o in observations],
        [o.value for o in observations],
        direction="minimize",
        stopped_at=max((number for number, c in certificates.items() if c.stop), default=None),
    )


def bound_parts(stopper: RegretBoundStopper) -> BoundParts:
    """Return what both backends draw.

    Raises:
        ValueError: If no certificate says what its bound is made of.
    """
    certificates = _certificates(stopper)
    return bound_parts_of(list(certificates), list(certificates.values()))


def optimum(stopper: RegretBoundStopper, params: Sequence[str] | None = None) -> Optimum:
    """Return what both backends draw.

    Raises:
        ValueError: If there are too few observations for a model, or no such dimensions.
    """
    if stopper.model is None:
        raise ValueError("where the optimum can be is not known: the stopper has no model of the search")
    last = list(_certificates(stopper).values())[-1]
    epsilon = last.epsilon if last.measure == "regret" else None
    return optimum_of(stopper.model, epsilon=epsilon, incumbent=last.incumbent, params=params)


def _certificates(stopper: RegretBoundStopper) -> dict[int, Certificate]:
    """Return the certificates by the number of the evaluation after which they were computed."""
    found = {n - 1: certificate for n, certificate in stopper.certificates_after.items()}
    if not found:
        raise ValueError("the stopper holds no regret bounds: give it to a search as its callback")
    return found

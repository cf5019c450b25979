"""The bounds of a search as a picture."""

import math
from typing import TYPE_CHECKING

from regretstop.plotting import BoundHistory, draw_plotly
from regretstop_skopt.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingTypeStubs]


def plot_regret_bound(stopper: RegretBoundStopper) -> "Figure":
    """Draw the regret bound against ε over the evaluations, with plotly.

    The bounds are those that decided. Evaluations told in one batch share one bound, drawn at the last of them.

    Args:
        stopper: A stopper that was called at least once.

    Raises:
        ValueError: If the stopper holds no bounds.
    """
    return draw_plotly(bound_history(stopper))


def bound_history(stopper: RegretBoundStopper) -> BoundHistory:
    """Return what both backends draw.

    Raises:
        ValueError: If the stopper holds no bounds.
    """
    last = stopper.certificate
    if last is None:
        raise ValueError("the stopper holds no regret bounds: give it to a search as its callback")
    certificates = {n - 1: c for n, c in stopper.certificates_after.items()}
    observations = stopper.observations
    found = [certificates.get(o.number) for o in observations]
    return BoundHistory(
        trials=[o.number for o in observations],
        bounds=[math.nan if c is None else c.shown.bound for c in found],
        gaps=[math.nan if c is None else c.shown.optimality_gap for c in found],
        values=[math.nan if o.value is None or not math.isfinite(o.value) else o.value for o in observations],
        epsilon=last.shown.epsilon,
        rule=last.shown.rule,
        stopped_at=max((number for number, c in certificates.items() if c.stop), default=None),
        direction="minimize",
    )

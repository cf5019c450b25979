"""The same picture as `regretstop_skopt.plot_regret_bound`, with matplotlib."""

from typing import TYPE_CHECKING

from regretstop.plotting import draw_matplotlib
from regretstop_skopt.plot import bound_history
from regretstop_skopt.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regret_bound(stopper: RegretBoundStopper, ax: "Axes | None" = None) -> "Axes":
    """Draw the regret bound against ε over the evaluations.

    Args:
        stopper: A stopper that was called at least once.
        ax: Where to draw; a new figure if None.

    Raises:
        ValueError: If the stopper holds no bounds.
    """
    return draw_matplotlib(bound_history(stopper), ax)

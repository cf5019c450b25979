"""The same picture as `regretstop_ray.plot_regret_bound`, with matplotlib."""

from typing import TYPE_CHECKING

from regretstop.plotting import draw_matplotlib
from regretstop_ray.report import Source, bound_history

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regret_bound(source: Source, ax: "Axes | None" = None) -> "Axes":
    """Draw the stored regret bounds against ε over the trials, in the order in which they ended.

    Args:
        source: As for `regretstop_ray.certificate_of`.
        ax: Where to draw; a new figure if None.

    Raises:
        ValueError: If there are no bounds.
    """
    return draw_matplotlib(bound_history(source), ax)

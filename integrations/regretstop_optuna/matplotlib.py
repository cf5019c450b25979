"""The same picture as `regretstop_optuna.plot_regret_bound`, with matplotlib."""

from typing import TYPE_CHECKING

from optuna.study import Study

from regretstop.plotting import draw_matplotlib
from regretstop_optuna.plot import bound_history

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regret_bound(study: Study, ax: "Axes | None" = None) -> "Axes":
    """Draw the regret bound against ε over the trials.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        ax: Where to draw; a new figure if None.

    Raises:
        ValueError: If the study holds no bounds, or has several objectives.
    """
    return draw_matplotlib(bound_history(study), ax)

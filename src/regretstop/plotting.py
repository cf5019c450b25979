# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# matplotlib and plotly are not typed.
"""The bound against ε over the trials: one data class, drawn by matplotlib or plotly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure

_BOUND, _GAP, _BEST, _EPSILON = "#1f5fa8", "#8a8a8a", "#2b8a3e", "#c92a2a"


@dataclass(frozen=True)
class BoundHistory:
    """What was decided, trial by trial.

    Attributes:
        trials: Trial numbers, in order.
        bounds: The bound after each of them, in the objective's units; infinite where nothing could be said.
        gaps: The certified optimality gap after each.
        values: Observed values; NaN for a trial without one.
        epsilon: ε of the rule; 0 if it has none, and then no line is drawn.
        rule: Name of the rule.
        stopped_at: The trial after which the search was stopped, or None.
        direction: Of the objective.
    """

    trials: Sequence[int]
    bounds: Sequence[float]
    gaps: Sequence[float]
    values: Sequence[float]
    epsilon: float
    rule: str
    stopped_at: int | None
    direction: Literal["maximize", "minimize"]

    @property
    def best_values(self) -> list[float]:
        """The best value so far after each trial; NaN before the first."""
        pick = max if self.direction == "maximize" else min
        best: list[float] = []
        for value in self.values:
            seen = [v for v in (*best[-1:], value) if math.isfinite(v)]
            best.append(pick(seen) if seen else math.nan)
        return best


def draw_matplotlib(history: BoundHistory, ax: "Axes | None" = None) -> "Axes":
    """Draw the bound and ε on a log axis, the best value on a second axis.

    Args:
        history: What was decided.
        ax: Where to draw; a new figure if None.

    Returns:
        The axes of the bound.
    """
    if ax is None:
        from matplotlib.figure import Figure

        # A figure of its own, not pyplot's: the user's backend and open figures stay as they are.
        ax = Figure(figsize=(8.0, 4.5), layout="constrained").add_subplot()
    trials = list(history.trials)
    ax.plot(trials, _finite(history.bounds), color=_BOUND, marker=".", label=f"bound ({history.rule})")
    ax.plot(trials, _finite(history.gaps), color=_GAP, linestyle="--", label="certified optimality gap")
    if history.epsilon > 0.0:
        ax.axhline(history.epsilon, color=_EPSILON, linewidth=1.0, label=f"ε = {history.epsilon:.4g}")
    if history.stopped_at is not None:
        ax.axvline(
            history.stopped_at,
            color=_EPSILON,
            linestyle=":",
            label=f"stopped at trial {history.stopped_at}",
        )
    ax.set_yscale("log")
    ax.set_xlabel("trial")
    ax.set_ylabel("bound")
    right = ax.twinx()
    right.plot(
        trials,
        history.best_values,
        color=_BEST,
        drawstyle="steps-post",
        label="best value (right axis)",
    )
    right.set_ylabel("best value", color=_BEST)
    right.tick_params(axis="y", colors=_BEST)
    lines = [*ax.get_lines(), *right.get_lines()]
    ax.legend(
        lines,
        [str(line.get_label()) for line in lines],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        fontsize="small",
    )
    return ax


def draw_plotly(history: BoundHistory) -> "Figure":
    """Return the same picture as an interactive figure."""
    from plotly.graph_objects import Figure, Scatter

    trials = list(history.trials)
    figure = Figure()
    figure.add_trace(
        Scatter(
            x=trials,
            y=_finite(history.bounds),
            name=f"bound ({history.rule})",
            mode="lines+markers",
            line={"color": _BOUND},
        )
    )
    figure.add_trace(
        Scatter(
            x=trials,
            y=_finite(history.gaps),
            name="certified optimality gap",
            mode="lines",
            line={"color": _GAP, "dash": "dash"},
        )
    )
    figure.add_trace(
        Scatter(
            x=trials,
            y=history.best_values,
            name="best value",
            yaxis="y2",
            mode="lines",
            line={"color": _BEST, "shape": "hv"},
        )
    )
    if history.epsilon > 0.0:
        figure.add_hline(y=history.epsilon, line_color=_EPSILON, annotation_text=f"ε = {history.epsilon:.4g}")
    if history.stopped_at is not None:
        figure.add_vline(
            x=history.stopped_at,
            line_color=_EPSILON,
            line_dash="dot",
            annotation_text=f"stopped at trial {history.stopped_at}",
        )
    figure.update_layout(
        xaxis_title="trial",
        yaxis={"title": "bound", "type": "log"},
        yaxis2={"title": "best value", "overlaying": "y", "side": "right", "showgrid": False},
        legend={"orientation": "h", "y": 1.12},
    )
    return figure


def _finite(values: Sequence[float]) -> list[float]:
    """Return the values with gaps where they are infinite: a log axis cannot show them."""
    return [value if math.isfinite(value) else math.nan for value in values]

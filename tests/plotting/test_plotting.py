"""Both pictures of one history, with the bounds that cannot be drawn, and nothing else touched."""

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from regretstop.plotting import BoundHistory, draw_matplotlib, draw_plotly

HISTORY = BoundHistory(
    trials=[0, 1, 2, 4, 7],
    bounds=[math.inf, math.inf, 3.0, 0.9, 0.08],
    gaps=[math.inf, 2.0, 1.0, 0.5, math.nan],
    values=[0.3, math.nan, 0.7, 0.1, 0.5],
    epsilon=0.1,
    rule="UCBbr",
    stopped_at=7,
    direction="maximize",
)


def test_best_values() -> None:
    assert HISTORY.best_values == [0.3, 0.3, 0.7, 0.7, 0.7]
    down = BoundHistory([0, 1, 2], [1.0] * 3, [1.0] * 3, [math.nan, 2.0, 1.0], 0.1, "UCBbr", None, "minimize")
    assert math.isnan(down.best_values[0])
    assert down.best_values[1:] == [2.0, 1.0]
    infinite = BoundHistory([0, 1], [1.0] * 2, [1.0] * 2, [-math.inf, 2.0], 0.1, "UCBbr", None, "minimize")
    assert infinite.best_values[1] == 2.0


def test_matplotlib() -> None:
    from matplotlib.axes import Axes

    ax = draw_matplotlib.regret_bound(HISTORY)
    assert isinstance(ax, Axes)
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "trial"
    lines = {str(line.get_label()): line for line in ax.get_lines()}
    bounds = [float(y) for y in lines["bound (UCBbr)"].get_ydata()]
    assert [math.isnan(y) for y in bounds] == [True, True, False, False, False]
    assert bounds[2:] == [3.0, 0.9, 0.08]
    assert "ε = 0.1" in lines
    assert "stopped at trial 7" in lines
    legend = ax.get_legend()
    assert legend is not None
    assert "best value (right axis)" in [text.get_text() for text in legend.get_texts()]
    ax.figure.canvas.draw()  # it renders, without a warning


def test_matplotlib_on_the_users_axes() -> None:
    from matplotlib.figure import Figure

    mine = Figure().add_subplot()
    assert draw_matplotlib.regret_bound(HISTORY, mine) is mine


@pytest.mark.parametrize("draw", [draw_matplotlib.regret_bound, draw_matplotlib.probability_left])
def test_the_legend_is_in_the_picture_and_leaves_it_its_width(draw: Any) -> None:
    everything = replace(HISTORY, epsilon=0.01234, left=[1.0, 0.9, 0.5, 0.1, 0.0], expected_regrets=[1.0] * 5)
    ax = draw(everything)
    ax.figure.canvas.draw()
    legend, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert legend.x0 >= whole.x0
    assert legend.x1 <= whole.x1
    assert ax.get_window_extent().width > 0.75 * whole.width


def test_plotly() -> None:
    from plotly.graph_objects import Figure

    figure = draw_plotly.regret_bound(HISTORY)
    assert isinstance(figure, Figure)
    traces = {trace.name: trace for trace in figure.data}
    assert set(traces) == {
        "bound (UCBbr)",
        "certified optimality gap",
        "best value",
        "ε = 0.1",
        "stopped at trial 7",
    }
    assert list(traces["ε = 0.1"].y) == [0.1, 0.1]
    assert list(traces["bound (UCBbr)"].x) == HISTORY.trials
    assert [math.isnan(y) for y in traces["bound (UCBbr)"].y] == [True, True, False, False, False]
    assert math.isnan(traces["certified optimality gap"].y[-1])
    assert list(traces["best value"].y) == HISTORY.best_values
    assert figure.layout.yaxis.type == "log"
    assert [shape.x0 for shape in figure.layout.shapes] == [7]
    assert "NaN" not in figure.to_json()  # strict JSON


@pytest.mark.parametrize("n", [0, 1])
def test_histories_with_little_to_draw(n: int) -> None:
    nothing = BoundHistory([0] * n, [math.inf] * n, [math.inf] * n, [math.nan] * n, 0.1, "UCBbr", None, "minimize")
    draw_matplotlib.regret_bound(nothing).figure.canvas.draw()
    assert len(draw_plotly.regret_bound(nothing).data) == 4


_PYPLOT = """
import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
mine = plt.figure(7)
axes = plt.gca()
before = (plt.get_fignums(), plt.gcf() is mine, plt.gca() is axes, matplotlib.get_backend(), dict(matplotlib.rcParams))
from tests.plotting.test_plotting import HISTORY, draw_matplotlib, draw_plotly
draw_matplotlib.regret_bound(HISTORY).figure.canvas.draw()
draw_plotly.regret_bound(HISTORY)
assert before == (
    plt.get_fignums(), plt.gcf() is mine, plt.gca() is axes, matplotlib.get_backend(), dict(matplotlib.rcParams)
)
assert not axes.get_lines()
"""

_NO_PYPLOT = """
import sys
from tests.plotting.test_plotting import HISTORY, draw_matplotlib
assert "matplotlib" not in sys.modules and "plotly" not in sys.modules
draw_matplotlib.regret_bound(HISTORY)
assert "matplotlib.pyplot" not in sys.modules and "plotly" not in sys.modules
"""


@pytest.mark.parametrize("script", [_PYPLOT, _NO_PYPLOT], ids=["with pyplot", "without pyplot"])
def test_the_users_pyplot_is_left_alone(script: str, pytestconfig: pytest.Config) -> None:
    subprocess.run([sys.executable, "-c", script], check=True, cwd=pytestconfig.rootpath)

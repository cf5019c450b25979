"""Constraints: certificates of the feasible optimum, with and without a model of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import constrained
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREEN, ORANGE, SKY, Section, plain
from benchmarks.tables import number, rate

Record = dict[str, Any]
_COLOURS = dict(zip(constrained.WAYS, (BLUE, SKY, GREEN, ORANGE), strict=True))


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / constrained.PATH.name)
    if not records:
        return None
    stops = stopped(records)
    cells = counted(stops)
    return Section(
        title="Constraints",
        result=_result(cells),
        asked="Does a search end where better points are forbidden? Branin in a disk, whose optimum is inside, and two "
        "problems whose optimum is at the edge of what is allowed (Gardner et al. 2014; Gramacy et al. 2016); ε about "
        f"1 % of the range, up to {constrained.TRIALS} evaluations, asked after each, δ = {constrained.DELTA}. The "
        "model is told the values of the constraints, which are modelled, or only whether they are met. TPE is "
        "Optuna's, with its `constraints_func`.",
        shown=_shown(cells),
        caption="Share of the searches that had stopped after so many evaluations",
        draw=lambda figure: _draw(figure, stops),
        found=(),
        tables={"constrained": cells},
    )


def stopped(records: Sequence[Record]) -> pd.DataFrame:
    """Return for each search after how many evaluations it stopped, ∞ if never, and whether falsely."""
    frame = pd.DataFrame(records)
    frame["stop"] = frame["stop"].astype(float).fillna(np.inf)
    frame["false"] = frame["regret"].astype(float).fillna(0.0) > frame["epsilon"]
    return frame


def counted(stops: pd.DataFrame) -> pd.DataFrame:
    """Return how many searches of each problem and way ended, and how many falsely."""
    rows: list[Record] = []
    for (problem, points, told), part in stops.groupby(["problem", "points", "told"], sort=False):
        rows.append(
            {"problem": problem, "points": points, "told": told, "searches": len(part)}
            | {"stopped": int(np.isfinite(part["stop"]).sum()), "false": int(part["false"].sum())}
            | {"median evaluations": float(np.median(part["stop"])), "largest regret": float(part["regret"].max())}
            | {"feasible %": 100.0 * float(part["n_feasible"].sum() / part["n"].sum())}
        )
    return pd.DataFrame(rows)


def _result(cells: pd.DataFrame) -> str:
    said: list[str] = []
    for points, told in constrained.WAYS:
        part = cells[(cells["points"] == points) & (cells["told"] == told)]
        stopped, false, searches = (int(part[name].sum()) for name in ("stopped", "false", "searches"))
        said.append(f"{stopped} of {searches} by points of {points} and {told} ({false} falsely)")
    return f"**Constraints:** searches ended where better points are forbidden: {', '.join(said)}."


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "problem": cells["problem"],
            "points of": cells["points"],
            "told": cells["told"],
            "stopped": [f"{k}/{n}" for k, n in zip(cells["stopped"], cells["searches"], strict=True)],
            "median evaluations": cells["median evaluations"].map(number),
            "false": [rate(k, n) for k, n in zip(cells["false"], cells["searches"], strict=True)],
            "largest regret": cells["largest regret"].map(number),
            "feasible": cells["feasible %"].map(lambda share: f"{share:.0f} %"),
        }
    )


def _draw(figure: Figure, stops: pd.DataFrame) -> None:
    figure.set_size_inches(9, 3.2)
    axes = figure.subplots(1, len(constrained.PROBLEMS), sharey=True)
    n = np.arange(1, constrained.TRIALS + 1)
    for axis, name in zip(axes, constrained.PROBLEMS, strict=True):
        for (points, told), colour in _COLOURS.items():
            part = stops[(stops["problem"] == name) & (stops["points"] == points) & (stops["told"] == told)]
            share = [100.0 * float((part["stop"] <= k).sum()) / max(len(part), 1) for k in n]
            axis.step(n, share, color=colour, where="post", lw=1.8, label=f"{points}, {told}")
        axis.set(title=name, xlabel="evaluations", xlim=(0, constrained.TRIALS), ylim=(-2, 102))
        plain(axis)
    axes[0].set_ylabel("searches stopped (%)")
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)

"""The default rule beside other samplers: how many searches ended, how many falsely."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import others
from benchmarks.misspecified_problems import SHARES
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREEN, ORANGE, Section, plain
from benchmarks.tables import number

Record = dict[str, Any]
_COLOURS = dict(zip(others.SAMPLERS, (BLUE, GREEN, ORANGE), strict=True))


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / others.PATH.name)
    if not records:
        return None
    stops = stopped(records)
    cells = counted(stops)
    seeds = stops.groupby(["problem", "points", "share"]).size()
    n_seeds = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
    return Section(
        title="Beside other samplers",
        result=_result(cells),
        asked="Does the default rule say the truth where somebody else chooses the points? Test functions in 2 to 6 "
        "dimensions, whose optimum is known, by Optuna's TPE, its GPSampler and at random; ε is 1 % or 5 % of the "
        f"range; up to {others.TRIALS} evaluations, asked after each, δ = {others.DELTA}, {n_seeds} seeds. The minimum "
        "of bowl-3 lies on a face. A stop is false if the certified trial is worse than the optimum by more than ε. "
        "Stopped, false, median evaluations:",
        shown=_shown(cells),
        caption="Share of the searches that had stopped after so many evaluations, ε = 5 %",
        draw=lambda figure: _draw(figure, stops),
        found=(_regrets(cells),),
        tables={"others": cells},
    )


def stopped(records: Sequence[Record]) -> pd.DataFrame:
    """Return for each search and ε after how many evaluations it stopped, ∞ if never, and whether falsely."""
    rows = [
        {"problem": r["problem"], "points": r["points"], "share": share, "seed": r["seed"]}
        | {"stop": np.inf if stop is None else stop, "regret": 0.0 if regret is None else regret / epsilon}
        | {"best": r["best"] / epsilon}
        for r in records
        for share, epsilon, stop, regret in zip(SHARES, r["epsilons"], r["stops"], r["regrets"], strict=True)
    ]
    return pd.DataFrame(rows).assign(false=lambda frame: frame["regret"] > 1.0)


def counted(stops: pd.DataFrame) -> pd.DataFrame:
    """Return how many searches of each problem, sampler and ε ended, and how many falsely."""
    rows: list[Record] = []
    for (problem, points, share), part in stops.groupby(["problem", "points", "share"], sort=False):
        rows.append(
            {"problem": problem, "points": points, "share": share, "searches": len(part)}
            | {"stopped": int(np.isfinite(part["stop"]).sum()), "false": int(part["false"].sum())}
            | {"median evaluations": float(np.median(part["stop"])), "largest regret in ε": float(part["regret"].max())}
            | {"within ε in the end": int((part["best"] <= 1.0).sum())}
        )
    return pd.DataFrame(rows)


def _result(cells: pd.DataFrame) -> str:
    said: list[str] = []
    for points in others.SAMPLERS:
        part = cells[cells["points"] == points]
        stopped, false, searches = (int(part[name].sum()) for name in ("stopped", "false", "searches"))
        said.append(f"{stopped} of {searches} by {_named(points)} ({false} falsely)")
    return f"**Beside other samplers** on test functions the default rule ended searches: {', '.join(said)}."


def _named(points: str) -> str:
    return "random points" if points == "random" else points


def _regrets(cells: pd.DataFrame) -> str:
    worst = cells.loc[cells["largest regret in ε"].idxmax()]
    reached = [
        f"{int(part['within ε in the end'].sum())} of {int(part['searches'].sum())} by {_named(str(points))}"
        for points, part in cells.groupby("points", sort=False)
    ]
    return (
        f"**The largest regret** of a certified trial was {number(float(worst['largest regret in ε']), 2)} ε "
        f"({worst['problem']}, {worst['points']}, {100 * worst['share']:.0f} %). After {others.TRIALS} evaluations the "
        f"best value was within ε of the optimum in {', '.join(reached)}: the others could not have ended truly."
    )


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    for (problem, share), part in cells.groupby(["problem", "share"], sort=False):
        row: Record = {"problem": problem, "ε": f"{100 * share:.0f} %"}
        for cell in part.to_dict("records"):
            row[str(cell["points"])] = (
                f"{cell['stopped']}/{cell['searches']}, {cell['false']}, {number(cell['median evaluations'])}"
            )
        rows.append(row)
    return pd.DataFrame(rows)


def _draw(figure: Figure, stops: pd.DataFrame) -> None:
    figure.set_size_inches(12, 3.0)
    axes = figure.subplots(1, len(others.NAMES), sharey=True)
    n = np.arange(1, others.TRIALS + 1)
    for axis, name in zip(axes, others.NAMES, strict=True):
        for points, colour in _COLOURS.items():
            part = stops[(stops["problem"] == name) & (stops["points"] == points) & (stops["share"] == max(SHARES))]
            share = [100.0 * float((part["stop"] <= k).sum()) / max(len(part), 1) for k in n]
            axis.step(n, share, color=colour, where="post", lw=1.8, label=points)
        axis.set(title=name, xlabel="evaluations", xlim=(0, others.TRIALS), ylim=(-2, 102))
        plain(axis)
    axes[0].set_ylabel("searches stopped (%)")
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)

"""Where to look next."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import samplers
from benchmarks.records import read
from benchmarks.sections.section import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, Section, plain
from benchmarks.tables import number

_ALL = "all"
_DEFAULT = "exceedance of ε"
_LINES = dict(
    zip(
        samplers.SAMPLERS,
        ((ORANGE, "-"), (PINK, "--"), (RED, ":"), (GREEN, "-."), (BLUE, "-"), (SKY, "--"), (BLACK, "-.")),
        strict=True,
    )
)


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / samplers.PATH.name)
    if not records:
        return None
    counts = pd.concat([counted([r | {"problem": _ALL} for r in records]), counted(records)])
    return Section(
        title="Where to look next",
        result=_result(counts),
        asked="How soon do rules stop, and how good is the best value, by how the points are chosen? Nine problems "
        f"without noise, {len({r['seed'] for r in records})} seeds, {records[0]['trials']} evaluations; ε = 1 % of the "
        f"range (draws: a tenth of the deviation). Rules are asked at the mode, UCBbr at every {samplers.EVERY}th and "
        f"PRB at every {samplers.PRB_EVERY}th evaluation.",
        shown=_shown(counts[counts["problem"].eq(_ALL)]),
        caption="Share of the searches that had found a trial within ε, and that UCBbr had stopped, after so many "
        "evaluations",
        draw=lambda figure: _draw(figure, records),
        found=(),
        tables={"samplers": counts},
    )


def counted(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return what became of the searches, by problem and how points were chosen; medians count ∞ where there was "
    "none."""
    rows: list[dict[str, Any]] = []
    for problem in dict.fromkeys(r["problem"] for r in records):
        for sampler in samplers.SAMPLERS:
            paths = [r for r in records if (r["problem"], r["sampler"]) == (problem, sampler)]
            if not paths:
                continue
            within = [_within(r) for r in paths]
            row: dict[str, Any] = {"problem": problem, "points": sampler, "searches": len(paths)}
            row |= {"within ε": sum(map(math.isfinite, within)), "median within ε": float(np.median(within))}
            row["median best regret / ε"] = float(np.median([min(r["regrets"]) / r["epsilon"] for r in paths]))
            for rule in ("UCBbr", "PRB"):
                ends = [r["stops"].get(rule, {"n": math.inf, "regret": 0.0}) for r in paths]
                row[f"{rule} stopped"] = sum(math.isfinite(end["n"]) for end in ends)
                row[f"{rule} false"] = sum(end["regret"] > r["epsilon"] for end, r in zip(ends, paths, strict=True))
                row[f"median {rule} stop"] = float(np.median([end["n"] for end in ends]))
            rows.append(row)
    return pd.DataFrame(rows)


def _within(record: dict[str, Any]) -> float:
    return next((n for n, regret in enumerate(record["regrets"], 1) if regret <= record["epsilon"]), math.inf)


def _result(counts: pd.DataFrame) -> str:
    here = counts[counts["problem"].eq(_ALL)].set_index("points")
    said = [
        f"UCBbr stopped {row['UCBbr stopped']}, {row['UCBbr false']} falsely, and PRB {row['PRB stopped']}, "
        f"{row['PRB false']} falsely, by {name}{' (default)' if name == _DEFAULT else ''}"
        for name in (_DEFAULT, "√β = 2")
        if name in here.index
        for row in [here.loc[name]]
    ]
    return f"**Where to look next:** of {here['searches'].max()} searches {'; '.join(said)}."


def _shown(counts: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "points by": row["points"] + (" (default)" if row["points"] == _DEFAULT else ""),
            "within ε": f"{row['within ε']}/{row['searches']}",
            "median": number(row["median within ε"]),
            "best regret / ε, median": number(row["median best regret / ε"], 2),
        }
        | {
            name: text
            for rule in ("UCBbr", "PRB")
            for name, text in (
                (f"{rule}: stopped, false", f"{row[f'{rule} stopped']}, {row[f'{rule} false']}"),
                (f"median {rule} stop", number(row[f"median {rule} stop"])),
            )
        }
        for _, row in counts.iterrows()
    )


def _draw(figure: Figure, records: Sequence[dict[str, Any]]) -> None:
    figure.set_size_inches(9, 3.6)
    axes = figure.subplots(1, 2, sharey=True)
    most = max(r["trials"] for r in records)
    n = np.arange(1, most + 2)
    for sampler, (colour, style) in _LINES.items():
        paths = [r for r in records if r["sampler"] == sampler]
        stops = [r["stops"].get("UCBbr", {"n": math.inf})["n"] for r in paths]
        for axis, ends in zip(axes, ([_within(r) for r in paths], stops), strict=True):
            if ends:
                share = [100 * float(np.mean(np.array(ends) <= k)) for k in n]
                axis.step(n, share, style, color=colour, where="post", label=sampler)
    for axis, title in zip(axes, ("a trial within ε was found", "UCBbr had stopped"), strict=True):
        axis.set(title=title, xlabel="evaluations", xlim=(0, most + 1), ylim=(-2, 102))
        plain(axis)
    axes[0].set_ylabel("searches (%)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)

"""Draws of a Gaussian process whose kernel the model has to estimate: UCBbr at a number for β, and other rules."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import paper
from benchmarks.outcomes import counted, longest, outcomes, shortened
from benchmarks.paper_problems import EPSILON, ROWS
from benchmarks.paths import DELTA
from benchmarks.records import read
from benchmarks.sections.section import BLUE, ORANGE, TREATMENTS, Section, plain
from benchmarks.tables import number, rate, stopped_and_false

RULES = ("UCBbr", "PRB", "calibrated gap", "certified gap", "DeltaCB", "DeltaES", "AcquisitionThreshold")
_SHOWN = ("UCBbr", "PRB", "certified gap")
_ALL = "all"
_POINTS = {"exceedance": "√β = 2 and exceedance of ε (default points)", "√β = 2": "√β = 2 alone"}
_BY = ["d", "kernel", "points", "hyperparameters", "rule"]


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    everything = [r for r in read(folder / paper.PATH.name) if r["problem"].startswith("GP ")]
    records = longest(everything)
    if not records:
        return None
    found = outcomes(records, RULES)
    found.insert(0, "d", [ROWS[name].dim for name in found["problem"]])
    counts = pd.concat([counted(found.assign(**group), _BY) for group in _GROUPS])
    together = counts[(counts["d"] == _ALL) & (counts["kernel"] == _ALL)]
    return Section(
        title="Draws of a Gaussian process, kernel unknown: rules of a number",
        result=_result(together),
        asked=f"Does a rule stop falsely where only the hyperparameters are unknown? The paper's draws in two and six "
        f"dimensions, Matérn-5/2 and SE, ε = {EPSILON} (a tenth of the deviation), δ = {DELTA}, up to "
        f"{max(r['trials'] for r in records)} evaluations.",
        shown=_shown(together),
        caption="Share of the searches that UCBbr had stopped, and stopped falsely, after so many evaluations",
        draw=lambda figure: _draw(figure, found[found["rule"] == "UCBbr"]),
        found=(shortened(len(everything) - len(records)), _hard(counts)),
        tables={"draws": counts},
    )


# All together, each dimension, and each dimension and kernel.
_GROUPS: tuple[dict[str, Any], ...] = ({"d": _ALL, "kernel": _ALL}, {"kernel": _ALL}, {})


def _result(together: pd.DataFrame) -> str:
    usual = together[together["points"].eq("exceedance") & together["hyperparameters"].eq("map")]
    parts = [
        f"{rule} at √β = 2 stopped {row['stopped']} of {row['searches']} searches, {row['false']} falsely "
        f"({row['false from %']:.0f}–{row['false to %']:.0f} %)"
        for rule, row in usual.set_index("rule").iterrows()
        if rule == "UCBbr"
    ]
    return f"**Draws, kernel unknown, rules of a number:** {'; '.join(parts) or 'it was not asked'}."


def _shown(together: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, str]] = []
    for points, words in _POINTS.items():
        for treatment in ("map", "posterior"):
            here = together[together["points"].eq(points) & together["hyperparameters"].eq(treatment)]
            row = {"points by": words, "hyperparameters": TREATMENTS[treatment]}
            for rule, counts in here.set_index("rule").iterrows():
                if rule in _SHOWN:
                    row |= {
                        f"{rule}: stopped, false": stopped_and_false(counts),
                        f"median {rule} stop": number(counts["median stop"]),
                    }
            rows += [row] if len(here) else []
    return pd.DataFrame(rows)


def _hard(counts: pd.DataFrame) -> str:
    """Return in words where it is worst."""
    usual = counts[counts["points"].eq("exceedance") & counts["hyperparameters"].eq("map") & counts["rule"].eq("UCBbr")]
    cells = usual[usual["kernel"].ne(_ALL)]
    if cells.empty:
        return ""
    worst = cells.loc[(cells["false"] / cells["searches"]).idxmax()]
    return (
        f"**Where it is worst.** In d = {worst['d']} under {worst['kernel']} UCBbr with √β = 2 was false in "
        f"{rate(worst['false'], worst['searches'])}, elsewhere in {cells['false'].sum() - worst['false']} of "
        f"{cells['searches'].sum() - worst['searches']}."
    )


def _draw(figure: Figure, found: pd.DataFrame) -> None:
    dims = sorted(set(found["d"]))
    figure.set_size_inches(9, 3.3)
    axes = figure.subplots(1, len(dims), sharey=True, squeeze=False)[0]
    most = int(found["end"].max())
    n = np.arange(1, most + 3)
    for axis, dim in zip(axes, dims, strict=True):
        for points, colour in zip(_POINTS, (BLUE, ORANGE), strict=True):
            for treatment, style in (("map", "-"), ("posterior", "--")):
                here = found[found["d"].eq(dim) & found["points"].eq(points) & found["hyperparameters"].eq(treatment)]
                if here.empty:
                    continue
                label = f"{_POINTS[points]}, {TREATMENTS[treatment]}"
                for rows, width in ((here, 1.6), (here[here["false"]], 3.5)):
                    share = [100 * float((rows["stop"] <= k).sum()) / len(here) for k in n]
                    axis.step(n, share, style, color=colour, lw=width, where="post", label=label)
                    label = None
        axis.set(title=f"d = {dim}", xlabel="evaluations", xlim=(0, most + 2), ylim=(-2, 102))
        plain(axis)
    axes[0].set_ylabel("searches (%)\nthin: stopped, thick: falsely")
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)

"""The picture of false stops against stopping times."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.misspecified_problems import SHARES
from benchmarks.stops import DEFAULTS, TARGET, first_within, tally
from benchmarks.tables import wilson_interval

Records = Sequence[Mapping[str, Any]]
_STYLES = dict(
    zip(
        dict.fromkeys(case.rule for case in DEFAULTS),
        (("o", "C0"), ("s", "C1"), ("D", "C2"), ("^", "C3"), ("v", "C4"), ("P", "C5"), ("X", "C6"), ("*", "k")),
        strict=True,
    )
)
_N_COLUMNS = 5
# Points that would lie on each other are set side by side, so many evaluations apart.
_APART = 1.5


def draw(records: Records, target: Path) -> None:
    """Draw the smaller ε, a panel a problem: false stops of all paths with Wilson's interval, over median stops."""
    names = list(dict.fromkeys(record["problem"] for record in records))
    n_rows = math.ceil(len(names) / _N_COLUMNS)
    figure = Figure(figsize=(15, 1.8 + 2.9 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, _N_COLUMNS, sharey=True, squeeze=False).ravel()
    for axis, name in zip(axes, names, strict=False):
        _panel(axis, [record for record in records if record["problem"] == name])
        axis.set_title(name)
    for axis in axes[len(names) :]:
        axis.remove()
    figure.supxlabel("median evaluations at the stop")
    figure.supylabel(f"paths with a false stop (%), ε = {100 * SHARES[0]:.0f} % of the range")
    marks = [Line2D([], [], marker=marker, color=color, ls="", label=rule) for rule, (marker, color) in _STYLES.items()]
    marks += [
        Line2D([], [], marker="o", color="0.4", ls="", label="filled: mode of the hyperparameters"),
        Line2D([], [], marker="o", color="0.4", mfc="white", ls="", label="hollow: samples of them"),
        Line2D([], [], marker="o", color="0.4", ls="", ms=3, label="small: few paths were stopped"),
        Line2D([], [], color="0.4", ls="--", lw=0.8, label=f"{100 * TARGET:.0f} %"),
        Line2D([], [], color="0.4", ls=":", label="best trial within ε (median)"),
    ]
    figure.legend(handles=marks, loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(target, dpi=120, metadata={"Software": None})


def _panel(axis: Axes, records: Records) -> None:
    axis.axhline(100 * TARGET, color="0.4", ls="--", lw=0.8)
    oracle = float(np.median([first_within(record, 0) for record in records]))
    if math.isfinite(oracle):
        axis.axvline(oracle, color="0.4", ls=":")
    tallies = [(case, tally(records, case, 0)) for case in DEFAULTS]
    shown = [(case, found) for case, found in tallies if found.stops]
    together = Counter((found.median_stop, found.n_false) for _, found in shown)
    placed = Counter[tuple[float, int]]()
    for case, found in shown:
        place = found.median_stop, found.n_false
        marker, color = _STYLES[case.rule]
        low, high = wilson_interval(found.n_false, found.n_paths)
        share = found.n_false / found.n_paths
        axis.errorbar(
            found.median_stop + _APART * (placed[place] - (together[place] - 1) / 2),
            100 * share,
            yerr=[[100 * (share - low)], [100 * (high - share)]],
            fmt=marker,
            color=color,
            mfc="white" if case.treatment == "posterior" else color,
            ms=3 + 5 * len(found.stops) / found.n_paths,
            lw=0.8,
            zorder=3,
        )
        placed[place] += 1
    # Most shares are small: their roots are to scale. Below 0 there is room for the marks only.
    axis.set_yscale("function", functions=(lambda y: np.sign(y) * np.sqrt(np.abs(y)), lambda r: np.sign(r) * r**2))
    axis.set(xlim=(0, max(record["trials"] for record in records) + 4), ylim=(-0.5, 108), yticks=[0, 5, 20, 50, 100])
    axis.spines[["top", "right"]].set_visible(False)

"""Pictures of the paper's tables: stops against false stops, and regrets along the paths with the stops on them."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import paper_data
from benchmarks.outcomes import Outcome, outcome, summary
from benchmarks.paper_problems import EPSILON, ROWS
from benchmarks.paths import KERNELS

Records = list[dict[str, Any]]

COLOURS = {
    "UCBbr": "#0072b2",
    "PRB": "#d55e00",
    "AcquisitionThreshold": "#999999",
    "DeltaCB": "#009e73",
    "DeltaES": "#cc79a7",
    "calibrated gap": "#8c564b",
    "certified gap": "#000000",
}
# Heading, marker, how the points are chosen, treatments and answers.
_WHO = (
    ("√β = 2, mode, no model check", "o", "√β = 2", ("fixed", "map"), "without"),
    ("by default: exceedance, mode, model check", "D", "exceedance", ("fixed", "map"), "inflated"),
    ("√β = 2, eight samples, model check", "s", "√β = 2", ("fixed", "posterior"), "inflated"),
)
_TICKS = (5, 10, 20, 50, 100, 200, 500)
# Regrets below this are drawn as this.
_LEAST = 1e-4
_CURVES = ("GP-known 3e-3, d = 2", "GP 3e-3, d = 6", "Branin", "Levy-4")


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def stops(records: Records, target: Path) -> None:
    """Draw each rule's mean stop against its rate of false stops, with the paper's points, for two groups of rows."""
    plt = _pyplot()
    groups = {
        "T as in the paper": [n for n, row in ROWS.items() if row.paper and row.trials == row.budget],
        "T = 128 in place of 512": [n for n, row in ROWS.items() if row.noise and row.trials < row.budget],
    }
    shown = {title: names for title, names in groups.items() if any(r["problem"] in names for r in records)}
    height = 4.2 * len(shown) + 0.8
    figure, axes = plt.subplots(
        len(shown), len(KERNELS), figsize=(12, height), squeeze=False, sharex="row", sharey="row"
    )
    for line, (title, names) in zip(axes, shown.items(), strict=True):
        for axis, kernel in zip(line, KERNELS, strict=True):
            paths = [r for r in records if r["kernel"] == kernel and r["problem"] in names]
            present = {r["problem"] for r in paths}
            _stops_of(axis, kernel, paths, present)
            axis.set(xscale="log", xlabel="mean stop (evaluations; T without a stop)", xlim=(4, 600))
            axis.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
            axis.set_xticks([], minor=True)
            axis.set_title(f"{kernel}, {title}: {len(present)} rows", fontsize=10)
            axis.grid(alpha=0.3)
        line[0].set_ylabel("false stops; the paper: no success (%)")
    handles = [plt.Line2D([], [], color=c, marker="o", ls="", label=rule) for rule, c in COLOURS.items()]
    handles += [plt.Line2D([], [], color="grey", marker=m, ls="", label=who) for who, m, *_ in _WHO]
    handles += [plt.Line2D([], [], color="grey", marker="X", ls="", mfc="none", label="the paper")]
    figure.legend(handles=handles, loc="lower center", ncols=5, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0.7 / height, 1, 1))
    figure.savefig(target, dpi=110)
    plt.close(figure)


def _stops_of(axis: Any, kernel: str, records: Records, names: set[str]) -> None:
    for rule, colour in COLOURS.items():
        places: list[tuple[float, float]] = []
        printed = [cell for (name, r), cell in paper_data.results(kernel).items() if r == rule and name in names]
        if printed:
            place = float(np.mean([c.stop for c in printed])), 100 * (1 - float(np.mean([c.success for c in printed])))
            axis.plot(*place, "X", color=colour, mfc="none", ms=10, mew=1.5)
            places.append(place)
        for _, marker, sampler, treatments, check in _WHO:
            # Rows count alike, however many paths of each there are.
            found = [
                summary([outcome(r, rule, check) for r in paths])
                for name in sorted(names)
                if (
                    paths := [
                        r
                        for r in records
                        if (r["problem"], r["sampler"]) == (name, sampler) and r["treatment"] in treatments
                    ]
                )
            ]
            if found:
                place = (
                    float(np.mean([s.mean_stop for s in found])),
                    100 * float(np.mean([s.false / s.paths for s in found])),
                )
                axis.plot(*place, marker, color=colour, ms=8, alpha=0.85)
                places.append(place)
        axis.plot(*zip(*places, strict=True), color=colour, lw=0.8, alpha=0.4) if places else None


def curves(records: Records, target: Path) -> None:
    """Draw the least regret so far on some rows, with the median stops of the rules at the mode, unchecked."""
    plt = _pyplot()
    present = {r["problem"] for r in records}
    names = [name for name in _CURVES if name in present] or sorted(present)[:1]
    height = 3.2 * len(names) + 0.4
    figure, axes = plt.subplots(len(names), len(KERNELS), figsize=(12, height), squeeze=False)
    for line, name in zip(axes, names, strict=True):
        for axis, kernel in zip(line, KERNELS, strict=True):
            paths = [
                r
                for r in records
                if (r["problem"], r["kernel"]) == (name, kernel) and r["treatment"] in ("fixed", "map")
            ]
            axis.set_title(f"{name}, {kernel}; paths: {len(paths)}", fontsize=10)
            if paths:
                _curve(axis, paths)
        line[0].set_ylabel("least regret so far")
    for axis in axes[-1]:
        axis.set_xlabel("evaluations")
    handles = [plt.Line2D([], [], color=c, marker="v", ls="", label=rule) for rule, c in COLOURS.items()]
    handles += [plt.Line2D([], [], color="#cc0000", ls="--", label="ε")]
    figure.legend(handles=handles, loc="lower center", ncols=8, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0.4 / height, 1, 1))
    figure.savefig(target, dpi=110)
    plt.close(figure)


def _curve(axis: Any, paths: Records) -> None:
    best = np.maximum(np.minimum.accumulate([r["regrets"] for r in paths], axis=1), _LEAST)
    n = np.arange(1, best.shape[1] + 1)
    low, middle, high = np.quantile(best, [0.25, 0.5, 0.75], axis=0)
    axis.fill_between(n, low, high, color="grey", alpha=0.25, lw=0)
    axis.plot(n, middle, color="#333333", lw=1.5)
    axis.axhline(EPSILON, color="#cc0000", ls="--", lw=1)
    for k, (rule, colour) in enumerate(COLOURS.items()):
        found: list[Outcome] = [outcome(r, rule, "without") for r in paths]
        stop = summary(found).median_stop
        if math.isfinite(stop):
            axis.axvline(stop, color=colour, lw=1, alpha=0.7)
            # In steps, so that stops at the same place can be told apart.
            axis.plot(stop, 0.97 - 0.07 * k, "v", color=colour, ms=7, transform=axis.get_xaxis_transform())
    axis.set(yscale="log", xlim=(1, len(n)))
    axis.grid(alpha=0.3)

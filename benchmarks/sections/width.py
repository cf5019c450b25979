"""The right width: when rules stop, and how often falsely, where the kernel is known, smooth or rough."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import width
from benchmarks.records import read
from benchmarks.sections.section import BLUE, Section, plain
from benchmarks.tables import exact_interval, number

Record = dict[str, Any]
_CELL = ["kernel", "d", "ℓ", "points"]
_COUNTED = "calibrated, 0.05"
# Of what certificates said; the last one is closed.
_BINS = (0.0, 0.02, 0.1, 0.3, 1.0)


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / width.PATH.name)
    if not records:
        return None
    stops = stopped(records)
    said = calibration(records)
    return Section(
        title="The right width",
        result=_result(stops),
        asked="Does a certificate that counts what is left stop where it may, and go on where it must? Draws on the "
        f"unit cube with the kernel and the noise ({width.NOISE:g}) told to the model, from a handful of hills to "
        f"thousands, ε = {width.EPSILON:g} (a fifth of the deviation), δ = 0.05 unless it is said. All rules see the "
        f"same searches, with {' and '.join(sorted(stops['points'].unique()))} points, and are asked at every other "
        "evaluation up to 40 and less often from there on. Stopped, false; median evaluations of UCBbr and of the "
        "count:",
        shown=_shown(stops),
        caption="What certificates said was left, by bins, and the share of them where something better by more than ε "
        "was left indeed, with 95 % intervals; between the lines: at most what was said, and at least a third of it",
        draw=lambda figure: _draw(figure, said),
        found=(),
        tables={"width": _by(stops, [*_CELL, "rule"]), "width-calibration": said},
    )


def stopped(records: Sequence[Record]) -> pd.DataFrame:
    """Return for each rule on each search after how many evaluations it stopped, ∞ if never, and whether falsely."""
    return pd.DataFrame(
        {
            "kernel": record["kernel"],
            "d": record["dim"],
            "ℓ": record["lengthscale"],
            "points": record["sampler"],
            "rule": rule,
            "stop": np.inf if tally["stop"] is None else tally["stop"],
            "false": tally["stop"] is not None and tally["regret"] > record["epsilon"],
        }
        for record in records
        for rule, tally in record["rules"].items()
    )


def calibration(records: Sequence[Record]) -> pd.DataFrame:
    """Return for bins of what was said the mean of it and the share where something remained, with its interval."""
    said, remained = np.array([pair for record in records for pair in record["left"] if pair[0] is not None]).T
    rows: list[dict[str, Any]] = []
    for low, high in itertools.pairwise(_BINS):
        within = (said >= low) & ((said < high) | (high == 1.0))
        n, k = int(within.sum()), int(remained[within].sum())
        below, above = exact_interval(k, n)
        mean = float(said[within].mean()) if n else np.nan
        rows.append(
            {"from": low, "to": high, "certificates": n, "said": mean, "remained": k / n if n else np.nan}
            | {"remained from": below, "remained to": above}
        )
    return pd.DataFrame(rows)


def _by(stops: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return how many searches have the same values in these columns, how many of them ended, and how many falsely."""
    rows: list[dict[str, Any]] = []
    for cell, part in stops.groupby(columns, sort=True):
        n, k = len(part), int(part["false"].sum())
        low, high = exact_interval(k, n)
        rows.append(
            dict(zip(columns, cell, strict=True))
            | {"searches": n, "stopped": int(np.isfinite(part["stop"]).sum()), "false": k}
            | {
                "false from %": 100 * low,
                "false to %": 100 * high,
                "median evaluations": float(np.median(part["stop"])),
            }
        )
    return pd.DataFrame(rows)


def _result(stops: pd.DataFrame) -> str:
    rows = _by(stops, ["rule"]).set_index("rule")
    said = [
        f"{rows.loc[rule, 'false']} of {rows.loc[rule, 'stopped']} by {rule}" for rule in (_COUNTED, "UCBbr", "ΔCB")
    ]
    return f"**The right width:** of the stops with a known kernel, smooth and rough, false were {', '.join(said)}."


def _shown(stops: pd.DataFrame) -> pd.DataFrame:
    cells = _by(stops, ["d", "ℓ", "rule"])
    rows: list[dict[str, Any]] = []
    for cell, part in cells.groupby(["d", "ℓ"], sort=False):
        by_rule = part.set_index("rule")
        row: dict[str, Any] = dict(zip(("d", "ℓ"), cell, strict=True)) | {"searches": by_rule["searches"].iloc[0]}
        row |= {rule: f"{by_rule.loc[rule, 'stopped']}, {by_rule.loc[rule, 'false']}" for rule in width.RULES}
        medians = (number(float(by_rule.loc[rule, "median evaluations"])) for rule in ("UCBbr", _COUNTED))
        row["medians"] = ", ".join(medians)
        rows.append(row)
    return pd.DataFrame(rows)


def _draw(figure: Figure, said: pd.DataFrame) -> None:
    figure.set_size_inches(6, 4)
    axis = figure.subplots()
    x = np.linspace(0.0, 1.0, 101)
    axis.plot(x, x, color="black", ls="--", lw=1)
    axis.plot(x, x / 3.0, color="black", ls=":", lw=1)
    share = said["remained"]
    axis.errorbar(
        said["said"],
        share,
        yerr=[share - said["remained from"], said["remained to"] - share],
        fmt="o",
        color=BLUE,
        ms=5,
        lw=1.5,
    )
    for _, each in said.iterrows():
        axis.annotate(f"{each['certificates']:.0f}", (each["said"], each["remained to"]), fontsize=8, ha="center")
    axis.set_xlabel("probability left, as certificates said")
    axis.set_ylabel("share where something was left")
    plain(axis)

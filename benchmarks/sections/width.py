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
from benchmarks.tables import exact_interval, number, wilson_interval
from regretstop.array import Array

Record = dict[str, Any]
_CELL = ["kernel", "d", "ℓ", "points"]
_COUNTED, _COUNTS = width.COUNTED, {width.COUNTED: 0.05, width.COUNTED_TOO: 0.1}
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
        "same searches, with calibrated points, and are asked at every other evaluation up to 40 and at every tenth "
        f"from there on; {' and '.join(width.DEAR)}, which cost the most, along one of {width.DEAR_ONE_OF}. Stopped of "
        "searches, false, median evaluations:",
        shown=_shown(stops[stops["points"].eq("calibrated")]),
        caption="What certificates said was left, by bins, and the share of them where something better by more than ε "
        "was left indeed, with 95 % intervals; between the lines: at most what was said, and at least a third of it",
        draw=lambda figure: _draw(figure, said),
        found=(_cells_found(stops), _at_default_points(stops)),
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
    """Return for bins of what was said the mean of it and the share where something remained, with its interval.

    Certificates of one search share their luck, so an interval is that of as many independent ones as would have the
    same variance: Kish's effective number, and no more than there are searches where all or none remained.
    """
    pairs = [(i, *pair) for i, record in enumerate(records) for pair in record["left"] if pair[0] is not None]
    search, said, remained = np.array(pairs).T
    rows: list[dict[str, Any]] = []
    for low, high in itertools.pairwise(_BINS):
        within = (said >= low) & ((said < high) | (high == 1.0))
        n, k = int(within.sum()), int(remained[within].sum())
        below, above = _interval(search[within], remained[within])
        mean = float(said[within].mean()) if n else np.nan
        rows.append(
            {"from": low, "to": high, "certificates": n, "said": mean, "remained": k / n if n else np.nan}
            | {"remained from": below, "remained to": above}
        )
    return pd.DataFrame(rows)


def _interval(search: Array, remained: Array) -> tuple[float, float]:
    """Return the 95 % interval of a share among certificates, of which those of one search go together."""
    if not len(remained):
        return np.nan, np.nan
    share = float(remained.mean())
    totals = [float(np.sum(remained[search == i] - share)) for i in np.unique(search)]
    alone = share * (1.0 - share) * len(remained)
    together = float(np.sum(np.square(totals)))
    n = len(remained) * min(alone / together, 1.0) if together > 0.0 else len(totals)
    return wilson_interval(share * n, n)


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
    rows = _by(stops[stops["points"].eq("calibrated")], ["rule"]).set_index("rule")
    said = [
        f"{rows.loc[rule, 'false']} of {rows.loc[rule, 'stopped']} by {rule}" for rule in (*_COUNTS, "UCBbr", "ΔCB")
    ]
    return f"**The right width:** of the stops with a known kernel, smooth and rough, false were {', '.join(said)}."


def _shown(stops: pd.DataFrame) -> pd.DataFrame:
    cells = _by(stops, ["d", "ℓ", "kernel", "rule"])
    rows: list[dict[str, Any]] = []
    for cell, part in cells.groupby(["d", "ℓ", "kernel"], sort=False):
        row: dict[str, Any] = dict(zip(("d", "ℓ", "kernel"), cell, strict=True))
        for _, said in part.set_index("rule").reindex(list(width.RULES)).dropna().iterrows():
            median = number(float(said["median evaluations"]))
            row[str(said.name)] = f"{said['stopped']:.0f}/{said['searches']:.0f}, {said['false']:.0f}, {median}"
        rows.append(row)
    return pd.DataFrame(rows)


def _cells_found(stops: pd.DataFrame) -> str:
    """Return in how many cells the count was false more often than it may, and stopped later than UCBbr."""
    cells = _by(stops[stops["points"].eq("calibrated")], ["d", "ℓ", "kernel", "rule"])
    by_rule = {str(rule): part.set_index(["d", "ℓ", "kernel"]) for rule, part in cells.groupby("rule")}
    parts = [
        f"{int((100 * delta < by_rule[rule]['false from %']).sum())} at δ = {delta:g}"
        for rule, delta in _COUNTS.items()
    ]
    medians = [by_rule[rule]["median evaluations"] for rule in (_COUNTED, "UCBbr")]
    later = medians[0].index[medians[0] > medians[1]]
    named = ", ".join(
        f"{kernel}, d = {d}, ℓ = {ell:g} (UCBbr false {by_rule['UCBbr'].loc[(d, ell, kernel), 'false']} of "
        f"{by_rule['UCBbr'].loc[(d, ell, kernel), 'stopped']})"
        for d, ell, kernel in later
    )
    return (
        f"**Of {len(medians[0])} cells** the 95 % interval of the share of false stops of the count is above δ in "
        f"{' and '.join(parts)}. Its median is later than UCBbr's in {len(later)}: {named or 'none'}."
    )


def _at_default_points(stops: pd.DataFrame) -> str:
    rows = _by(stops[stops["points"].eq("default")], ["rule"]).set_index("rule")
    said = [
        f"{rule} {rows.loc[rule, 'false']} of {rows.loc[rule, 'stopped']}" for rule in width.RULES if rule in rows.index
    ]
    return f"**At points of √β = 2**, one search of {width.ONE_OF['default']}, stops were false: {', '.join(said)}."


def _draw(figure: Figure, said: pd.DataFrame) -> None:
    figure.set_size_inches(6, 4)
    axis = figure.subplots()
    x = np.geomspace(5e-3, 1.0, 101)
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
    axis.set(xscale="log", yscale="log", ylim=(1e-3, 1.5))
    axis.set_xlabel("probability left, as certificates said")
    axis.set_ylabel("share where something was left")
    plain(axis)

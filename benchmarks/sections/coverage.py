"""How often certificates are false where the model is true."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import coverage
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREEN, ORANGE, TREATMENTS, Section, plain
from benchmarks.tables import exact_interval

_BY = ["kernel", "hyperparameters", "space", "d", "beta", "rule"]
_COLOURS = {"fixed": GREEN, "map": ORANGE, "posterior": BLUE}
_MARKERS = {"fixed": "s", "map": "o", "posterior": "D"}


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / coverage.PATH.name)
    if not records:
        return None
    cells = counted(records)
    lengths = ", ".join(f"{n} (d = {dim})" for dim, n in coverage.TRIALS.items())
    return Section(
        title="Coverage where the model is true",
        result=_result(cells),
        asked='Is a certificate with a proof (`beta` "theory" or "matched") false more often than δ says? Draws of a '
        f"Matérn-5/2 process, ε = {coverage.EPSILON} (a tenth of the deviation), δ = {coverage.DELTA} for "
        f"all certificates of a search at once, at most {lengths} evaluations. The kernel is declared, or drawn with "
        "the noise from the model's priors and estimated. Each rule is asked until it stops, UCBbr only where "
        "the certified gap is below ε or too small: below the regret of its trial, stop or no stop. A cell is "
        "a space, d, β and a rule; “beyond chance” is by the 95 % interval of Clopper and Pearson.",
        shown=_shown(cells),
        caption="Paths on which the certified gap was ever too small, by cell, with 95 % intervals; dashed: δ",
        draw=lambda figure: _draw(figure, cells[cells["rule"] == "OptimalityGap"]),
        found=(),
        tables={"coverage": cells},
    )


def counted(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each cell: runs, certificates, false ones and paths with a bound too small, and intervals in "
    "%."""
    order = [coverage.KERNELS, coverage.SPACES, tuple(coverage.TRIALS), coverage.BETAS]
    keys = ("kernel", "space", "dim", "beta")
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda r: [names.index(r[key]) for names, key in zip(order, keys, strict=True)]):
        for treatment, tallies in record["rules"].items():
            for rule, tally in tallies.items():
                cell = (record["kernel"], treatment, record["space"], record["dim"], record["beta"], rule)
                cells.setdefault(cell, []).append(tally)
    rows: list[dict[str, Any]] = []
    for cell, tallies in cells.items():
        stops = [tally["stop"] for tally in tallies if tally["stop"] is not None]
        row: dict[str, Any] = dict(zip(_BY, cell, strict=True)) | {"runs": len(tallies), "certified": len(stops)}
        quartiles = np.quantile(stops, [0.5, 0.25, 0.75]) if stops else [np.nan] * 3
        row |= dict(zip(("median evaluations", "25 %", "75 %"), quartiles, strict=True))
        for name, count in (
            ("false", sum(tally["stop"] is not None and tally["regret"] > coverage.EPSILON for tally in tallies)),
            ("too small", sum(tally["violated"] > 0 for tally in tallies)),
        ):
            low, high = exact_interval(count, len(tallies))
            row |= {name: count, f"{name} from %": 100 * low, f"{name} to %": 100 * high}
        rows.append(row)
    return pd.DataFrame(rows)


def _result(cells: pd.DataFrame) -> str:
    words = {"fixed": "where the kernel was declared", "map": "at the mode", "posterior": "over samples"}
    said = [
        f"{part['false'].sum()} of {part['certified'].sum():,} were false {words[str(treatment)]}"
        for treatment, part in cells.groupby("hyperparameters", sort=False)
    ]
    return f"**Where the model is true:** of the certificates with a proof {', '.join(said)}."


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for treatment, part in cells.groupby("hyperparameters", sort=False):
        row: dict[str, Any] = {"hyperparameters": TREATMENTS[str(treatment)], "runs": f"{part['runs'].sum():,}"}
        row |= {"certificates": f"{part['certified'].sum():,}", "false": part["false"].sum()}
        above = part[part["too small from %"] > 100 * coverage.DELTA]
        row["false: cells above δ beyond chance"] = _above(part, "false")
        row["bound too small: cells above δ beyond chance"] = _above(part, "too small")
        row["which"] = (
            ", ".join(dict.fromkeys(f"{cell['space']} d = {cell['d']}" for _, cell in above.iterrows())) or "none"
        )
        rows.append(row)
    return pd.DataFrame(rows)


def _above(part: pd.DataFrame, name: str) -> str:
    return f"{(part[f'{name} from %'] > 100 * coverage.DELTA).sum()} of {len(part)}"


def _draw(figure: Figure, cells: pd.DataFrame) -> None:
    figure.set_size_inches(9, 3.6)
    axis = figure.subplots()
    names = list(dict.fromkeys(zip(cells["space"], cells["d"], cells["beta"], strict=True)))
    for k, (treatment, part) in enumerate(cells.groupby("hyperparameters", sort=False)):
        name = str(treatment)
        at = np.array([names.index(cell) for cell in zip(part["space"], part["d"], part["beta"], strict=True)])
        share = 100 * part["too small"] / part["runs"]
        axis.errorbar(
            at + 0.22 * (k - 1),
            share,
            yerr=[share - part["too small from %"], part["too small to %"] - share],
            fmt=_MARKERS[name],
            color=_COLOURS[name],
            ms=4,
            lw=1,
            label=f"{TREATMENTS[name]}",
        )
    axis.axhline(100 * coverage.DELTA, color="black", ls="--", lw=1)
    axis.set_xticks(range(len(names)), [f"{space}\nd = {d}\n{beta}" for space, d, beta in names], fontsize=8)
    axis.set_ylabel("paths with a bound too small (%)")
    plain(axis)
    axis.legend(title="hyperparameters", frameon=False, fontsize=9)

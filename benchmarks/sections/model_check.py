"""How often the model check holds a model back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import model_check
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREY, ORANGE, TREATMENTS, Section, plain
from benchmarks.tables import rate, wilson_interval

_DRAWS = "all draws"
_COLOURS = {"map": ORANGE, "posterior": BLUE}
_EARLY = 32


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / model_check.PATH.name)
    if not records:
        return None
    draws = [r | {"problem": _DRAWS} for r in records if r["problem"] in model_check.DRAWS]
    counts = counted(draws + records)
    return Section(
        title="Model check",
        result=_result(counts),
        asked="How often are the deviations of a model inflated (κ > 1) where it is right, and where it is wrong? "
        f"Searches of `GPUCB` at its defaults, {len({r['seed'] for r in records})} seeds a problem. Draws are of a "
        "Matérn-5/2 process whose hyperparameters have to be estimated; were they known, 5 % would be held back at one "
        "look. Held back after n evaluations:",
        shown=_shown(counts),
        caption="Draws that are held back after n evaluations, with Wilson's 95 % interval; dashed: 5 %",
        draw=lambda figure: _draw(figure, counts[counts["problem"].eq(_DRAWS)]),
        found=(),
        tables={"model-check": counts},
    )


def counted(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return how many paths were held back, and quantiles of κ, by problem, treatment and number of evaluations."""
    looks = pd.DataFrame(
        {"problem": record["problem"], "hyperparameters": treatment, "n": check["n"], "κ": check["inflation"]}
        for record in records
        for treatment, checks in record["checks"].items()
        for check in checks
    )
    groups = looks.groupby(["problem", "hyperparameters", "n"], sort=False)["κ"]
    return groups.agg(
        paths="size",
        held=lambda kappa: int((kappa > 1.0).sum()),
        median="median",
        most=lambda kappa: float(np.quantile(kappa, 0.9)),
    ).reset_index()


def _result(counts: pd.DataFrame) -> str:
    said: list[str] = []
    for treatment in _COLOURS:
        here = counts[counts["hyperparameters"].eq(treatment) & counts["problem"].eq(_DRAWS) & (counts["n"] <= _EARLY)]
        if len(here):
            said.append(f"{here['held'].sum()} of {here['paths'].sum()} looks with the {TREATMENTS[treatment]}")
    return (
        "**Model check:** draws of the model itself were held back in "
        f"{' and '.join(said) or 'none, not being asked,'} up to {_EARLY} evaluations."
    )


def _shown(counts: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for problem in (_DRAWS, "all others"):
        others = counts["problem"].ne(_DRAWS) & ~counts["problem"].isin(model_check.DRAWS)
        here = counts[others if problem != _DRAWS else counts["problem"].eq(_DRAWS)]
        for treatment, part in here.groupby("hyperparameters", sort=False):
            sums = part.groupby("n")[["held", "paths"]].sum()
            cells = {f"n = {n}": rate(int(row["held"]), int(row["paths"])) for n, row in sums.iterrows()}
            rows.append({"problems": problem, "hyperparameters": TREATMENTS[str(treatment)]} | cells)
    return pd.DataFrame(rows)


def _draw(figure: Figure, counts: pd.DataFrame) -> None:
    figure.set_size_inches(6, 2.8)
    axis = figure.subplots()
    for k, (treatment, part) in enumerate(counts.groupby("hyperparameters", sort=False)):
        share = 100 * part["held"] / part["paths"]
        ends = 100 * np.array([wilson_interval(h, n) for h, n in zip(part["held"], part["paths"], strict=True)])
        axis.errorbar(
            part["n"] + k,
            share,
            yerr=[share - ends[:, 0], ends[:, 1] - share],
            fmt="oD"[k] + "-",
            color=_COLOURS[str(treatment)],
            label=TREATMENTS[str(treatment)],
        )
    axis.axhline(5, color=GREY, ls="--")
    axis.set(xlabel="evaluations", ylabel="held back (%)", ylim=(0, 100))
    plain(axis)
    axis.legend(title="hyperparameters", frameon=False)

"""What it changed that several modes of the hyperparameters are searched for."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import modes
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREY, ORANGE, TREATMENTS, Section, plain
from benchmarks.tables import number

Record = dict[str, Any]
_MOVED = 0.1
_WAYS = {"before": GREY, "now": BLUE}


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records of the same path before and after."""
    older = {(each["history"], each["treatment"]): each for each in read(modes.BEFORE)}
    newer = [each for each in read(folder / modes.PATH.name) if (each["history"], each["treatment"]) in older]
    pairs = [(older[each["history"], each["treatment"]], each) for each in newer]
    if not pairs:
        return None
    tests, stops = compared(pairs), stopped(pairs)
    return Section(
        title="The search for the mode",
        result=_result(tests, stops),
        asked="The density of the hyperparameters has several modes. The search for the best started from the prior "
        "medians and from the mode at the last power of two; now it follows several. UCBbr assessed the same points "
        f"both ways, at the mode: {len(stops)} paths of the problems here at every 4th evaluation (60, chosen by an "
        "older source: not the paths of the other sections; ε = 1 %, draws: a tenth of the deviation); and three real "
        "tuning jobs of other samplers (accuracies, ε = 0.01), also over samples. Better or worse is by more than "
        f"{_MOVED:g} in log density. The real jobs, before → now; bounds in ε, σ at the mode in the deviation of the "
        "values:",
        shown=_shown(tests),
        caption="−log density at the mode before, less that now, at the tests where they differ by more than "
        f"{_MOVED:g}; above 0: now better",
        draw=lambda figure: _draw(figure, tests),
        found=_stops_in_words(stops),
        tables={"modes": tests, "modes-stops": stops},
    )


def compared(pairs: Sequence[tuple[Record, Record]]) -> pd.DataFrame:
    """Return −log density, σ and the bound in ε at every test, before and now; no bound is an infinite one."""
    return pd.DataFrame(
        {
            "history": old["history"],
            "hyperparameters": TREATMENTS[old["treatment"]],
            "real": old["sizes"] == list(modes.SIZES),
            "n": n,
            "gain": old["minus_log"][i] - new["minus_log"][i],
        }
        | {f"σ {way}": each["noise_std"][i] for way, each in zip(_WAYS, (old, new), strict=True)}
        | {f"bound {way}": _bound(each, i) for way, each in zip(_WAYS, (old, new), strict=True)}
        for old, new in pairs
        for i, n in enumerate(old["sizes"])
    )


def stopped(pairs: Sequence[tuple[Record, Record]]) -> pd.DataFrame:
    """Return after how many evaluations UCBbr first stopped, infinite if never, and whether falsely."""
    rows: list[dict[str, Any]] = []
    for old, new in pairs:
        if old["sizes"] == list(modes.SIZES):
            continue
        row: dict[str, Any] = {"history": old["history"]}
        for way, each in zip(_WAYS, (old, new), strict=True):
            row[f"stop {way}"], row[f"false {way}"] = _stop(each)
        rows.append(row)
    return pd.DataFrame(rows, columns=["history", *(f"{what} {way}" for way in _WAYS for what in ("stop", "false"))])


def _bound(record: Record, i: int) -> float:
    bound = record["bounds"][i]
    return math.inf if bound is None else bound / record["epsilon"]


def _stop(record: Record) -> tuple[float, bool]:
    for i, (n, regret) in enumerate(zip(record["sizes"], record["named"], strict=True)):
        if _bound(record, i) < 1.0:
            return n, regret > record["epsilon"]
    return math.inf, False


def _result(tests: pd.DataFrame, stops: pd.DataFrame) -> str:
    said: list[str] = []
    for real, name in ((True, "of real jobs"), (False, "of paths of the problems here")):
        # Samples are about the same modes.
        here = tests[tests["real"].eq(real) & tests["hyperparameters"].eq(TREATMENTS["map"])]
        if len(here):
            better, worse = ((sign * here["gain"] > _MOVED).sum() for sign in (1.0, -1.0))
            said.append(f"at {better} of {len(here)} tests {name} a better mode is found, at {worse} a worse one")
    if len(stops):
        said.append(f"false stops were {stops['false before'].sum()} and are {stops['false now'].sum()}")
    return f"**The search for the mode:** {'; '.join(said)}."


def _shown(tests: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for (history, treatment), part in tests[tests["real"]].groupby(["history", "hyperparameters"], sort=False):
        row = {"history": str(history), "hyperparameters": str(treatment)}
        for _, test in part.iterrows():
            bounds, noise = (
                " → ".join(number(test[f"{what} {way}"], digits) for way in _WAYS)
                for what, digits in (("bound", 3), ("σ", 2))
            )
            row[f"n = {test['n']}: bound; σ"] = f"{bounds}; {noise}"
        rows.append(row)
    return pd.DataFrame(rows)


def _stops_in_words(stops: pd.DataFrame) -> tuple[str, ...]:
    if stops.empty:
        return ()
    ways = [
        f"{way} {np.isfinite(stops[f'stop {way}']).sum()} of {len(stops)}, {stops[f'false {way}'].sum()} falsely, "
        f"median {number(float(np.median(stops[f'stop {way}'])))}"
        for way in _WAYS
    ]
    changed = [
        f"{row['history']} ({number(row['stop before'])} → {number(row['stop now'])}"
        f"{', false before' if row['false before'] else ''}{', false now' if row['false now'] else ''})"
        for _, row in stops[stops["stop before"].ne(stops["stop now"])].iterrows()
    ]
    return (
        f"**Stops of UCBbr on the paths of the problems here:** {'; '.join(ways)}. Those that changed, with their seed "
        f"and evaluations: {', '.join(changed) or 'none'}.",
    )


def _draw(figure: Figure, tests: pd.DataFrame) -> None:
    figure.set_size_inches(6, 2.8)
    axis = figure.subplots()
    moved = tests[tests["gain"].abs().gt(_MOVED) & tests["hyperparameters"].eq(TREATMENTS["map"])]
    for real, colour, name in ((True, ORANGE, "real jobs"), (False, BLUE, "problems here")):
        part = moved[moved["real"].eq(real)]
        axis.plot(part["n"], part["gain"], "o", color=colour, alpha=0.7, label=name)
    axis.axhline(0, color=GREY, ls="--")
    axis.set_yscale("symlog", linthresh=1.0)
    axis.set(xlabel="evaluations", ylabel="gain in log density")
    plain(axis)
    axis.legend(frameon=False)

"""Pruned trials: certificates with and without what they showed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import pruned
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREEN, GREY, ORANGE, PINK, Section, plain
from benchmarks.tables import number, rate, wilson_interval

Record = dict[str, Any]
_ALL = "no trial pruned"
_DRAWN = {
    _ALL: (GREY, "--"),
    pruned.NOTHING: (ORANGE, "-"),
    pruned.MAIN: (BLUE, "-"),
    f"{pruned.MAIN}, twice the deviation": (PINK, "-"),
    pruned.ORACLE: (GREEN, ":"),
}
# Columns of what is imputed at the end of a study: the truth, where value and deviation stand, and the last.
_TRUE, _AT, _BEYOND = 1, {"regression": 2, "chain": 4}, 6
# So many deviations below the best completed trial a pruned one is said not to be better.
_CLEAR = 2.0


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / pruned.PATH.name)
    if not records:
        return None
    stops, off = stopped(records), errors(records)
    cells = counted(stops, ["pruner", "told"])
    n_seeds = len({record["seed"] for record in records})
    return Section(
        title="Pruned trials",
        result=_result(cells),
        asked="What if a model is told what pruned trials showed? A network on digits by epochs and boosted trees on "
        "diabetes by trees (recorded curves and trees fitted to them, d = 4), and draws with curves (d = 3); 27 "
        f"steps, ε = 0.01 of accuracy, 1 % of an untuned error, a tenth of a draw's deviation; TPE and GPUCBSampler, "
        f"{n_seeds} seeds, up to {pruned.TRIALS} trials, asked after every third, δ = {pruned.DELTA}, best_possible "
        "declared where there is one. A last value is imputed by *regression* on the completed trials' values at the "
        "step of the last report, or by a *chain* of them, each to twice as many steps, on all trials that came so "
        "far. Hyperparameters are those of completed trials, and the deviation of the prediction is noise of the "
        "imputed value; *as observed* does without either. Certificates are of completed trials throughout. Stopped, "
        "false, median of all trials' steps:",
        shown=_shown(cells),
        caption="Share of the studies that were stopped after so many steps of all trials; dashed: no trial pruned",
        draw=lambda figure: _draw(figure, stops),
        found=(_pairs(stops), _calibration(off), _false(stops)),
        tables={
            "pruned": cells,
            "pruned-jobs": counted(stops, ["job", "sampler", "pruner", "told"]),
            "pruned-imputed": _summary(off, ["pruner", "sampler", "job", "way"]),
        },
    )


def stopped(records: Sequence[Record]) -> pd.DataFrame:
    """Return for each model on each study where it stopped, ∞ if never, and whether falsely."""
    rows: list[Record] = []
    for record in records:
        for name, said in record["said"].items():
            row = {key: record[key] for key in ("job", "sampler", "pruner", "seed")}
            row["told"] = _ALL if record["pruner"] == pruned.NO_PRUNER else name
            n, stop = (said[-1][0], pruned.stops(said, record["epsilon"])) if said else (0, False)
            rows.append(
                row
                | {"trials": n if stop else np.inf, "steps": sum(record["steps"][:n]) if stop else np.inf}
                | {"false": bool(stop and said[-1][2] > record["epsilon"])}
            )
    return pd.DataFrame(rows)


def counted(stops: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return how many studies of a group were stopped, how many falsely, and median trials and steps."""
    rows: list[Record] = []
    for cell, part in stops.groupby(by, sort=False):
        n, k = len(part), int(part["false"].sum())
        low, high = wilson_interval(k, n)
        rows.append(
            dict(zip(by, cell, strict=True))
            | {"studies": n, "stopped": int(np.isfinite(part["steps"]).sum()), "false": k}
            | {"false from %": 100 * low, "false to %": 100 * high}
            | {f"median {name}": float(np.median(part[name])) for name in ("trials", "steps")}
        )
    return pd.DataFrame(rows)


def errors(records: Sequence[Record]) -> pd.DataFrame:
    """Return for each pruned trial, at the end of its study, how far what is imputed is from the truth.

    "z" is the truth less what is imputed, in deviations: above 0 the trial was better than expected. "excluded" is
    whether it is said not to be better than the best completed trial, "better" whether it is.
    """
    rows: list[Record] = []
    for record in records:
        keys = {key: record[key] for key in ("job", "sampler", "pruner", "seed")}
        for each in record["imputed"]:
            for way, at in _AT.items():
                if each[at] is None or not each[at + 1]:
                    continue
                below, deviation = each[at], each[at + 1]
                rows.append(
                    keys
                    | {"way": way, "z": (below - each[_TRUE]) / deviation, "noise": deviation / record["epsilon"]}
                    | {"excluded": below - _CLEAR * deviation > record["best"], "better": each[_TRUE] < record["best"]}
                    | {"beyond": bool(each[_BEYOND])}
                )
    columns = ["job", "sampler", "pruner", "seed", "way", "z", "noise", "excluded", "better", "beyond"]
    return pd.DataFrame(rows, columns=columns)


def _summary(off: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the moments of z in a group, the shares beyond 2 in %, and how often "not better" was wrong."""
    wrong = off["excluded"] & off["better"]
    groups = off.assign(wrong=wrong).groupby(by, sort=False)
    return groups.agg(
        trials=("z", "size"),
        mean=("z", "mean"),
        deviation=("z", "std"),
        high=("z", lambda z: 100 * float((z > 2).mean())),
        low=("z", lambda z: 100 * float((z < -2).mean())),
        noise=("noise", "median"),
        excluded=("excluded", "sum"),
        wrong=("wrong", "sum"),
        better=("better", "sum"),
    ).reset_index()


def _result(cells: pd.DataFrame) -> str:
    said: list[str] = []
    for name in (pruned.NOTHING, pruned.MAIN):
        part = cells[cells["told"] == name]
        said.append(f"{part['stopped'].sum()} of {part['studies'].sum()} stopped, {part['false'].sum()} falsely")
    return (
        f"**Pruned trials:** told nothing of them, {said[0]}; told a last value with its deviation ({pruned.MAIN}), "
        f"{said[1]}."
    )


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    for told, part in cells.groupby("told", sort=False):
        row: Record = {"told": str(told)}
        for pruner in pruned.PRUNERS[1:]:
            at = part[part["pruner"].isin([pruner, pruned.NO_PRUNER])]
            row[pruner] = "–" if at.empty else _cell(at.iloc[0])
        rows.append(row)
    return pd.DataFrame(rows)


def _cell(row: "pd.Series[Any]") -> str:
    return f"{row['stopped']}/{row['studies']}, {row['false']}, {number(row['median steps'], 4)}"


def _pairs(stops: pd.DataFrame) -> str:
    """Return how often a model stopped sooner than without pruned trials, and than without pruning."""
    keys = ["job", "sampler", "seed"]
    every = stops[stops["told"] == _ALL].set_index(keys)["steps"]
    said: list[str] = []
    for pruner in pruned.PRUNERS[1:]:
        here = stops[stops["pruner"] == pruner]
        used, without = (here[here["told"] == name].set_index(keys)["steps"] for name in (pruned.MAIN, pruned.NOTHING))
        pairs = [(used, other.reindex(used.index)) for other in (without, every)]
        counts = [f"{int((one < other).sum())} studies, later in {int((one > other).sum())}" for one, other in pairs]
        said.append(
            f"{pruner}: after fewer steps than without what was shown in {counts[0]}; than with no trial pruned in "
            f"{counts[1]}"
        )
    return f"**The same studies, {pruned.MAIN}:** {'. '.join(said)}."


def _calibration(off: pd.DataFrame) -> str:
    if off.empty:
        return ""
    said = [
        f"{row['way']} under {row['pruner']} mean {row['mean']:.2f}, deviation {row['deviation']:.2f}, "
        f"above 2 {row['high']:.1f} %, said not to be better {row['excluded']}, wrongly {row['wrong']}"
        for _, row in _summary(off, ["way", "pruner"]).iterrows()
    ]
    one = off[off["way"] == pruned.MAIN]
    return (
        "**What was imputed, at the end of a study:** the true last value less that, in deviations (standard normal if "
        "all were well, above 2 2.3 %), and how many lie two deviations below the best completed trial: "
        f"{'; '.join(said)}. Of {len(one)} pruned trials {100 * one['beyond'].mean():.1f} % were better than the "
        f"optimistic value, {100 * one['better'].mean():.1f} % than the best completed one."
    )


def _false(stops: pd.DataFrame) -> str:
    said: list[str] = []
    for name in (_ALL, pruned.NOTHING, *pruned.NOISY):
        part = stops[stops["told"] == name]
        ended = part[np.isfinite(part["steps"])]
        where = ended[ended["false"]].groupby(["job", "pruner"]).size()
        places = ", ".join(f"{job} {pruner} {count}" for (job, pruner), count in where.items())
        said.append(f"{name} {rate(int(ended['false'].sum()), len(ended))}{f' ({places})' if places else ''}")
    return f"**False, of the stops:** {'; '.join(said)}."


def _draw(figure: Figure, stops: pd.DataFrame) -> None:
    figure.set_size_inches(9, 3)
    axes = figure.subplots(1, len(pruned.PRUNERS) - 1, sharey=True)
    for axis, pruner in zip(axes, pruned.PRUNERS[1:], strict=True):
        here = stops[stops["pruner"].isin([pruner, pruned.NO_PRUNER])]
        for name, (colour, style) in _DRAWN.items():
            steps = np.sort(here.loc[here["told"] == name, "steps"])
            if not len(steps):
                continue
            ended = steps[np.isfinite(steps)]
            share = 100 * np.arange(len(ended) + 1) / len(steps)
            axis.step(np.concatenate([[0.0], ended]), share, where="post", color=colour, ls=style, label=name)
        axis.set(title=pruner, xlabel="steps of all trials", xscale="symlog", xlim=(100, None))
        axis.set_xscale("log")
        plain(axis)
    axes[0].set(ylabel="stopped (%)", ylim=(0, 100))
    axes[0].legend(frameon=False, fontsize=7)

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

_NOT_BUILT = (
    "**Not built:** as an ordinary observation an imputed value does not pay, and with its deviation as noise it is "
    "taken for better known than it is. A process for what the regression leaves, over the space and estimated from "
    "the completed trials, would say how far errors go together; it was not tried, nor were points chosen by such a "
    "model."
)


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
        result=_result(cells, off),
        asked="What if a model is told what pruned trials showed? A network on digits by epochs and boosted trees on "
        "diabetes by trees (recorded curves and trees fitted to them, d = 4), and two kinds of draws with curves "
        "(d = 3), in one of which all are slow on one side; 27 steps; ε = 0.01 of accuracy, 1 % of an untuned error, a "
        f"tenth of a draw's deviation; TPE and GPUCBSampler, up to {n_seeds} seeds and {pruned.TRIALS} trials, asked "
        f"after every fourth to sixth, δ = {pruned.DELTA}, best_possible declared where there is one. A last value is "
        "imputed by *regression* on the completed trials' values at the step of the last report, or by a *chain* of "
        "them, each to twice as many steps, on all trials that came so far; the *optimistic* one is the last report "
        "and the largest improvement since that step of a completed trial, if below the best. Hyperparameters are "
        "those of completed trials, and the deviation of the prediction is noise of the imputed value; *as observed* "
        "does without either. Certificates are of completed trials throughout. Stopped, false, median of all trials' "
        f"steps{_first_seeds(stops)}:",
        shown=_shown(cells),
        caption="Share of the studies that were stopped after so many steps of all trials; dashed: no trial pruned",
        draw=lambda figure: _draw(figure, stops),
        found=(_by_job(stops), _pairs(stops), _calibration(off), _false(stops), _NOT_BUILT),
        tables={
            "pruned": cells,
            "pruned-jobs": counted(stops, ["job", "sampler", "pruner", "told"]),
            "pruned-imputed": _summary(off, ["pruner", "sampler", "job", "way"]),
        },
    )


def _first_seeds(stops: pd.DataFrame) -> str:
    """Return what models did that were asked throughout, on the studies where all were."""
    few = stops[(stops["seed"] < pruned.FEW_SEEDS) & (stops["pruner"] != pruned.NO_PRUNER)]
    said: list[str] = []
    for name in (pruned.NOTHING, pruned.MAIN):
        ended = np.isfinite(few.loc[few["told"] == name, "steps"])
        said.append(f"{int(ended.sum())}/{len(ended)} by {name}")
    return f" (some were asked with few seeds: on the same studies, both pruners, {' and '.join(said)})"


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
                | {"end": sum(record["steps"])}
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


def _result(cells: pd.DataFrame, off: pd.DataFrame) -> str:
    said: list[str] = []
    for name in (_ALL, pruned.NOTHING, pruned.MAIN):
        part = cells[cells["told"] == name]
        said.append(f"{part['stopped'].sum()} of {part['studies'].sum()} ({part['false'].sum()} falsely)")
    size = float(np.sqrt(np.mean(off.loc[off["way"] == pruned.MAIN, "z"] ** 2)))
    return (
        f"**Pruned trials:** stopped were {said[0]} studies without a pruner, {said[1]} with one, and {said[2]} where "
        "the model is told a regression's last values with their deviations, of which the true errors were "
        f"{number(size, 2)} times as large."
    )


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    known = set(cells["told"])
    for told in (name for name in (_ALL, pruned.NOTHING, *pruned.NOISY, *pruned.ORDINARY) if name in known):
        if any(row["told"] == told for row in rows):
            continue
        part = cells[cells["told"] == told]
        row: Record = {"told": told}
        for pruner in pruned.PRUNERS[1:]:
            at = part[part["pruner"].isin([pruner, pruned.NO_PRUNER])]
            row[pruner] = "–" if at.empty else _cell(at.iloc[0])
        rows.append(row)
    return pd.DataFrame(rows)


def _cell(row: "pd.Series[Any]") -> str:
    return f"{row['stopped']}/{row['studies']}, {row['false']}, {number(row['median steps'], 4)}"


def _by_job(stops: pd.DataFrame) -> str:
    """Return how many studies of each job and sampler were stopped, by what the model was told."""
    said: list[str] = []
    for (job, sampler), part in stops.groupby(["job", "sampler"], sort=False):
        counts = {name: part.loc[part["told"] == name, "steps"] for name in (_ALL, pruned.NOTHING, pruned.MAIN)}
        every, without, used = (f"{int(np.isfinite(each).sum())}/{len(each)}" for each in counts.values())
        said.append(f"{job}, {sampler} {every}, {without}, {used}")
    return f"**Stopped with no trial pruned, told nothing, told a regression:** {'; '.join(said)}."


def _pairs(stops: pd.DataFrame) -> str:
    """Return how often models stopped after fewer steps than others on the same job, sampler and seed, and after more.

    Where one never stopped, the other did so first only if its stop came before the steps of the study ended.
    """
    keys = ["job", "sampler", "seed"]
    said: list[str] = []
    for pruner in pruned.PRUNERS[1:]:
        here = stops[stops["pruner"] == pruner]
        used, without = (here[here["told"] == name].set_index(keys) for name in (pruned.MAIN, pruned.NOTHING))
        every = stops[stops["told"] == _ALL].set_index(keys)
        counts = [_sooner(*pair) for pair in ((used, without), (used, every), (without, every))]
        said.append(
            f"{pruner}: a regression against nothing {counts[0]}, against no trial pruned {counts[1]}; nothing against "
            f"no trial pruned {counts[2]}"
        )
    return f"**The same studies,** after fewer steps and after more: {'. '.join(said)}."


def _sooner(one: pd.DataFrame, other: pd.DataFrame) -> str:
    both = one.add_suffix(" of one").join(other.add_suffix(" of other"), how="inner")
    steps, others = both["steps of one"], both["steps of other"]
    sooner = steps < np.minimum(others, both["end of other"] + 1)
    later = others < np.minimum(steps, both["end of one"] + 1)
    return f"{int(sooner.sum())} and {int(later.sum())} of {len(both)}"


def _calibration(off: pd.DataFrame) -> str:
    if off.empty:
        return ""
    said = [
        f"{row['way']} under {row['pruner']} mean {row['mean']:.2f}, deviation {row['deviation']:.2f}, "
        f"above 2 {row['high']:.1f} %, said not to be better {row['excluded']}, wrongly {row['wrong']}"
        for _, row in _summary(off, ["way", "pruner"]).iterrows()
    ]
    one = off[off["way"] == pruned.MAIN]
    studies = one.groupby(["job", "sampler", "pruner", "seed"])["z"].agg(["mean", "var", "size"]).query("size > 1")
    apart = np.sqrt((studies["var"] / studies["size"]).mean())
    return (
        "**What was imputed, at the end of a study:** the true last value less that, in deviations (standard normal if "
        "all were well, above 2 2.3 %), and how many lie two deviations below the best completed trial: "
        f"{'; '.join(said)}. Of {len(one)} pruned trials {100 * one['beyond'].mean():.1f} % were better than the "
        f"optimistic value, {100 * one['better'].mean():.1f} % than the best completed one. "
        f"Errors of one study go together: their means (regression) have deviation {studies['mean'].std():.2f}, where "
        f"independent ones would have {apart:.2f}; as noise they are taken for independent."
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

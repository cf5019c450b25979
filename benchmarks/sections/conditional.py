"""Conditional studies in Optuna: where they stopped, and how good the searches are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import conditional
from benchmarks.conditional_tables import EPSILON, NAMES, example_table
from benchmarks.records import read
from benchmarks.sections import paired
from benchmarks.sections.section import BLUE, ORANGE, Section, plain
from benchmarks.tables import number, rate, table, wilson_interval

Record = dict[str, Any]
_ALL = "all"
_OURS = conditional.OURS
_COLOURS = {_OURS: BLUE, "TPE": ORANGE}
# What replays of some false stops showed, and what was tried by hand.
_EXAMINED = (
    "Six of these were replayed (seeds 1, 7, 17, 18 and 19 of our sampler, 4 of TPE), which the rule before samples "
    "ended as well: nothing had been evaluated with C in one decade to seven that hold the narrow hill, between "
    "0.32 on one side and a level 0.96 on the other. At the mode the lengthscale along log C was 0.06 to 0.57 of "
    "the axis; at ten right stops by our sampler it was 0.05 to 0.14. All but seed 7 certify a forest by a lucky "
    "score: SVC scores repeat exactly, and one noise serves both branches. Tried by hand, by the loop of the core "
    "on the space as it is, where 8 of 17 stops of 20 searches were false: no fence for bad values, or a wider one; "
    "shorter lengthscales and a larger deviation in the priors; a noise of 0.003 or 0.006 that is told; before 30 "
    "evaluations three more where a model of half the lengthscales would look. They left 5 to 11 of 12 to 19 stops "
    "false."
)


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / conditional.PATH.name)
    if not records:
        return None
    stops, quality = stopped(records), compared(records)
    return Section(
        title="Conditional studies",
        result=_result(stops, quality),
        asked="Do define-by-run studies with conditional parameters end by a certificate, and truly? Four studies "
        "through Optuna's `optimize`, the branches inferred from the trials: *classifier*, Optuna's first example "
        "(iris, SVC with C from 1e-10 to 1e10 or a forest), looked up in the scores of 4,001 C and 60 runs a depth; "
        "*network* (wine, one to three layers, each with its units), *optimizer* (digits, SGD or Adam with their own "
        "parameters) and *pipeline* (wine, scaler, PCA or selection or neither, SVM or neighbors), trees on 2,000 "
        f"evaluations of each and the noise of repeated ones. ε = {EPSILON} of accuracy, δ = {conditional.DELTA}, "
        f"`best_possible=1.0`, {_seeds(records)}, up to {conditional.TRIALS} trials, the callback after each; "
        "beside our sampler and beside `TPESampler(multivariate=True, group=True)`. A stop is false if the certified "
        "trial's mean score is worse than the best one by more than ε.",
        shown=_shown(stops),
        caption="Share of the searches that had stopped, and stopped falsely, after so many evaluations",
        draw=lambda figure: _draw(figure, records),
        found=(
            _quality_in_words(quality),
            table(_shown_quality(quality)),
            _open(records),
            _why(records),
            _jagged(),
            _ran(records),
        ),
        tables={"conditional": stops, "conditional-quality": quality},
    )


def stopped(records: Sequence[Record]) -> pd.DataFrame:
    """Return how many searches stopped, when, and how many falsely, by study and sampler; ∞ where they never did."""
    rows: list[Record] = []
    for name, sampler, paths in _groups(records, conditional.CERTIFIED):
        ends = [_end(path) for path in paths]
        false = [path["last"]["regret"] for path in paths if is_false(path)]
        low, high = wilson_interval(len(false), len(paths))
        rows.append(
            {"study": name, "sampler": sampler, "searches": len(paths), "stopped": int(np.isfinite(ends).sum())}
            | {"median evaluations": float(np.median(ends)), "false": len(false)}
            | {"false from %": 100 * low, "false to %": 100 * high, "largest false regret": max(false, default=np.nan)}
        )
    return pd.DataFrame(rows)


def compared(records: Sequence[Record]) -> pd.DataFrame:
    """Return the true regret of the best observed trial, by study and sampler, and how many seeds ours is better on."""
    regret_of = {(r["study"], r["seed"], r["sampler"]): regret_of_best(r) for r in records}
    rows: list[Record] = []
    for name, sampler, paths in _groups(records, tuple(conditional.SAMPLERS)):
        regrets = [regret_of_best(path) for path in paths]
        row: Record = {"study": name, "sampler": sampler, "searches": len(paths)}
        row |= {"median regret": float(np.median(regrets)), "mean regret": float(np.mean(regrets))}
        row["within ε %"] = 100 * float(np.mean(np.array(regrets) <= EPSILON))
        if sampler != _OURS:
            ours = [regret_of.get((path["study"], path["seed"], _OURS)) for path in paths]
            row |= paired.compared(zip(ours, regrets, strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def is_false(record: Record) -> bool:
    """Return whether a search stopped with a trial that is worse than the optimum by more than ε."""
    return record["last"]["stop"] and record["last"]["regret"] > record["epsilon"]


def regret_of_best(record: Record) -> float:
    """Return the true regret of the trial with the best value, of those at which searches are compared."""
    return record["regrets"][int(np.argmax(record["values"][: conditional.COMPARED]))]


def _end(record: Record) -> float:
    return record["last"]["n"] if record["last"]["stop"] else np.inf


def _groups(records: Sequence[Record], samplers: Sequence[str]) -> list[tuple[str, str, list[Record]]]:
    """Return study, sampler and their records, for each study and for all of them."""
    return [
        (name, sampler, paths)
        for name in (*NAMES, _ALL)
        for sampler in samplers
        if (paths := [r for r in records if r["sampler"] == sampler and name in (_ALL, r["study"])])
    ]


def _seeds(records: Sequence[Record]) -> str:
    """Return in words how many searches there are of each study and sampler: the last ones may be missing."""
    counts = [len(paths) for name, _, paths in _groups(records, tuple(conditional.SAMPLERS)) if name != _ALL]
    few, most = min(counts), max(counts)
    return f"{most} seeds" if few == most else f"{few} to {most} seeds"


def _result(stops: pd.DataFrame, quality: pd.DataFrame) -> str:
    of_all = stops[stops["study"].eq(_ALL)]
    said = [
        f"{row['stopped']} of {row['searches']} searches stopped by {_called(row['sampler'])}, {row['false']} of "
        f"{row['stopped']} falsely"
        for _, row in of_all.iterrows()
    ]
    best = [
        f"{row['better']:.0f} times better and {row['worse']:.0f} times worse than {row['sampler']}"
        for _, row in quality[quality["study"].eq(_ALL) & quality["sampler"].ne(_OURS)].iterrows()
    ]
    return (
        f"**Conditional studies:** {'; '.join(said)}; after {conditional.COMPARED} evaluations ours is "
        f"{', '.join(best)}."
    )


def _called(sampler: str) -> str:
    return "our sampler" if sampler == _OURS else sampler


def _shown(stops: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "study": row["study"],
            "sampler": _called(row["sampler"]),
            "stopped": f"{row['stopped']}/{row['searches']}",
            "median evaluations": number(row["median evaluations"]),
            "false": rate(row["false"], row["searches"]),
            "largest false regret": number(row["largest false regret"], 2),
        }
        for _, row in stops.iterrows()
    )


def _shown_quality(quality: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    for name, part in quality.groupby("study", sort=False):
        row: Record = {"study": name}
        for _, one in part.iterrows():
            text = number(one["median regret"], 2)
            if one["sampler"] != _OURS:
                text += f" ({paired.better_worse(one)}, p = {number(one['p'], 2)})"
            row[_called(one["sampler"])] = text
        rows.append(row)
    return pd.DataFrame(rows).fillna("–")


def _quality_in_words(quality: pd.DataFrame) -> str:
    others = quality[quality["sampler"].ne(_OURS) & quality["study"].ne(_ALL)]
    ours = quality[quality["sampler"].eq(_OURS)].set_index("study")["median regret"]
    lower = others[others["median regret"].lt(others["study"].map(ours))]
    behind = ", ".join(f"{row['sampler']} in {row['study']}" for _, row in lower.iterrows()) or "none"
    return (
        f"**The search** after {conditional.COMPARED} evaluations: true regret of the trial with the best value, "
        f"median, and on how many seeds ours was better–worse. A lower median than ours have: {behind}. By more than "
        f"chance in one study {paired.beyond_chance(others, 'study', _called)}"
    )


def _open(records: Sequence[Record]) -> str:
    """Return what kept the searches that were not stopped."""
    said: list[str] = []
    for name, sampler, paths in _groups(records, conditional.CERTIFIED):
        last = [path["last"] for path in paths if not path["last"]["stop"]]
        if name == _ALL or not last:
            continue
        none = sum(each["bound"] is None for each in last)
        bounds = [np.inf if each["bound"] is None else each["bound"] / EPSILON for each in last]
        noise = sum("noise of deviation" in each["reason"] for each in last)
        widths = sum("two_deviations" in each["terms"] for each in last)
        said.append(
            f"{name}, {_called(sampler)}: {len(last)}, bound {number(float(np.median(bounds)), 2)} ε ({none} without a "
            f"bound, {noise} kept by noise, {widths} where the count was below ε and √β = 2 was not)"
        )
    return f"**Not stopped** within {conditional.TRIALS} trials, with the median of the last bounds: {'; '.join(said)}."


def _why(records: Sequence[Record]) -> str:
    """Return what false stops had missed."""
    false = [r for r in records if r["last"] is not None and is_false(r)]
    seen = sum(min(r["regrets"][: r["last"]["n"]]) <= r["epsilon"] for r in false)
    entered = sum(_best_branch(records, r["study"]) in r["branches"][: r["last"]["n"]] for r in false)
    flat = sum(r["last"]["noise_std"] < r["epsilon"] for r in false)
    return (
        f"**False stops:** at {seen} of {len(false)} a trial within ε had been evaluated and another one was "
        f"certified; at the others none had. At {entered} the branch of the best trial of all searches had been "
        f"entered. The model took the noise at the certified trial for less than ε at {flat}. {_EXAMINED}"
    )


def _jagged() -> str:
    """Return how the example looks along its one continuous parameter."""
    svc, forest = example_table()
    best = float(svc.max())
    return (
        f"**The example** is exact along C, in {int(np.sum(np.diff(svc) != 0))} steps over 20 decades. The best score "
        f"is {best:.4f}; within ε of it is {100 * float(np.mean(svc >= best - EPSILON)):.1f} % of the axis, of exactly "
        f"{svc[-1]:.4f} {100 * float(np.mean(svc == svc[-1])):.0f} %, of {svc[0]:.4f} "
        f"{100 * float(np.mean(svc == svc[0])):.0f} %. Forests have a mean of at most {forest.mean(axis=1).max():.4f} "
        f"with a deviation of {forest.std(axis=1).mean():.4f}: none is within ε."
    )


def _best_branch(records: Sequence[Record], name: str) -> int:
    best = min((r for r in records if r["study"] == name), key=lambda r: min(r["regrets"]))
    return best["branches"][int(np.argmin(best["regrets"]))]


def _ran(records: Sequence[Record]) -> str:
    seconds = [
        f"{_called(sampler)} {number(float(np.median([r['cpu_s'] for r in records if r['sampler'] == sampler])), 2)} s"
        for sampler in dict.fromkeys(r["sampler"] for r in records)
    ]
    versions = " or ".join(sorted({r["ran_on"] for r in records}))
    return f"Median CPU time of a search, all tests included: {', '.join(seconds)}; {versions}."


def _draw(figure: Figure, records: Sequence[Record]) -> None:
    figure.set_size_inches(9, 3.0)
    axes = figure.subplots(1, len(NAMES), sharey=True)
    n = np.arange(1, conditional.TRIALS + 1)
    for axis, name in zip(axes, NAMES, strict=True):
        for sampler, colour in _COLOURS.items():
            paths = [r for r in records if (r["study"], r["sampler"]) == (name, sampler)]
            label = _called(sampler)
            for part, width in ((paths, 1.6), ([r for r in paths if is_false(r)], 3.5)):
                share = [100 * sum(_end(r) <= k for r in part) / max(len(paths), 1) for k in n]
                axis.step(n, share, color=colour, lw=width, where="post", label=label)
                label = None
        axis.set(title=name, xlabel="evaluations", xlim=(0, conditional.TRIALS), ylim=(-2, 102))
        plain(axis)
    axes[0].set_ylabel("searches (%)\nthin: stopped, thick: falsely")
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)

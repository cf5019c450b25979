"""The default rule where the kernel is unknown: what the count adds to two deviations."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import doubt
from benchmarks.paper_problems import EPSILON
from benchmarks.records import read
from benchmarks.sections.section import BLUE, ORANGE, Section, plain
from benchmarks.tables import number, wilson_interval

Record = dict[str, Any]
# What is kept of a search under each name, and what it is called.
RULES = {"UCBbr": "√β = 2", "mode": "the default"}
_DRAWS = {"priors": "draws of the model's priors"} | dict.fromkeys(("GP 3e-3", "GP 5e-3"), "draws of the paper")
# Asked where the default has stopped, along some of the draws.
_SAMPLES = "samples"
_FUNCTIONS = f"functions of the paper, ε = {EPSILON:g}"
_EARLY = 20
# On these nothing, or little, in the data tells of what is missed.
_UNTOLD = ("step", "Shekel-4")


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / doubt.PATH.name)
    if not records:
        return None
    stops = stopped(records)
    cells = _by(stops, ["problem", "ε", "rule"])
    return Section(
        title="The default rule, kernel unknown",
        result=_result(stops),
        asked="Does it pay to count what is left, where hyperparameters are estimated? The default rule stops where "
        "the count does and the paper's experiment, too, or samples of the hyperparameters from "
        f"{doubt.DOUBTED} evaluations on. "
        "Draws of the model's priors (ε a tenth of the deviation), the rows of the paper with an unknown kernel "
        f"(Matérn-5/2, ε = {EPSILON:g}), test functions, heavy tails, a step and two tables of tuning jobs (ε a share "
        f"of the range); default points, up to {doubt.TRIALS} evaluations, asked after each, δ = {doubt.DELTA}. "
        "Stopped, false, median evaluations:",
        shown=_shown(cells),
        caption="Share of the searches that each had stopped, and stopped falsely, after so many evaluations",
        draw=lambda figure: _draw(figure, stops),
        found=(_held_back(stops), _early(stops), _over_samples(records), _older(records)),
        tables={"doubt": cells, "doubt-groups": groups_of(stops)},
    )


def stopped(records: Sequence[Record]) -> pd.DataFrame:
    """Return for each rule on each search after how many evaluations it stopped, ∞ if never, and whether falsely."""
    rows: list[Record] = []
    for record in records:
        for name, words in RULES.items():
            hit = _first_stop(record, name)
            rows.append(
                {
                    "problem": record["problem"],
                    "ε": "" if record["share"] is None else f"{record['share']:.0%}",
                    "seed": record["seed"],
                    "rule": words,
                    "stop": np.inf if hit is None else hit["n"],
                    "false": hit is not None and hit[name][1] > record["epsilon"],
                }
            )
    return pd.DataFrame(rows)


def _first_stop(record: Record, name: str) -> Record | None:
    """Return what was kept of the first test at which one of them stopped, None if there was none."""
    return next((said for said in record["said"] if doubt.stops(said, name, record["epsilon"])), None)


def _by(stops: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return how many searches have the same values in these columns, how many of them ended, and how many falsely."""
    rows: list[Record] = []
    for cell, part in stops.groupby(columns, sort=False):
        n, k = len(part), int(part["false"].sum())
        low, high = wilson_interval(k, n)
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


def groups_of(stops: pd.DataFrame) -> pd.DataFrame:
    """Return the same for all draws of one kind, and all problems of one ε."""
    is_draw = stops["ε"].eq("")
    of_paper = stops["problem"].str.partition(",")[0].map(_DRAWS).fillna(_FUNCTIONS)
    group = of_paper.where(is_draw, "problems, ε = " + stops["ε"])
    group = group.where(~stops["problem"].isin(_UNTOLD), stops["problem"])
    return _by(stops.assign(group=group), ["group", "rule"])


def _result(stops: pd.DataFrame) -> str:
    told = stops[~stops["problem"].isin(_UNTOLD)]
    rows = _by(told, ["rule"]).set_index("rule")
    said = [f"{rows.loc[rule, 'false']} of {rows.loc[rule, 'stopped']} by {rule}" for rule in RULES.values()]
    return (
        f"**The default rule, kernel unknown:** of the stops false were {', '.join(said)}, but for "
        f"{' and '.join(_UNTOLD)}."
    )


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    for cell, part in cells.groupby(["problem", "ε"], sort=False):
        by_rule = part.set_index("rule")
        row: Record = dict(zip(("problem", "ε"), cell, strict=True)) | {"searches": by_rule["searches"].iloc[0]}
        for rule in RULES.values():
            median = number(float(by_rule.loc[rule, "median evaluations"]))
            row[rule] = f"{by_rule.loc[rule, 'stopped']}, {by_rule.loc[rule, 'false']}, {median}"
        rows.append(row)
    return pd.DataFrame(rows)


def _held_back(stops: pd.DataFrame) -> str:
    """Return how many stops of the experiment the default held back."""
    keys = ["problem", "ε", "seed"]
    before, after = (stops[stops["rule"] == rule].set_index(keys) for rule in RULES.values())
    is_held = np.isfinite(before["stop"]) & ~np.isfinite(after["stop"])
    false = int((is_held & before["false"]).sum())
    where = before[is_held & ~before["false"]].groupby(level=[0, 1]).size()
    most = ", ".join(f"{name} {share} {count}".replace("  ", " ") for (name, share), count in where.items())
    return (
        f"**Held back** for good, of the stops that √β = 2 would have made: {int(is_held.sum()) - false} right ones "
        f"({most or 'none'}) and {false} false ones."
    )


def _early(stops: pd.DataFrame) -> str:
    early = stops[stops["false"] & stops["stop"].le(_EARLY)]
    said: list[str] = []
    for rule in RULES.values():
        where = early[early["rule"] == rule].groupby("problem").size()
        places = ", ".join(f"{name} {count}" for name, count in where.items()) or "none"
        said.append(f"{int(where.sum())} by {rule} ({places})")
    return (
        f"**Few data.** False stops within {_EARLY} evaluations: {', '.join(said)}. A step whose lower floor no "
        "evaluation has come near leaves no trace in the data: the values are those of a smooth bowl."
    )


def _older(records: Sequence[Record]) -> str:
    """Return of which searches the default's stops are those of a rule that asked no samples."""
    older = [r for r in records if "doubted_from" not in r and r["evaluations"] >= doubt.DOUBTED]
    where = ", ".join(f"{name} {k}" for name, k in pd.Series([r["problem"] for r in older]).value_counts().items())
    if not older:
        return ""
    return (
        f"**Of an older rule** are {len(older)} of the {len(records)} searches ({where}): there samples of the "
        f"hyperparameters could not end a search from {doubt.DOUBTED} evaluations on, so that the default may stop "
        "earlier than it is said to."
    )


def _over_samples(records: Sequence[Record]) -> str:
    """Return what samples of the hyperparameters say along draws whose search the default has ended."""
    asked = [record for record in records if any(_SAMPLES in said for said in record["said"])]
    parts: list[str] = []
    for kind, dim in itertools.product(("priors", "GP"), (2, 4, 6)):
        here = [r for r in asked if r["problem"].startswith(kind) and r["problem"].endswith(f"d = {dim}")]
        if not here:
            continue
        words = f"{'the priors' if kind == 'priors' else 'the paper'} in {dim} dimensions"
        stops = {name: [_first_stop(record, name) for record in here] for name in ("mode", _SAMPLES)}
        false, still = (
            sum(hit is not None and hit[name][1] > record["epsilon"] for hit, record in zip(hits, here, strict=True))
            for name, hits in stops.items()
        )
        ended = sum(hit is not None for hit in stops[_SAMPLES])
        # Those that samples did not end count as later than all others.
        pairs = zip(*stops.values(), strict=True)
        later = float(np.median([np.inf if b is None else b["n"] / a["n"] for a, b in pairs if a is not None]))
        parts.append(
            f"of {len(here)} on draws of {words}, {false} falsely, samples ended {ended}, {still} falsely, after "
            f"{f'{later:.2f}' if np.isfinite(later) else 'more than 1.5'} times as many in the median"
        )
    return (
        f"**Over {doubt.N_SAMPLES} samples** of the hyperparameters, asked where the default has ended a search, for "
        f"half as many evaluations more: {'; '.join(parts) or 'not asked'}."
    )


def _draw(figure: Figure, stops: pd.DataFrame) -> None:
    groups = {
        "draws": stops[stops["problem"].str.contains("d = ", regex=False)],
        "ε = 1 %": stops[stops["ε"].eq("1%") & ~stops["problem"].isin(_UNTOLD)],
        "ε = 5 %": stops[stops["ε"].eq("5%") & ~stops["problem"].isin(_UNTOLD)],
    }
    figure.set_size_inches(9, 3.3)
    axes = figure.subplots(1, len(groups), sharey=True)
    n = np.arange(1, doubt.TRIALS + 1)
    for axis, (title, part) in zip(axes, groups.items(), strict=True):
        for rule, colour in zip(RULES.values(), (ORANGE, BLUE), strict=True):
            here = part[part["rule"] == rule]
            label = rule
            for rows, width in ((here, 1.6), (here[here["false"]], 3.5)):
                share = [100 * float((rows["stop"] <= k).sum()) / max(len(here), 1) for k in n]
                axis.step(n, share, color=colour, lw=width, where="post", label=label)
                label = None
        axis.set(title=title, xlabel="evaluations", xlim=(0, doubt.TRIALS), ylim=(-2, 102))
        plain(axis)
    axes[0].set_ylabel("searches (%)\nthin: stopped, thick: falsely")
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)

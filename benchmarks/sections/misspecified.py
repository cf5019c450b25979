"""Problems that are no draw of the model."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import misspecified
from benchmarks.misspecified_problems import SHARES
from benchmarks.outcomes import ORACLE, Record, counted, outcomes
from benchmarks.paths import CHECKS, DELTA, EVERY, PRB_EVERY, TERMINATOR, answers_of
from benchmarks.records import read
from benchmarks.sections.section import TREATMENTS, Section
from benchmarks.tables import number, rate, stopped_and_false

OURS = ("UCBbr", "PRB", "calibrated gap", "certified gap")
RULES = (*OURS, "DeltaCB", "DeltaES", "AcquisitionThreshold", TERMINATOR)
_LEAST = (0, 5, 10, 15)
_ALL = "all"
_BY = ["points", "ε share", "problem", "rule", "hyperparameters", "check"]


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / misspecified.PATH.name)
    if not records:
        return None
    found = _outcomes(records)
    counts = pd.concat([counted(found.assign(problem=_ALL), _BY), counted(found, _BY)])
    usual = [r for r in records if r["sampler"] == "exceedance"]
    bounds, ratios = _bounds(usual), _ratios(usual)
    return Section(
        title="Where the model is wrong",
        result=_result(counts),
        asked="Does a rule stop falsely on what is no draw of a Gaussian process? Six test functions, a step, "
        f"heavy-tailed noise and two tables of real tuning jobs; {_trials(records)} evaluations, default points. ε is "
        f"{' or '.join(map(_share, SHARES))} of the range of the values (AcquisitionThreshold has its own), δ = "
        f"{DELTA}; rules are asked at every {EVERY}th evaluation, PRB at every {PRB_EVERY}th. Stopped, false:",
        shown=_shown(counts),
        caption=f"False stops of all searches, by problem and rule (mode, ε = {_share(SHARES[0])})",
        draw=lambda figure: _draw(figure, counts),
        found=(_other_points(found), _violated(bounds), _cost(ratios)) if usual else (),
        tables={
            "misspecified": counts,
            "misspecified-bounds": bounds,
            "misspecified-least-evaluations": _patience(usual),
            "misspecified-gap-over-bound": ratios,
            "misspecified-paths": _oracle(records),
        },
    )


def _share(share: float) -> str:
    return f"{100 * share:g} %"


def _trials(records: Sequence[Record]) -> str:
    return " or ".join(str(n) for n in sorted({record["trials"] for record in records}))


def _outcomes(records: Sequence[Record]) -> pd.DataFrame:
    """Return what each rule made of each path, without the model check too where it is one of ours."""
    return pd.concat(
        [
            outcomes(records, RULES if check == CHECKS[0] else OURS, check, level).assign(**{"ε share": share})
            for check in CHECKS
            for level, share in enumerate(SHARES)
        ]
    )


def _of(counts: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    wanted = {"points": "exceedance", "check": "inflated", "problem": _ALL} | wanted
    return counts[np.logical_and.reduce([counts[name].eq(value) for name, value in wanted.items()])]


def _result(counts: pd.DataFrame) -> str:
    wanted = {"rule": "UCBbr", "hyperparameters": "map", "ε share": SHARES[0]}
    total, each = _of(counts, **wanted), counts[counts["problem"].ne(_ALL)]
    where = [
        f"{row['false']} on {row['problem']}"
        for name in each["problem"].unique()
        for _, row in _of(each, **wanted, problem=name).iterrows()
        if row["false"]
    ]
    said = [
        f"UCBbr at √β = 2 stopped {row['stopped']} of {row['searches']} searches (ε = {_share(SHARES[0])}), "
        f"{row['false']} falsely ({', '.join(where) or 'nowhere'})"
        for _, row in total.iterrows()
    ]
    return f"**Where the model is wrong:** {''.join(said) or 'the default was not asked'}."


def _shown(counts: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, str]] = []
    for rule in RULES:
        for treatment in (
            (TERMINATOR,) if rule == TERMINATOR else ("map", "posterior") if rule in OURS[:2] else ("map",)
        ):
            row = {"rule": rule, "hyperparameters": TREATMENTS.get(treatment, "")}
            for share in SHARES:
                for _, total in _of(counts, rule=rule, hyperparameters=treatment, **{"ε share": share}).iterrows():
                    false = f"({total['false from %']:.0f}–{total['false to %']:.0f} %)"
                    row[f"ε = {_share(share)}"] = f"{stopped_and_false(total)} {false}"
            rows += [row] if len(row) > 2 else []
    return pd.DataFrame(rows)


def _other_points(found: pd.DataFrame) -> str:
    """Return in words what UCBbr makes of other points, on the problems and seeds that were run with both."""
    here = found[
        found["rule"].eq("UCBbr")
        & found["hyperparameters"].eq("map")
        & found["check"].eq("inflated")
        & found["ε share"].eq(SHARES[0])
    ]
    both = here[here.groupby(["problem", "seed"])["points"].transform("nunique").gt(1)]
    if both.empty:
        return ""
    counts = counted(both, ["points"]).set_index("points")
    said = ", ".join(f"{name}: {stopped_and_false(row)}" for name, row in counts.iterrows())
    return (
        f"**What exceedance sampling costs here.** UCBbr (mode, ε = {_share(SHARES[0])}) on the same problems and "
        f"seeds, by how points were chosen: {said}."
    )


def _bounds(records: Sequence[Record]) -> pd.DataFrame:
    """Return on how many paths, and at how many tests, a bound was below the true regret of the trial it is about."""
    rows: list[dict[str, Any]] = []
    for rule in (*OURS, TERMINATOR):
        for treatment in dict.fromkeys(record["treatment"] for record in records):
            if (rule == TERMINATOR) != (treatment == TERMINATOR):
                continue
            for check in CHECKS if rule in OURS else CHECKS[:1]:
                along = [
                    [bound < regret for _, bound, regret in answers_of(r, rule, min(r["epsilons"]), check)]
                    for r in records
                    if r["treatment"] == treatment
                ]
                rows.append(
                    {"rule": rule, "hyperparameters": treatment, "check": check}
                    | {"paths": len(along), "paths with a bound too small": sum(map(any, along))}
                    | {"tests": sum(map(len, along)), "tests with a bound too small": sum(map(sum, along))}
                )
    return pd.DataFrame(rows)


def _violated(bounds: pd.DataFrame) -> str:
    """Return in words how often bounds at the mode were wrong."""
    rows = bounds[bounds["check"].eq("inflated") & bounds["hyperparameters"].ne("posterior")].set_index("rule")
    said = [
        f"{rule} {rate(int(row['paths with a bound too small']), int(row['paths']))}" for rule, row in rows.iterrows()
    ]
    return (
        "**Bounds, whether a rule stops or not.** Searches in which a bound at the mode was ever below the true regret "
        f"of its trial: {', '.join(said)}."
    )


def _patience(records: Sequence[Record]) -> pd.DataFrame:
    """Return what becomes of UCBbr if it may not stop before so many evaluations for each parameter."""
    dims = {r["problem"]: misspecified.problem_of(r).space.dim for r in records}
    found = [
        outcomes([r for r in records if dims[r["problem"]] == dim], ["UCBbr"], level=level, least=each * dim).assign(
            **{"least evaluations a parameter": each, "ε share": share}
        )
        for each in _LEAST
        for level, share in enumerate(SHARES)
        for dim in dict.fromkeys(dims.values())
    ]
    by = ["least evaluations a parameter", "ε share", "hyperparameters"]
    return counted(pd.concat(found), by) if found else pd.DataFrame()


def _ratios(records: Sequence[Record]) -> pd.DataFrame:
    """Return the certified gap's bounds and stops over those of UCBbr, where both are finite; stops are of every ε."""
    rows: list[dict[str, Any]] = []
    for treatment in ("map", "posterior"):
        of_treatment = [r for r in records if r["treatment"] == treatment]
        for name in (_ALL, *dict.fromkeys(r["problem"] for r in of_treatment)) if of_treatment else ():
            paths = [r for r in of_treatment if name in (_ALL, r["problem"])]
            row: dict[str, Any] = {"problem": name, "hyperparameters": treatment}
            ends: list[pd.Series[float]] = []
            for rule in ("UCBbr", "certified gap"):
                found = pd.concat([outcomes(paths, [rule], level=level) for level in range(len(SHARES))])
                ends.append(found["stop"])
                row |= {
                    f"{rule} stopped": int(np.isfinite(found["stop"]).sum()),
                    f"{rule} false": int(found["false"].sum()),
                }
            bound, gap = (
                np.array([b for r in paths for b in _answered(r, rule)]) for rule in ("UCBbr", "certified gap")
            )
            row |= _quartiles("gap / bound", bound, gap)
            rows.append(row | _quartiles("stop of the gap / of the bound", *(end.to_numpy() for end in ends)))
    return pd.DataFrame(rows)


def _answered(record: Record, rule: str) -> list[float]:
    return [bound for _, bound, _ in answers_of(record, rule, min(record["epsilons"]))]


def _quartiles(name: str, below: Any, above: Any) -> dict[str, float]:
    finite = np.isfinite(below) & np.isfinite(above)
    low, middle, high = np.quantile(above[finite] / below[finite], [0.25, 0.5, 0.75]) if any(finite) else [math.nan] * 3
    return {f"{name}, of": int(finite.sum()), name: middle, f"{name}, 25 %": low, f"{name}, 75 %": high}


def _cost(ratios: pd.DataFrame) -> str:
    """Return in words what the bound costs that is proved given the model."""
    said = [
        f"With the {TREATMENTS[row['hyperparameters']]} the certified gap was {number(row['gap / bound'], 2)} times "
        f"UCBbr's bound in the median (quartiles {number(row['gap / bound, 25 %'], 2)} and "
        f"{number(row['gap / bound, 75 %'], 2)}); at either ε UCBbr stopped {row['UCBbr stopped']} times, "
        f"{row['UCBbr false']} falsely, the gap {row['certified gap stopped']} times, {row['certified gap false']} "
        "falsely."
        for row in ratios.to_dict("records")
        if row["problem"] == _ALL
    ]
    return f"**What a proof costs**, of all certificates of a search at once. {' '.join(said)}" if said else ""


def _oracle(records: Sequence[Record]) -> pd.DataFrame:
    """Return how good the paths were: when the first trial within ε was found; empty without records of ours."""
    # The treatments of a path have its trials in common.
    paths = {(r["problem"], r["sampler"], r["seed"], r["trials"]): r for r in records if r["treatment"] != TERMINATOR}
    found = [
        outcomes(list(paths.values()), [ORACLE], level=level).assign(**{"ε share": share})
        for level, share in enumerate(SHARES)
    ]
    return counted(pd.concat(found), ["points", "ε share", "problem", "rule"])


def _draw(figure: Figure, counts: pd.DataFrame) -> None:
    names = [name for name in counts["problem"].unique() if name != _ALL]
    figure.set_size_inches(9, 3.4)
    axis = figure.subplots()
    shares, words = np.full((len(RULES), len(names)), math.nan), np.full((len(RULES), len(names)), "", dtype=object)
    for i, rule in enumerate(RULES):
        treatment = TERMINATOR if rule == TERMINATOR else "map"
        for j, name in enumerate(names):
            here = _of(counts, rule=rule, hyperparameters=treatment, problem=name, **{"ε share": SHARES[0]})
            for _, row in here.iterrows():
                shares[i, j], words[i, j] = 100 * row["false"] / row["searches"], f"{row['false']} of {row['stopped']}"
    image = axis.imshow(shares, cmap="Oranges", vmin=0, vmax=100, aspect="auto")
    for (i, j), word in np.ndenumerate(words):
        axis.text(j, i, word, ha="center", va="center", fontsize=8, color="white" if shares[i, j] > 60 else "black")
    axis.set_xticks(range(len(names)), names, rotation=25, ha="right", fontsize=9)
    axis.set_yticks(range(len(RULES)), RULES, fontsize=9)
    axis.set_title("false stops, of all stops", fontsize=10)
    figure.colorbar(image, label="false stops of all searches (%)")

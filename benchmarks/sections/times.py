"""What it costs: the pieces beside libraries that do the same, a trial, and the Ray Tune adapter."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from benchmarks import runtime
from benchmarks.records import RESULTS
from benchmarks.sections.section import BLUE, GREY, Section, plain
from benchmarks.tables import number

SPEED, TUNE = RESULTS / "speed.json", RESULTS / "tune.json"
_OTHERS = (runtime.OPTUNA, runtime.TERMINATOR, runtime.SKOPT)
# What is timed in speed.json: the one that it is compared with, and the most that ours may take of its time.
_TARGETS = {"bound": ("SLSQP", 1 / 50), "fit": ("BoTorch", 1 / 10), "suggest": ("GPSampler", 1.0)}
_TUNE_TARGET = 1.5


def section(folder: Path) -> Section | None:
    """Return what there is to say; None where the rules were not timed."""
    path = folder / runtime.PATH.name
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    tables = {"runtime": _flat(result["results"])}
    at = list(result["results"])[-1]
    rows, imports = _rules(result["results"], at), ""
    for other in (SPEED, TUNE):
        if (folder / other.name).exists():
            found = json.loads((folder / other.name).read_text())["results"]
            tables[other.stem] = _flat(found)
            rows += _pieces(found) if other == SPEED else _tune(found)
            imports += _about(found) if other == SPEED else ""
    shown = pd.DataFrame(rows)
    n_missed = sum(row["target"].endswith("missed") for row in rows)
    machine = result["machine"]
    return Section(
        title="What it costs",
        result=f"**What it costs:** {_trial(result['results'][at])}; {n_missed} of {len(rows)} targets are missed.",
        asked="What does a trial cost, beside others who do the same? Medians in ms of CPU, alternatives timed in "
        f"turn on a {machine['hardware']}, Python {machine['python']}; threads: {machine['threads'].split()[0]} (Ray "
        "Tune: wall time, default pools). A problem stands with its number of observations; an assessment by a rule "
        "has the certified gap and the probability left beside its bound. Targets are absolute, or a share of the "
        "other's time.",
        shown=shown,
        caption=f"CPU time of the steps of a trial, {at} observations",
        draw=lambda figure: _draw(figure, result["results"][at]),
        found=(imports,),
        tables=tables,
    )


def _flat(results: dict[str, Any]) -> pd.DataFrame:
    """Return one row for each time: medians and quartiles in ms."""
    return pd.DataFrame(
        {"what": what, "who": who, "repetitions": time["repetitions"]}
        | {
            name: value
            for kind in ("cpu", "wall")
            if f"{kind}_quartiles_ms" in time
            for name, value in zip(
                (f"{kind} ms", f"{kind} ms, 25 %", f"{kind} ms, 75 %"),
                (time[f"{kind}_ms"], *time[f"{kind}_quartiles_ms"]),
                strict=True,
            )
        }
        for what, entry in results.items()
        for who, time in entry.items()
        if "wall_ms" in time
    )


def _row(what: str, ours: float, other: str, theirs: float, most: float) -> dict[str, str]:
    """Return a row of the table; `most` is a share of the other's time, or ms where there is no other."""
    left, limit = (ours, f"{most:g} ms") if math.isnan(theirs) else (ours / theirs, f"{most:.2g}")
    return {"what": what, "ours": number(ours), "other": other, "theirs": number(theirs)} | {
        "ratio": number(ours / theirs),
        "target": f"{limit}: {'met' if left <= most else 'missed'}",
    }


def _rules(results: dict[str, Any], at: str) -> list[dict[str, str]]:
    return [
        _row(f"{what}, {at}", results[at][what]["cpu_ms"], "", math.nan, most) for what, most in runtime.TARGETS.items()
    ]


def _pieces(results: dict[str, Any]) -> list[dict[str, str]]:
    """Return the pieces as they are met in a running study, with 100 observations."""
    rows: list[dict[str, str]] = []
    for what, entry in results.items():
        other, most = _TARGETS.get(what.split()[0], ("", 0.0))
        if other and (what == "bound" or what.endswith(" 100")):
            rows += [
                _row(f"{what}: {who}", time["cpu_ms"], other, entry[other]["cpu_ms"], most)
                for who, time in entry.items()
                if who in ("ours", "ours, running study", "ours, in Optuna")
            ]
    return rows


def _tune(results: dict[str, Any]) -> list[dict[str, str]]:
    (who, ours), (other, theirs) = results["whole run"].items()
    return [_row(f"30 cheap trials in Ray Tune: {who}", ours["wall_ms"], other, theirs["wall_ms"], _TUNE_TARGET)]


def _trial(entry: dict[str, Any]) -> str:
    ours = _ms(entry, runtime.FIT, "UCBbr") + 0.5 * _ms(entry, runtime.NEXT, runtime.EXCEEDING)
    said = ", ".join(f"{number(ours / _ms(entry, other), 2)} of {other}" for other in (runtime.OPTUNA, runtime.SKOPT))
    return f"a trial by default (fit, next point, UCBbr) takes {number(ours)} ms, {said}"


def _about(results: dict[str, Any]) -> str:
    agreement = results["bound"]["agreement"]
    imports = ", ".join(f"`{name}` {entry['cpu_ms']:.0f} ms" for name, entry in results["import"].items())
    return (
        f"The bound is the optimum: of {agreement['cases']} cases (d = 2, 4, 6; t = 20, 100, 500) SLSQP came within "
        f"1e-6 of it in {agreement['slsqp_within_1e-6']}, at most {max(-agreement['slsqp_smallest_excess'], 0.0):.0e} "
        f"below. CPU time of importing: {imports}."
    )


def _ms(entry: dict[str, Any], *whats: str) -> float:
    return math.fsum(entry[what]["cpu_ms"] for what in whats)


def _draw(figure: Figure, entry: dict[str, Any]) -> None:
    figure.set_size_inches(9, 4.2)
    axis = figure.subplots()
    names = sorted(entry, key=lambda name: -entry[name]["cpu_ms"])
    axis.barh(names, [entry[name]["cpu_ms"] for name in names], color=[GREY if n in _OTHERS else BLUE for n in names])
    axis.set(xscale="log", xlabel="CPU time (ms; blue: ours, grey: other libraries)")
    axis.tick_params(axis="y", labelsize=8)
    plain(axis)

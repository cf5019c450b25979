"""How often the intervals of forecasts held, in the half of the searches that their constants were not fitted to."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks import continuations, forecast
from benchmarks.forecast_fit import MOMENTS, PRODUCT, Record, fitted, log_loss, moments_of
from benchmarks.records import read
from benchmarks.sections.section import BLUE, GREY, ORANGE, Section, plain
from benchmarks.tables import wilson_interval
from regretstop.statement._forecast import LEVEL, SIGHT, forecast_from

_POINTS = {"GPUCB": "default points", "TPE": "points of TPE"}
_PROMISED = (70, 90)
_EARLY = 20
_LOOKED_AT = (1,)
_LEVEL = f"{100 * LEVEL:.0f} %"


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / forecast.PATH.name)
    fit, confirm = halves(records)
    if not fit or not confirm:
        return None
    told = forecasts(confirm)
    by_problem, simulated = _by_problem(told), read(folder / continuations.PATH.name)
    return Section(
        title="Forecasts of the stop",
        result=_result(told),
        asked=f"How often do the {_LEVEL} intervals of `forecast` hold? Searches by the default rule on the problems "
        f"above, up to {forecast.TRIALS} evaluations; forecasts after {', '.join(map(str, MOMENTS))} of them. The "
        f"constants are those of {len(fit)} searches with even seeds; the table is of {told['search'].nunique()} with "
        "odd ones. Every search counts as one. An interval is open above where the stop may well not be in sight, "
        f"which reaches {SIGHT} times as far as the search has come; *not in sight* says that it is not. Left out are "
        "forecasts of which the record does not tell; none of these had failed when it ended. "
        f"{_whatever_they_are(told)}. {_unseen(told)}:",
        shown=_shown(told),
        caption="Left: intervals that held, with Wilson's 95 % intervals, on the band from 70 to 90 %. Right: forecast "
        "and truth of searches that stopped",
        draw=lambda figure: _draw(figure, told),
        found=(
            _others(by_problem),
            _without_left(fit, confirm),
            *((_simulated(simulated),) if simulated else ()),
            _noise(records),
        ),
        tables={"forecast": _table(told), "forecast-problems": by_problem},
    )


def halves(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Return the searches that constants are fitted to, and those that confirm them."""
    return [r for r in records if r["seed"] % 2 == 0], [r for r in records if r["seed"] % 2 == 1]


def forecasts(records: Sequence[Record]) -> pd.DataFrame:
    """Return every forecast, and whether it held: 1, 0, or NaN where the record does not tell."""
    rows: list[Record] = []
    for search, record in enumerate(records):
        for moment in moments_of(record):
            said = forecast_from(moment.x, SIGHT * moment.n)
            high = math.inf if said.high is None else said.high
            median = math.inf if said.median is None else said.median
            held, sooner = float(said.low <= moment.more <= high), float(moment.more <= median)
            if moment.is_cut_off:  # the truth is more than there was
                held = math.nan if said.low > moment.more or moment.more < high < math.inf else float(high == math.inf)
                sooner = math.nan if median > moment.more else 0.0
            rows.append(
                {
                    "search": search,
                    "problem": record["problem"],
                    "seed": record["seed"],
                    "points": _POINTS[record["sampler"]],
                    "n": moment.n,
                    "low": said.low,
                    "median": median,
                    "high": high,
                    "more": math.inf if moment.is_cut_off else moment.more,
                    "held": held,
                    "sooner": math.nan if said.median is None else sooner,
                    "in sight": said.is_in_sight,
                }
            )
    return pd.DataFrame(rows)


def share_held(told: pd.DataFrame) -> tuple[float, int]:
    """Return in what share of the searches an interval held, each search as one, and how many searches tell."""
    of_searches = told.groupby("search")["held"].mean().dropna()
    return float(of_searches.mean()), len(of_searches)


def _whatever_they_are(told: pd.DataFrame) -> str:
    """Return the share with what the records do not tell on one side or the other."""
    all_held, none_held = (share_held(told.assign(held=told["held"].fillna(each)))[0] for each in (1.0, 0.0))
    return f"Did all of them hold, it would be {100 * all_held:.0f} %, and {100 * none_held:.0f} % if none did"


def _unseen(told: pd.DataFrame) -> str:
    """Return the share in the searches that were not looked at when it was chosen what the forecast goes by."""
    share, n = share_held(told[~told["seed"].isin(_LOOKED_AT)])
    return (
        f"What it goes by was chosen with a look at seed {', '.join(map(str, _LOOKED_AT))}; in the {n} searches with "
        f"other odd seeds they held in {100 * share:.0f} %"
    )


def _row(told: pd.DataFrame) -> Record:
    share, n = share_held(told)
    return {
        "searches": n,
        "forecasts": int(told["held"].notna().sum()),
        "held %": 100 * share,
        "open above %": 100 * float(told["high"].eq(np.inf).mean()),
        "not in sight %": 100 * float((~told["in sight"]).mean()),
        "sooner than the median %": 100 * float(told["sooner"].mean()),
    }


def _table(told: pd.DataFrame) -> pd.DataFrame:
    groups = [("all", "all", told), *((points, "all", part) for points, part in told.groupby("points"))]
    groups += [(str(points), str(n), part) for (points, n), part in told.groupby(["points", "n"])]
    return pd.DataFrame([{"points": points, "after": n} | _row(part) for points, n, part in groups])


def _shown(told: pd.DataFrame) -> pd.DataFrame:
    found = _table(told)
    for column in found.columns:
        if column.endswith("%"):
            found[column] = [f"{value:.0f}" if math.isfinite(value) else "" for value in found[column]]
    return found


def _by_problem(told: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([{"problem": problem} | _row(part) for problem, part in told.groupby("problem", sort=False)])


def _result(told: pd.DataFrame) -> str:
    share, n = share_held(told)
    parts = [f"{100 * share_held(part)[0]:.0f} % with {points}" for points, part in told.groupby("points")]
    return (
        f"**Forecasts of the stop:** the {_LEVEL} intervals held in {100 * share:.0f} % of {n} searches that their "
        f"constants were not fitted to ({', '.join(parts)})."
    )


def _others(by_problem: pd.DataFrame) -> str:
    known = by_problem[by_problem["searches"] > 0].sort_values("held %")
    said = ", ".join(f"{row['problem']} {row['held %']:.0f} %" for _, row in known.iterrows())
    return (
        f"**By problem** they held in very different shares: {said}. A forecast knows of other searches, not of the "
        "objective at hand: on a problem that is easier or harder than most it is wrong along the whole search."
    )


def _without_left(fit: Sequence[Record], confirm: Sequence[Record]) -> str:
    with_left = log_loss(confirm, PRODUCT)
    without = log_loss(confirm, fitted(fit, "log_left"), "log_left")
    nothing = log_loss(confirm, fitted(fit, "excess"), "excess")
    return (
        "**From what.** Minus the log-likelihood of a search with an odd seed, the less the better: "
        f"{with_left:.2f}; without the probability left, so by the bound alone, {without:.2f}; without the bound "
        f"{nothing:.2f}."
    )


def _simulated(records: Sequence[Record]) -> str:
    """Return how often intervals of simulated continuations held, beside the forecasts at the same moments."""
    held: dict[str, list[bool]] = {"simulated": [], "forecast": []}
    n_open, seconds = 0, list[float]()
    for record in records:
        for moment in record["moments"]:
            farthest = SIGHT * moment["n"]
            stop = math.inf if record["stop"] is None else record["stop"] - moment["n"]
            more = stop if stop <= farthest else math.inf
            if math.isinf(more) and record["trials"] < moment["n"] + farthest:
                continue  # the record does not tell
            seen = [math.inf if each is None else each for each in moment["simulated"]]
            n_open += math.isinf(max(seen))
            held["simulated"].append(min(seen) <= more <= max(seen))
            high = math.inf if moment["high"] is None else moment["high"]
            held["forecast"].append(moment["low"] is None or moment["low"] <= stop <= high)
            seconds.append(moment["cpu_s"])
    moments = " and ".join(map(str, continuations.MOMENTS))
    return (
        f"**Simulation instead.** The search itself, continued on {continuations.N_PATHS} draws of its posterior, has "
        f"an interval from soonest to latest stop. At {len(seconds)} moments, after {moments} evaluations "
        f"of other searches, it held {sum(held['simulated'])} times (open above {n_open} times), the forecast "
        f"{sum(held['forecast'])} times; it took {min(seconds):.0f} to {max(seconds):.0f} s, the forecast next to "
        "nothing. The posterior is surer of the search than the search turns out to be."
    )


def _noise(records: Sequence[Record]) -> str:
    """Return how often fitted noise was a reason not to stop, and the search stopped."""
    known: list[bool] = []
    for record in records:
        ends = record["n"][-1]
        for n in MOMENTS:
            farthest = (1 + SIGHT) * n
            needs = record["noise needs"][n - 1] if _EARLY <= n < ends else None
            if needs is not None and needs > farthest and (record["stop"] is not None or ends >= farthest):
                known.append(record["stop"] is not None and record["stop"] <= farthest)
    return (
        f"**Noise** is no forecast. At {len(known)} moments from {_EARLY} evaluations on the fitted noise alone was to "
        "keep the bound above ε for longer than is in sight, and it is known what became of it: "
        f"{sum(known)} times the search stopped within sight. Noise is overestimated where data are few, or the "
        "objective is rough. So it is called the reason only where a stop is not in sight anyway."
    )


def _draw(figure: Figure, told: pd.DataFrame) -> None:
    figure.set_size_inches(9, 3.4)
    left, right = figure.subplots(1, 2)
    left.axhspan(*_PROMISED, color=GREY, alpha=0.2, lw=0)
    for shift, (points, colour) in enumerate(zip(_POINTS.values(), (BLUE, ORANGE), strict=True)):
        part = told[(told["points"] == points) & told["held"].notna()]
        for n, here in part.groupby("n"):
            k, count = int(here["held"].sum()), len(here)
            low, high = (100 * each for each in wilson_interval(k, count))
            at = float(n) * (1 + 0.04 * shift)
            left.plot([at, at], [low, high], color=colour, lw=1.2)
            left.plot(at, 100 * k / count, "os"[shift], color=colour, ms=4, label=points if n == MOMENTS[-1] else None)
        here = part[np.isfinite(part["more"]) & np.isfinite(part["median"])]
        right.plot(here["median"], here["more"], "os"[shift], color=colour, ms=3, alpha=0.6)
    left.set(xscale="log", ylim=(0, 103), xlabel="evaluations so far", ylabel="intervals that held (%)")
    left.set_xticks(MOMENTS, [str(n) for n in MOMENTS], minor=False)
    left.minorticks_off()
    most = float(np.nanmax(told.loc[np.isfinite(told["more"]), "more"]))
    right.plot([1, most], [1, most], color=GREY, lw=1)
    right.set(xscale="log", yscale="log", xlabel="more evaluations, median of the forecast", ylabel="in truth")
    for axis in (left, right):
        plain(axis)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)

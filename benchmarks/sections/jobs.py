"""Stops by family: jobs, test functions and draws; rules beside each other, and how good the searches are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks import families, jobs
from benchmarks.records import read
from benchmarks.sections import paired
from benchmarks.sections.section import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, Section, plain
from benchmarks.tables import number, table
from benchmarks.tuning_jobs import JOBS

Record = dict[str, Any]
# Searches are compared after so many evaluations.
_COMPARED = 80
_ALL = "all"
_PATIENCE = (20, 40)
_CALLED = {jobs.OURS: "ours", jobs.TPE: "TPE", jobs.GPSAMPLER: "GPSampler", jobs.RANDOM: "random"}
_ASKED = (jobs.OURS, jobs.TPE)
# What is drawn of a regret of 0, in ε.
_LEAST = 1e-3


@dataclass(frozen=True)
class End:
    """Where a rule ends a search.

    Attributes:
        n: After how many evaluations.
        regret: The true one of the trial that it names, or of the best value seen; in ε.
        stopped: Whether it did, before the last evaluation.
    """

    n: int
    regret: float
    stopped: bool


def by_certificate(record: Record, name: str) -> End | None:
    """Return where one of our rules ends it; None if it was not asked."""
    said = record["said"].get(name)
    if not said:
        return None
    n, _, stopped, regret, *_ = said[-1]
    return End(n, regret / record["epsilon"], True) if stopped else budget(record)


def patience(record: Record, k: int) -> End:
    """Return where it ends if k evaluations in a row bring no better value."""
    best, sign = 0, _sign(record)
    for i, value in enumerate(record["values"]):
        if sign * value > sign * record["values"][best]:
            best = i
        if i - best >= k:
            return _at(record, i + 1, True)
    return budget(record)


def terminator(record: Record, threshold: float | None) -> End | None:
    """Return where Optuna's bound falls below a threshold; None if it was not asked."""
    if not record["terminator"] or threshold is None:
        return None
    below = [n for n, bound in record["terminator"] if bound is not None and bound < threshold]
    return _at(record, below[0], True) if below else budget(record)


def budget(record: Record) -> End:
    """Return the end of all evaluations."""
    return _at(record, len(record["values"]), False)


# By name, with colour and mark of the picture.
RULES: dict[str, tuple[Callable[[Record], End | None], str, str]] = {
    "certificate (default)": (partial(by_certificate, name=jobs.DEFAULT), BLUE, "o"),
    f"price of {jobs.PRICE:g} ε": (partial(by_certificate, name=jobs.PRICED), GREEN, "s"),
    "patience 20": (partial(patience, k=_PATIENCE[0]), ORANGE, "^"),
    "patience 40": (partial(patience, k=_PATIENCE[1]), RED, "v"),
    "Optuna's terminator, ε": (lambda record: terminator(record, record["epsilon"]), SKY, "D"),
    "Optuna's terminator, its median error": (lambda record: terminator(record, record["median_error"]), PINK, "d"),
    "all evaluations": (budget, BLACK, "x"),
}
_DEFAULT = next(iter(RULES))


def section(folder: Path) -> Section | None:
    """Return what there is to say; None without records."""
    records = read(folder / jobs.PATH.name)
    if not records:
        return None
    ends, quality = ended(records), compared(records)
    return Section(
        title="Jobs",
        result=_result(ends),
        asked=f"Do searches of real tuning jobs end by the default certificate, and truly, and where would other rules "
        f"end them? {len(families.NAMES[families.SURROGATES])} jobs with 2 to 12 parameters (scikit-learn, LightGBM, "
        "XGBoost, a convolutional network), each a surrogate, trees on 2,000 recorded evaluations, with the noise of "
        "repeated ones; beside them six test functions, draws of the priors, of which some have a noise of about ε, "
        "and the paper's network, trained in its ranges. ε = 0.01 of accuracy, 1 % of an untuned error, 1 % of the "
        "range of a test function, a tenth of a draw's deviation, the paper's 0.1 of its network's error; once more "
        f"with the standard error of a job's best scores as ε; δ = {jobs.DELTA}, the best possible value declared for "
        "jobs, 100 evaluations (150 above six parameters). A stop is false if the trial named is worse than "
        "the optimum by more than ε. Stopped of searches, false, median evaluations:",
        shown=_by_job(ends),
        caption="Evaluations in the mean, all of them where a rule did not stop, and the true regret at the end: its "
        "median, with a line to its ninth decile",
        draw=lambda figure: _draw(figure, records),
        found=(
            "**Every rule**, by family and by whose points: stopped of searches, median evaluations, false of stopped, "
            "median and ninth decile of the regret at the end in ε. Patience and the terminator name the best value.",
            table(_by_rule(ends)),
            _quality_in_words(quality),
            table(_shown_quality(quality)),
            _open(records),
            _ran(records),
        ),
        tables={"jobs": ends, "jobs-quality": quality},
    )


def ended(records: Sequence[Record]) -> pd.DataFrame:
    """Return how searches ended, by family, problem, sampler and rule; evaluations are ∞ where they never did."""
    rows: list[Record] = []
    for (family, name, sampler), paths in _groups(records):
        for rule, (end, _, _) in RULES.items():
            found = [each for each in map(end, paths) if each is not None]
            if not found:
                continue
            regrets = [each.regret for each in found]
            rows.append(
                {"family": family, "problem": name, "sampler": sampler, "rule": rule, "searches": len(found)}
                | {"stopped": sum(each.stopped for each in found)}
                | {"median evaluations": float(np.median([each.n if each.stopped else np.inf for each in found]))}
                | {"false": sum(each.stopped and each.regret > 1.0 for each in found)}
                | {"median regret": float(np.median(regrets)), "90 % regret": float(np.quantile(regrets, 0.9))}
            )
    return pd.DataFrame(rows)


def compared(records: Sequence[Record]) -> pd.DataFrame:
    """Return the regret after so many evaluations in ε, by problem and sampler, and how often ours is better."""
    regret_of = {(r["family"], r["problem"], r["sampler"], r["seed"]): _at(r, _COMPARED, False).regret for r in records}
    rows: list[Record] = []
    for (family, name, sampler), paths in _groups(records):
        if len(jobs.SEARCHES[family]) == 1:
            continue
        regrets = [_at(path, _COMPARED, False).regret for path in paths]
        row: Record = {"family": family, "problem": name, "sampler": sampler, "searches": len(paths)}
        row["median regret"] = float(np.median(regrets))
        if sampler != jobs.OURS:
            ours = [regret_of.get((family, path["problem"], jobs.OURS, path["seed"])) for path in paths]
            row |= paired.compared(zip(ours, regrets, strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def _groups(records: Sequence[Record]) -> list[tuple[tuple[str, str, str], list[Record]]]:
    """Return records by family, problem and sampler, and those of all problems of a family."""
    return [
        ((family, name, sampler), paths)
        for family, names in families.NAMES.items()
        for name in (*names, _ALL)
        for sampler in jobs.SEARCHES[family]
        if (
            paths := [
                r for r in records if (r["family"], r["sampler"]) == (family, sampler) and name in (_ALL, r["problem"])
            ]
        )
    ]


def _sign(record: Record) -> float:
    """Return 1 where values are maximised."""
    if record["family"] in families.OF_JOBS:
        return 1.0 if JOBS[record["problem"]].direction == "maximize" else -1.0
    return 1.0 if record["family"] in (families.DRAWS, families.NOISY) else -1.0


def _at(record: Record, n: int, stopped: bool) -> End:
    """Return the end after so many evaluations with the best value of them."""
    best = int(np.argmax(_sign(record) * np.array(record["values"][:n])))
    return End(n, record["regrets"][best] / record["epsilon"], stopped)


def _of(ends: pd.DataFrame, family: str, sampler: str, problem: str = _ALL, rule: str = _DEFAULT) -> pd.DataFrame:
    wanted = {"family": family, "sampler": sampler, "problem": problem, "rule": rule}
    return ends[np.logical_and.reduce([ends[name].eq(value) for name, value in wanted.items()])]


def _result(ends: pd.DataFrame) -> str:
    said = [
        f"{one['stopped']} of {one['searches']} {where}, {one['false']} falsely"
        for family, sampler, where in (
            (families.SURROGATES, jobs.OURS, "by our sampler"),
            (families.SURROGATES, jobs.TPE, "beside TPE"),
            (families.BY_ERROR, jobs.OURS, "by our sampler where ε is the standard error"),
            (families.BY_ERROR, jobs.TPE, "beside TPE where ε is the standard error"),
            (families.THEMSELVES, jobs.OURS, "on the jobs themselves"),
        )
        for _, one in _of(ends, family, sampler).iterrows()
    ]
    return f"**Real tuning jobs** end by the default certificate: {'; '.join(said)}."


def _by_job(ends: pd.DataFrame) -> pd.DataFrame:
    """Return stopped of searches, false ones, and median evaluations by the default rule."""
    rows: list[Record] = []
    for family, samplers in jobs.SEARCHES.items():
        for name in (*families.NAMES[family], _ALL):
            row: Record = {"family": family, "problem": name}
            for sampler in (s for s in samplers if s in _ASKED):
                for _, one in _of(ends, family, sampler, name).iterrows():
                    words = f"{one['stopped']}/{one['searches']}, {one['false']}, {number(one['median evaluations'])}"
                    row[f"points of {_CALLED[sampler]}"] = words
            if len(row) > 2:
                rows.append(row)
    return pd.DataFrame(rows).fillna("–")


def _by_rule(ends: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    for (family, sampler), part in ends[ends["problem"].eq(_ALL)].groupby(["family", "sampler"], sort=False):
        for _, one in part.iterrows():
            rows.append(
                {"family": family, "points of": _CALLED[str(sampler)], "rule": one["rule"]}
                | {"stopped": f"{one['stopped']}/{one['searches']}"}
                | {"evaluations": number(one["median evaluations"])}
                | {"false": f"{one['false']}/{one['stopped']}"}
                | {"regret": f"{number(one['median regret'], 2)}, {number(one['90 % regret'], 2)}"}
            )
    return pd.DataFrame(rows)


def _quality_in_words(quality: pd.DataFrame) -> str:
    others = quality[quality["sampler"].ne(jobs.OURS) & quality["problem"].ne(_ALL)]
    clear = paired.beyond_chance(others, "problem", _CALLED.__getitem__)
    return (
        f"**The search** after {_COMPARED} evaluations: true regret of the best value in ε, median, and on how many "
        f"seeds ours was better–worse. By more than chance {clear}"
    )


def _shown_quality(quality: pd.DataFrame) -> pd.DataFrame:
    rows: list[Record] = []
    for (family, name), part in quality.groupby(["family", "problem"], sort=False):
        row: Record = {"family": family, "problem": name}
        for _, one in part.iterrows():
            text = number(one["median regret"], 2)
            if one["sampler"] != jobs.OURS:
                text += f" ({paired.better_worse(one)})"
            row[_CALLED[str(one["sampler"])]] = text
        rows.append(row)
    return pd.DataFrame(rows).fillna("–")


def _open(records: Sequence[Record]) -> str:
    """Return what kept the searches that the default rule did not end."""
    said: list[str] = []
    for (family, name, sampler), paths in _groups(records):
        last = [(p["epsilon"], *p["said"][jobs.DEFAULT][-1]) for p in paths if p["said"]]
        last = [each for each in last if not each[3]]
        if name == _ALL or not last or family != families.SURROGATES:
            continue
        bounds = [np.inf if bound is None else bound / epsilon for epsilon, _, bound, *_ in last]
        said.append(f"{name}, {_CALLED[sampler]}: {len(last)}, {number(float(np.median(bounds)), 2)} ε")
    return f"**Not stopped** surrogates, with the median of the last bounds: {'; '.join(said) or 'none'}."


def _ran(records: Sequence[Record]) -> str:
    seconds = [
        f"{_CALLED[sampler]} {number(float(np.median([r['cpu_s'] for r in records if r['sampler'] == sampler])), 2)} s"
        for sampler in _CALLED
        if any(r["sampler"] == sampler for r in records)
    ]
    return f"Median CPU time of a search, all tests included: {', '.join(seconds)}."


def _draw(figure: Figure, records: Sequence[Record]) -> None:
    figure.set_size_inches(11, 3.4)
    panels = (
        (families.DRAWS, jobs.OURS, "draws"),
        (families.NOISY, jobs.OURS, "noisy draws"),
        (families.TEXTBOOK, jobs.OURS, "test functions"),
        (families.SURROGATES, jobs.OURS, "jobs, our points"),
        (families.SURROGATES, jobs.TPE, "jobs, TPE's points"),
    )
    axes = figure.subplots(1, len(panels), sharey=True)
    for axis, (family, sampler, title) in zip(axes, panels, strict=True):
        paths = [r for r in records if (r["family"], r["sampler"]) == (family, sampler)]
        for end, colour, mark in RULES.values():
            found = [each for each in map(end, paths) if each is not None]
            if not found:
                continue
            n = float(np.mean([each.n for each in found]))
            middle, high = np.maximum(np.quantile([each.regret for each in found], [0.5, 0.9]), _LEAST)
            axis.plot([n, n], [middle, high], color=colour, lw=1.2)
            axis.plot(n, middle, mark, color=colour, ms=7)
        axis.axhline(1.0, color=GREY, lw=0.8, ls="--")
        axis.set(title=title, xlabel="evaluations", yscale="log", xlim=(0, 130))
        plain(axis)
    axes[0].set_ylabel("true regret at the end (ε)")
    handles = [Line2D([], [], color=colour, marker=mark, lw=0, label=name) for name, (_, colour, mark) in RULES.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)

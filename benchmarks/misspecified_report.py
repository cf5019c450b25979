"""The section of RESULTS.md about problems that are no draw of the model."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import misspecified
from benchmarks.misspecified_picture import draw
from benchmarks.misspecified_problems import SHARES
from benchmarks.paths import DELTA, EVERY, PRB_EVERY, TERMINATOR, answers_of, stop_of
from benchmarks.records import RESULTS, read
from benchmarks.stops import (
    CASES,
    DEFAULTS,
    OURS,
    TARGET,
    TREATMENTS,
    Case,
    Tally,
    first_within,
    of_case,
    tally,
    tally_by_problem,
)
from benchmarks.tables import rate, sources, spread, table

Records = Sequence[Mapping[str, Any]]
_PATIENCE = (0, 5, 10, 15)
# By sampler: what it is, and where its picture goes.
_SAMPLERS = {
    "exceedance": ("Points chosen as by default: with exceedance sampling, of the smaller ε", "misspecified.png"),
    "√β = 2": ("Points chosen by √β = 2 alone", "misspecified-constant.png"),
}


def section() -> list[str]:
    """Return the Markdown, and draw the pictures; nothing where there are no records."""
    records = read(misspecified.PATH)
    if not records:
        return []
    parts = ["## Where the model is wrong", _about(records)]
    for sampler, (words, picture) in _SAMPLERS.items():
        paths = [record for record in records if record["sampler"] == sampler]
        if paths:
            draw(paths, RESULTS / picture)
            parts += [f"### {words}", *_of_sampler(paths, picture)]
    return parts


def _of_sampler(records: Records, picture: str) -> list[str]:
    levels = range(len(SHARES))
    return [
        *(part for level in levels for part in (_conclusion(records, level), table(_summary(records, level)))),
        f"![false stops against stopping times](results/{picture})",
        f"Each problem, ε = {_percent(0)}, the model check as it is by default; marks that would hide each other are "
        "set side by side.",
        *(part for level in levels for part in _details(records, level)),
        "#### Bounds below the true regret",
        "On how many paths a bound was below the true regret of the trial that it is about at any test, and at how "
        "many of the tests. PRB is asked for the smaller ε, until it stops.",
        table(_violations(records)),
        "#### A least number of evaluations",
        "Searches that UCBbr stopped, how many of them falsely, and the median evaluations, if it may not stop before "
        "so many evaluations for each parameter.",
        table(_patience(records)),
        "#### What a proof costs",
        "The bound of the certified gap over that of UCBbr at the same tests, and how long it took to stop over how "
        f"long UCBbr took, where both did ({_shares()}); medians (quartiles).",
        table(_ratios(records)),
        "#### How good the paths were",
        "The regret of the best trial of all, without noise, and after how many evaluations the first one within ε "
        "had been found, on the paths where one was; medians (quartiles).",
        table(_oracle(records)),
    ]


def _about(records: Records) -> str:
    lengths = " or ".join(str(n) for n in sorted({record["trials"] for record in records}))
    return (
        f"Paths of {lengths} evaluations by `GPUCB` at the mode of the hyperparameters, "
        f"{len({record['seed'] for record in records})} seeds a problem. Every rule is asked along the same paths, at "
        f"every {EVERY}th evaluation from {records[0]['tests'][0]} on (PRB at every {PRB_EVERY}th). "
        f"ε is {_shares()} of the range of the values, δ = {DELTA}; AcquisitionThreshold has an ε of its own. A stop "
        "is false if the regret of the trial that the rule names (for Optuna's terminator, the best one seen) is above "
        "ε. Where the model check objects (κ > 1), deviations are “inflated”, as is the default; by a “gate” the rule "
        "would not stop at such a test; “without”, there is no check. Rates with Wilson's 95 % interval. "
        + _censored(records)
        + sources(list(records))
    )


def _censored(records: Records) -> str:
    """Return in words on how many paths it is not known whether PRB would have stopped behind a gate."""
    n_unknown = sum(
        stop_of(record, "PRB", epsilon) is not None and stop_of(record, "PRB", epsilon, "gate") is None
        for record in records
        for epsilon in record["epsilons"]
    )
    if not n_unknown:
        return ""
    return (
        "PRB is not asked again after it has stopped with inflated deviations, so behind a gate it might still have "
        f"stopped later; such paths ({n_unknown}, of either ε) count as not stopped. "
    )


def _shares() -> str:
    return " and ".join(_percent(level) for level in range(len(SHARES)))


def _percent(level: int) -> str:
    return f"{100 * SHARES[level]:.0f} %"


def _conclusion(records: Records, level: int) -> str:
    """Return in words where more of the paths than δ end in a false stop."""
    found: list[str] = []
    for case in DEFAULTS:
        tallies = tally_by_problem(records, case, level)
        names = [name for name, each in tallies.items() if each.is_above_target]
        if tallies:
            label = case.rule if case.treatment == TERMINATOR else f"{case.rule} ({case.treatment})"
            found.append(f"{label}: {', '.join(names) or 'none'}")
    return (
        f"**ε = {_percent(level)}.** Problems on which more than {100 * TARGET:.0f} % of the paths end in a false "
        f"stop, with the model check as it is by default: {'; '.join(found)}."
    )


def _summary(records: Records, level: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for case in CASES:
        tallies = tally_by_problem(records, case, level)
        if not tallies:
            continue
        total = tally(records, case, level)
        above = {name: each for name, each in tallies.items() if each.is_above_target}
        medians = [each.median_stop for each in tallies.values() if each.stops]
        rows.append(
            case.words
            | {
                "stopped": f"{len(total.stops)}/{total.n_paths}",
                "false stops of all paths": rate(total.n_false, total.n_paths),
                f"problems above {100 * TARGET:.0f} %": f"{len(above)} of {len(tallies)}",
                "which": ", ".join(f"{name} {each.n_false}/{each.n_paths}" for name, each in above.items()),
                "median of the problems' median stops": f"{np.median(medians):.3g}" if medians else "–",
            }
        )
    return rows


def _details(records: Records, level: int) -> list[str]:
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(record["problem"] for record in records):
        paths = [record for record in records if record["problem"] == name]
        tallies = {case: tally(paths, case, level) for case in CASES}
        rows += [
            {"problem": name} | case.words | _shown(each)
            for case, each in tallies.items()
            if each.n_paths and (case in DEFAULTS or each != tallies[Case(case.rule, case.treatment)])
        ]
    return [
        f"<details><summary>Every problem, ε = {_percent(level)}; “gate” and “without” where they change a stop"
        "</summary>",
        table(rows),
        "</details>",
    ]


def _shown(found: Tally) -> dict[str, str]:
    return {
        "stopped": f"{len(found.stops)}/{found.n_paths}",
        "false of the stops": f"{found.n_false}/{len(found.stops)}" if found.stops else "–",
        "false stops of all paths": rate(found.n_false, found.n_paths),
        "stop at": spread(list(found.stops)),
        "regret of the trial named": spread(found.regrets),
    }


def _violations(records: Records) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for case in DEFAULTS:
        paths = of_case(records, case)
        if not paths or case.rule not in (*OURS, TERMINATOR):
            continue
        row = {name: word for name, word in case.words.items() if name != "model check"}
        for check in ("inflated", "without"):
            along = [
                [bound < regret for _, bound, regret in answers_of(r, case.rule, min(r["epsilons"]), check)]
                for r in paths
            ]
            row[f"paths, {check}"] = rate(sum(map(any, along)), len(paths))
            row[f"tests, {check}"] = f"{sum(map(sum, along))}/{sum(map(len, along))}"
        rows.append(row)
    return rows


def _patience(records: Records) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for each in _PATIENCE:
        row: dict[str, Any] = {"least": f"{each} a parameter" if each else "none"}
        for treatment in TREATMENTS:
            paths = [record for record in records if record["treatment"] == treatment]
            for level in range(len(SHARES)):
                ends = [(_patient(record, level, each), record["epsilons"][level]) for record in paths]
                stops = [(*stop, epsilon) for stop, epsilon in ends if stop is not None]
                false = sum(regret > epsilon for _, regret, epsilon in stops)
                median = f"{np.median([n for n, _, _ in stops]):g}" if stops else "–"
                row[f"{treatment}, {_percent(level)}"] = f"{len(stops)}/{len(paths)}, {false}, {median}"
        rows.append(row)
    return rows


def _patient(record: Mapping[str, Any], level: int, each: int) -> tuple[int, float] | None:
    """Return where UCBbr stops, not before so many evaluations for each parameter."""
    first = each * misspecified.problem_of(record).space.dim
    return stop_of(record, "UCBbr", record["epsilons"][level], first=first)


def _ratios(records: Records) -> list[dict[str, Any]]:
    names = ("all", *dict.fromkeys(record["problem"] for record in records))
    rows: list[dict[str, Any]] = []
    for name in names:
        row = {"problem": name}
        for treatment in TREATMENTS:
            paths = [r for r in records if r["treatment"] == treatment and name in ("all", r["problem"])]
            row[f"bounds, {treatment}"] = spread(_over_ucb_br(paths, _bounds))
            stops = _over_ucb_br(paths, _stops)
            row[f"stops, {treatment}"] = f"{spread(stops)} of {len(stops)}" if stops else "–"
        rows.append(row)
    return rows


def _over_ucb_br(records: Records, numbers: Callable[[Mapping[str, Any], str], list[float]]) -> list[float]:
    """Return the certified gap's numbers over those of UCBbr, where both are finite."""
    return [
        gap / paper
        for record in records
        for gap, paper in zip(numbers(record, "certified gap"), numbers(record, "UCBbr"), strict=True)
        if math.isfinite(gap) and math.isfinite(paper)
    ]


def _bounds(record: Mapping[str, Any], rule: str) -> list[float]:
    return [bound for _, bound, _ in answers_of(record, rule, min(record["epsilons"]))]


def _stops(record: Mapping[str, Any], rule: str) -> list[float]:
    stops = [stop_of(record, rule, epsilon) for epsilon in record["epsilons"]]
    return [math.inf if stop is None else stop[0] for stop in stops]


def _oracle(records: Records) -> list[dict[str, Any]]:
    # The treatments of a path have its trials in common.
    paths = {(record["problem"], record["seed"], record["trials"]): record for record in records}
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(problem for problem, _, _ in paths):
        of_problem = [record for (problem, _, _), record in paths.items() if problem == name]
        row = {
            "problem": name,
            "ε": ", ".join(f"{epsilon:.3g}" for epsilon in of_problem[0]["epsilons"]),
            "regret of the best": spread([min(record["regrets"]) for record in of_problem]),
        }
        for level in range(len(SHARES)):
            within = [n for n in (first_within(record, level) for record in of_problem) if math.isfinite(n)]
            row[f"within {_percent(level)}"] = f"{len(within)}/{len(of_problem)}"
            row[f"within {_percent(level)} at"] = spread(within)
        rows.append(row)
    return rows

"""The section of RESULTS.md about the paper's tables."""

from typing import Any

import numpy as np

from benchmarks import paper, paper_data, paper_plots
from benchmarks.outcomes import Outcome, Summary, longest, outcome, summary
from benchmarks.paper_data import NOSTOP, ORACLE
from benchmarks.paper_differences import differences
from benchmarks.paper_problems import CNN, EPSILON, LENGTHSCALES, ROWS
from benchmarks.paths import DELTA, EVERY, KERNELS, PRB_EVERY
from benchmarks.records import RESULTS, read
from benchmarks.tables import evaluations, rate, sources, table

Records = list[dict[str, Any]]

OURS = ("calibrated gap", "certified gap")
STOPPING = ("UCBbr", "PRB", "AcquisitionThreshold", "DeltaCB", "DeltaES", *OURS)
STOPS_PLOT, CURVES_PLOT = RESULTS / "paper-stops.png", RESULTS / "paper-regrets.png"
# In words: the treatments, and which of a record's answers.
VIEWS = {
    "as the paper": (("fixed", "map"), "without"),
    "mode, checked": (("fixed", "map"), "inflated"),
    "samples, checked": (("fixed", "posterior"), "inflated"),
}
# What stands beside the paper's numbers: how the points were chosen, and the view. GP-known needs no treatment.
_PAPERS, _DEFAULT, _SAMPLES = "as the paper", "by default", "over samples"
_BESIDE = {
    _PAPERS: ("√β = 2", "as the paper"),
    _DEFAULT: ("exceedance", "mode, checked"),
    _SAMPLES: ("√β = 2", "samples, checked"),
}
_COLUMNS = ("stop (success, regret)", "median stop", "stopped", "false stops", "named regret")
_NETWORK = (
    "CNN is trained with 500 digits in place of 5,000 and judged by 1,000 others, the same seed every time; its regret "
    "is its error, since the least one is not known. "
)


def section() -> list[str]:
    """Return the Markdown; nothing where there are no records."""
    records = longest(read(paper.PATH))
    if not records:
        return []
    parts = ["## The paper's tables", _introduction(records), *_summaries(records)]
    first = [r for r in records if r["sampler"] == "√β = 2"]
    for kernel in KERNELS:
        if paths := [r for r in records if r["kernel"] == kernel]:
            parts += [f"### {kernel}", table(_rows(kernel, paths))]
    if first:
        paper_plots.stops(records, STOPS_PLOT)
        paper_plots.curves(first, CURVES_PLOT)
        parts += [
            "Mean stop against the share of runs that ended too far from the optimum, each row counting alike. Ours: "
            "false stops. The paper prints none, so its points are the runs without success: a stop without success "
            "is a false one, but not the other way round, and runs that never stopped can be without success.",
            f"![mean stops against false stops](results/{STOPS_PLOT.name})",
            "The least true regret so far, median and quartiles over the paths, and the median stops of the rules as "
            "the paper runs them; regrets below 1e-4 are drawn as that, and rules that stopped on fewer than half of "
            "the paths are left out.",
            f"![regret along the paths](results/{CURVES_PLOT.name})",
        ]
        parts += differences(first)
    return parts + _bounds(records)


def view(records: Records, name: str, rule: str) -> list[Outcome]:
    """Return what a rule made of the paths, in one of the views.

    A path has one record for each treatment; a known kernel needs no treatment, and is the same in all views.
    """
    treatments, check = VIEWS[name]
    return [outcome(record, rule, check) for record in records if record["treatment"] in treatments]


def _introduction(records: Records) -> str:
    shorter = [
        f"{name} ({next(r['trials'] for r in records if r['problem'] == name)} in place of {ROWS[name].budget})"
        for name in dict.fromkeys(r["problem"] for r in records)
        if next(r["trials"] for r in records if r["problem"] == name) < ROWS[name].budget
    ]
    seeds = [len({r["seed"] for r in records if r["problem"] == name}) for name in {r["problem"] for r in records}]
    n_seeds = f"{min(seeds)}" if min(seeds) == max(seeds) else f"{min(seeds)}–{max(seeds)}"
    lengthscales = ", ".join(f"{value:g} in d = {dim}" for dim, value in LENGTHSCALES.items())
    return (
        f"ε = {EPSILON} in the objective's units, δ = {DELTA}, five Sobol points first; seeds a row: {n_seeds}, the "
        f"paper has 50. Draws have unit deviation and lengthscale {lengthscales} (the paper prints none). "
        + (f"Paths shorter than the paper's: {', '.join(shorter)}. " if shorter else "")
        + (_NETWORK if any(r["problem"] == CNN for r in records) else "")
        + f"Rules are asked after every evaluation from {paper.MOMENTS.first} to {paper.MOMENTS.each_until}, then "
        f"after every {EVERY}th, PRB after every {PRB_EVERY}th; the paper asks after every one.\n\n"
        "*As the paper counts:* the stop is a mean, and a run that never stops counts as T; success is that the best "
        "true value so far is within ε at the stop, or at T for a run that never stops; the regret is that of this "
        "best value. Nobody who stops knows which trial that is. *Beside it:* stops are false if the trial that the "
        "rule names has a regret above ε, of all paths, with Wilson's 95 % interval; the median stop counts a run that "
        "never stops as later than all others (∞); the named regret is the median over the stops.\n\n"
        "*As the paper* is with points of √β = 2, at the mode of the hyperparameters and without the model check. *By "
        "default* is with exceedance sampling of ε besides and with the check, at the mode; *over samples* with points "
        "of √β = 2 and the check, as the worst of eight samples. GP-known is told kernel, noise and mean. Our "
        "UCBbr is the paper's bound handed on to an evaluated trial, which is never below the paper's own number; Acq "
        f"is the largest expected improvement. {sources(records)}"
    )


def _summaries(records: Records) -> list[str]:
    rows: list[dict[str, Any]] = []
    for sampler in paper.SAMPLERS:
        for name in VIEWS:
            for rule in STOPPING:
                found = view([r for r in records if r["sampler"] == sampler], name, rule)
                if not found:
                    continue
                s = summary(found)
                rows.append(
                    {
                        "points by": sampler,
                        "hyperparameters": name,
                        "rule": rule,
                        "stopped": f"{s.stopped}/{s.paths}",
                        "mean stop": f"{s.mean_stop:.1f}",
                        "success": _percent(s.successes, s.paths),
                        "false stops": rate(s.false, s.paths),
                    }
                )
    return ["All rows and kernels together:", table(rows)]


def _rows(kernel: str, records: Records) -> list[dict[str, Any]]:
    printed = paper_data.results(kernel)
    rows: list[dict[str, Any]] = []
    for name in ROWS:
        paths = [r for r in records if r["problem"] == name]
        for rule in (NOSTOP, ORACLE, *STOPPING) if paths else ():
            cell = printed.get((name, rule))
            row: dict[str, Any] = {
                "problem": name,
                "rule": rule,
                "paper: stop (success, regret)": "–"
                if cell is None
                else f"{cell.stop:.1f} ({100 * cell.success:.0f} %, {cell.regret:.2g})",
            }
            for wanted, (sampler, name_of_view) in _BESIDE.items():
                found = view([r for r in paths if r["sampler"] == sampler], name_of_view, rule)
                cells = _cells(summary(found) if found else None, is_reference=rule in (NOSTOP, ORACLE))
                row |= {f"{wanted}: {column}": cell for column, cell in cells.items()}
            rows.append(row)
    return rows


def _cells(s: Summary | None, *, is_reference: bool) -> dict[str, str]:
    """Return the cells of one view; nobody can stop by a reference, so it has no false stops."""
    if s is None:
        return dict.fromkeys(_COLUMNS, "–")
    named = "–" if s.median_named is None or is_reference else f"{s.median_named:.2g}"
    cells = (
        f"{s.mean_stop:.1f} ({_percent(s.successes, s.paths)}, {s.mean_best:.2g})",
        evaluations(s.median_stop),
        f"{s.stopped}/{s.paths}",
        "–" if is_reference else rate(s.false, s.paths),
        named,
    )
    return dict(zip(_COLUMNS, cells, strict=True))


def _percent(k: int, n: int) -> str:
    return f"{100 * k / n:.0f} %"


def _bounds(records: Records) -> list[str]:
    """Return the table of the certified gap beside the paper's bound, where both are theorems."""
    rows: list[dict[str, Any]] = []
    for name in ROWS:
        for kernel in KERNELS:
            for sampler in ("matched", "theory"):
                paths = [
                    r
                    for r in records
                    if (r["problem"], r["kernel"], r["sampler"], r["treatment"]) == (name, kernel, sampler, "fixed")
                ]
                if paths:
                    rows.append({"problem": name, "kernel": kernel, "points by": sampler} | _compared(paths))
    if not rows:
        return []
    return [
        "### The certified gap beside the paper's bound",
        "Kernel and noise known, the same paths: both are proved there. The ratio of the gap to the bound, which is "
        "the paper's handed on to an evaluated trial, is a median over the paths (of those where both are finite), at "
        "some numbers of evaluations.",
        table(rows),
    ]


def _compared(records: Records) -> dict[str, str]:
    row = {"paths": str(len(records))}
    for n in (16, 32, 64, 96, 128):
        ratios = [ratio for r in records if (ratio := _ratio(r, n)) is not None]
        row[f"gap / bound at {n}"] = f"{np.median(ratios):.2f}" if ratios else "–"
    for heading, rule in (("bound", "UCBbr"), ("gap", "certified gap")):
        s = summary([outcome(r, rule) for r in records])
        row[f"{heading} below ε"] = f"{s.stopped}/{s.paths}"
        row[f"{heading}: median stop"] = evaluations(s.median_stop)
        row[f"{heading}: false"] = rate(s.false, s.paths)
    return row


def _ratio(record: dict[str, Any], n: int) -> float | None:
    if n not in record["tests"]:
        return None
    at = record["tests"].index(n)
    gap, bound = (record["rules"].get(rule, {"bounds": {}})["bounds"] for rule in ("certified gap", "UCBbr"))
    return gap[at] / bound[at] if gap and bound and gap[at] is not None and bound[at] else None

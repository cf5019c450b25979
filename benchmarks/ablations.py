"""The paper's ablations: UCBbr along the same paths with other δ and n_L, and along paths of another √β.

Beside them the slopes of the paper's experiments, a = b = 1, in place of the kernel's. A larger δ can never stop later
on one path. The paper's tables have it doing so, so the order is checked here on every path.
"""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import paper, paper_data
from benchmarks.outcomes import longest, outcome, summary
from benchmarks.paper_problems import CNN, EPSILON, ROWS, problem_of
from benchmarks.paths import DELTA, follow, optimizer
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact, read
from benchmarks.tables import rate, sources, table
from regretstop import UCBbr

PATH = RESULTS / "ablations.jsonl"
NAMES = tuple(name for name, row in ROWS.items() if row.paper and name != CNN and not row.known)
SAMPLERS = ("√β = 1", "√β = 2", "√β = 5")
DELTAS = (0.01, DELTA, 0.2)
N_LS = (4.0, 40.0)
_USUAL = f"δ = {DELTA:g}"
PAPER_SLOPES = "a = b = 1"
# δ, n_L and the slopes, two of which are as everywhere else.
RULES = {f"δ = {delta:g}": UCBbr(EPSILON, delta) for delta in DELTAS}
RULES |= {f"n_L = {n:g}": UCBbr(EPSILON, DELTA, n_L=n) for n in N_LS}
RULES[PAPER_SLOPES] = UCBbr(EPSILON, DELTA, a=1.0, b=1.0)


def run(seeds: int, processes: int, problems: list[str], trials: int | None = None, path: Path = PATH) -> None:
    """Run the records that the file does not hold yet, under Matérn-5/2 as the paper's."""
    keys = [
        {
            "problem": name,
            "kernel": "Matérn-5/2",
            "sampler": sampler,
            "treatment": "map",
            "seed": seed,
            "trials": ROWS[name].trials if trials is None else min(trials, ROWS[name].trials),
        }
        for seed in range(seeds)
        for name in NAMES
        if name in problems
        for sampler in SAMPLERS
    ]
    run_pending(run_path, keys, path, processes)


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return what UCBbr said along one path under each setting, at the mode and without the model check."""
    start = time.process_time()
    problem = problem_of(key)
    history, regrets = follow(problem, key)
    model = optimizer(problem, key, key["treatment"], model_check=False)
    tests = paper.MOMENTS.up_to(len(history))
    found: dict[str, dict[str, list[float | None]]] = {name: {"bounds": [], "regrets": []} for name in RULES}
    for n in tests:
        model.replace_history(history[:n])
        snapshot = model.snapshot()
        for name, rule in RULES.items():
            certificate = rule.assess(snapshot)
            named = None if certificate.incumbent is None else compact(regrets[certificate.incumbent], 4)
            found[name]["bounds"].append(compact(certificate.bound, 4))
            found[name]["regrets"].append(named)
    return key | {
        "epsilons": [EPSILON],
        "regrets": [compact(regret, 4) for regret in regrets],
        "tests": tests,
        "rules": found,
        "cpu_s": round(time.process_time() - start, 2),
    }


def section() -> list[str]:
    """Return the Markdown; nothing where there are no records."""
    records = longest(read(PATH))
    if not records:
        return []
    usual = [r for r in records if r["sampler"] == "√β = 2"]
    by_b = [
        _row(name, f"B = {sampler.split()[-1]}", _USUAL, [r for r in records if r["sampler"] == sampler], "B")
        for name in NAMES
        for sampler in SAMPLERS
    ]
    by_rule = [_row(name, setting, setting, usual, "delta") for name in NAMES for setting in RULES]
    late = [f"{r['problem']}, {r['sampler']}, seed {r['seed']}" for r in records if not in_order(r)]
    return [
        "## The paper's ablations",
        f"UCBbr under Matérn-5/2 at the mode of the hyperparameters, without the model check; δ = {DELTA:g}, "
        f"n_L = {RULES[_USUAL].n_L:g} and √β = 2 where nothing else is said. B is the √β that chooses the points, and "
        "the formula keeps its own β. Counts as in the paper's tables above: the mean stop counts a run that never "
        f"stops as T, and false stops are of all paths. {sources(records)}",
        "B:",
        table([row for row in by_b if row]),
        "δ, n_L, and the slopes of the paper in place of the kernel's, along the same paths:",
        table([row for row in by_rule if row]),
        f"A larger δ never stopped later: {'true on all' if not late else 'FALSE on ' + '; '.join(late) + ', of'} "
        f"{len(records)} paths.",
    ]


def by_the_papers_slopes() -> float:
    """Return by how much the mean stop of a problem differs at most if the slopes are the paper's; NaN if unknown."""
    usual = [r for r in longest(read(PATH)) if r["sampler"] == "√β = 2"]
    apart = [math.nan]
    for name in NAMES:
        paths = [r for r in usual if r["problem"] == name]
        if paths:
            ours, theirs = (summary([outcome(r, rule) for r in paths]).mean_stop for rule in (_USUAL, PAPER_SLOPES))
            apart.append(abs(ours - theirs))
    return float(np.fmax.reduce(apart))


def in_order(record: dict[str, Any]) -> bool:
    """Return whether no larger δ stopped later on this path."""
    ends = [outcome(record, f"δ = {delta:g}").stop for delta in sorted(DELTAS)]
    late = [len(record["regrets"]) + 1 if end is None else end for end in ends]
    return late == sorted(late, reverse=True)


def _row(name: str, setting: str, rule: str, records: list[dict[str, Any]], ablation: str) -> dict[str, str]:
    """Return a row of a table, empty where there are no paths."""
    found = [outcome(r, rule) for r in records if r["problem"] == name]
    if not found:
        return {}
    s = summary(found)
    cell = paper_data.ablation(ablation).get((name, setting.replace("δ", "delta").replace(" ", "")))
    return {
        "problem": name,
        "setting": setting,
        "paper: stop (success, regret)": "–"
        if cell is None
        else f"{cell.stop:.1f} ({100 * cell.success:.0f} %, {cell.regret:.2g})",
        "ours": f"{s.mean_stop:.1f} ({100 * s.successes / s.paths:.0f} %, {s.mean_best:.2g})",
        "stopped": f"{s.stopped}/{s.paths}",
        "false stops": rate(s.false, s.paths),
    }

"""The paper's ablations: UCBbr along the same paths with other δ and n_L, and along paths of another √β.

Beside them the slopes of the paper's experiments, a = b = 1, in place of the kernel's. A larger δ can never stop later
on one path. The paper's tables have it doing so, so the order is checked here on every path.
"""

import time
from pathlib import Path
from typing import Any

from benchmarks import paper
from benchmarks.paper_problems import CNN, EPSILON, ROWS, problem_of
from benchmarks.paths import DELTA, follow, optimizer, stop_of
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import UCBbr

PATH = RESULTS / "ablations.jsonl.gz"
NAMES = tuple(name for name, row in ROWS.items() if row.paper and name != CNN and not row.known)
SAMPLERS = ("√β = 1", "√β = 2", "√β = 5")
DELTAS = (0.01, DELTA, 0.2)
N_LS = (4.0, 40.0)
USUAL = f"δ = {DELTA:g}"
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


def in_order(record: dict[str, Any]) -> bool:
    """Return whether no larger δ stopped later on this path."""
    ends = [stop_of(record, f"δ = {delta:g}", EPSILON) for delta in sorted(DELTAS)]
    late = [len(record["regrets"]) + 1 if end is None else end[0] for end in ends]
    return late == sorted(late, reverse=True)

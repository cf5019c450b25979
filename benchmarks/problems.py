"""Stops on test functions: each path is run once to its budget, with every rule evaluated along it."""

import math
import time
from pathlib import Path
from typing import Any

from benchmarks.objectives import PROBLEMS
from benchmarks.progress import track
from benchmarks.records import RESULTS, append, compact, pending, provenance
from regretstop import GPUCB, OptimalityGap, UCBbr

PATH = RESULTS / "problems.jsonl"
BETA = 4.0
DELTA = 0.05


def run(seeds: int, trials: int, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet."""
    keys = [
        {"problem": name, "seed": seed, "trials": trials, "beta": BETA, "delta": DELTA}
        for seed in range(seeds)
        for name in PROBLEMS
    ]
    source = provenance()
    for key in track(pending(path, keys), "problems"):
        append(path, run_path(key) | source)


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return one path: true regrets of its trials, and each rule's bound and incumbent after each."""
    problem = PROBLEMS[key["problem"]]
    optimizer = GPUCB(problem.space, direction="minimize", beta=key["beta"], seed=key["seed"])
    rules = [rule(problem.epsilon, key["delta"]) for rule in (UCBbr, OptimalityGap)]
    record = {type(rule).__name__: {"bounds": [], "incumbents": [], "stop": None} for rule in rules}
    regrets: list[float | None] = []
    start = time.process_time()
    for n in range(1, key["trials"] + 1):
        params = optimizer.ask()
        value = problem.objective(params)
        optimizer.tell(params, value)
        regrets.append(compact(value - problem.minimum))
        snapshot = optimizer.snapshot()
        for rule in rules:
            certificate = rule.assess(snapshot)
            along = record[type(rule).__name__]
            along["bounds"].append(compact(certificate.bound))
            along["incumbents"].append(certificate.incumbent)
            along["guarantee"] = certificate.guarantee
            if certificate.stop and along["stop"] is None:
                along["stop"] = n
    return key | {
        "epsilon": problem.epsilon,
        "regrets": regrets,
        "rules": record,
        "cpu_s": round(time.process_time() - start, 2),
    }


def outcome(record: dict[str, Any], rule: str) -> dict[str, Any] | None:
    """Return what happened at the rule's stop; None if it never stopped."""
    along = record["rules"][rule]
    n = along["stop"]
    if n is None:
        return None
    regret = record["regrets"][along["incumbents"][n - 1]]
    gap = record["rules"]["OptimalityGap"]["bounds"][n - 1]
    return {
        "stop": n,
        "regret": regret,
        "best": min(record["regrets"][:n]),
        "false": regret > record["epsilon"],
        "gap": math.inf if gap is None else gap,
        "bound": along["bounds"][n - 1],
    }

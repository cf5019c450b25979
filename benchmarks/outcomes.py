"""What rules made of paths: one row for each rule on each path, and what they come to together."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paths import TERMINATOR, stop_of
from benchmarks.tables import wilson_interval

NOSTOP, ORACLE = "NOSTOP", "Oracle_r"
"""The paper's references: never to stop, and to stop at the first trial within ε."""

Record = Mapping[str, Any]
_KEYS = {"problem": "problem", "kernel": "kernel", "points": "sampler", "hyperparameters": "treatment", "seed": "seed"}


def outcomes(
    records: Sequence[Record], rules: Sequence[str], check: str = "inflated", level: int = 0, least: float = 0
) -> pd.DataFrame:
    """Return one row for each rule on each path on which it was asked.

    Args:
        records: Of the paths.
        rules: Names of rules, NOSTOP and ORACLE among them if wanted.
        check: What is done where the model check objects; see `paths.answers_of`.
        level: Index of ε among those of the problem, from the smallest.
        least: Evaluations before which no rule may stop.

    Returns:
        The keys of the path, "rule", "check", "ε"; "stop", after how many evaluations it stopped, infinite if never;
        "end", the same or T; "best", the least true regret up to there, and "success", whether that is within ε, as
        the paper counts; "named", the true regret of the trial that the rule named, NaN if it never stopped, and
        "false", whether that is above ε.
    """
    rows: list[dict[str, Any]] = []
    for record in records:
        epsilon, regrets = sorted(record["epsilons"])[level], record["regrets"]
        for rule in rules:
            if (rule == TERMINATOR) != (record["treatment"] == TERMINATOR):
                continue
            stop, named = _stop(record, rule, epsilon, check, least)
            best = min(regrets[: len(regrets) if math.isinf(stop) else int(stop)])
            rows.append(
                {name: record[key] for name, key in _KEYS.items()}
                | {"rule": rule, "check": check, "ε": epsilon, "stop": stop, "end": min(stop, len(regrets))}
                | {"best": best, "success": best <= epsilon, "named": named, "false": named > epsilon}
            )
    return pd.DataFrame(rows)


def _stop(record: Record, rule: str, epsilon: float, check: str, least: float) -> tuple[float, float]:
    found: tuple[int, float] | None = None
    if rule == ORACLE:
        found = next(((n, regret) for n, regret in enumerate(record["regrets"], 1) if regret <= epsilon), None)
    elif rule != NOSTOP:
        found = stop_of(record, rule, epsilon, check, first=math.ceil(least))
    return (math.inf, math.nan) if found is None else found


def counted(found: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return what the rows come to in each group, in the order in which the groups come; empty without rows.

    Returns:
        The names of the group; "searches"; how many of them "stopped" and stopped "false", with Wilson's 95 % interval
        of that share in %; "median stop", where a search that never stops counts as later than all others; as the
        paper counts, "mean stop", where it counts as T, "success %" and the mean of the best "regret"; and the median
        of the "named regret" over the stops.
    """
    if found.empty:
        return pd.DataFrame()
    groups = found.assign(stopped=np.isfinite(found["stop"])).groupby(by, sort=False)
    counts = groups.agg(searches=("rule", "size"), stopped=("stopped", "sum"), false=("false", "sum")).reset_index()
    ends = [wilson_interval(k, n) for k, n in zip(counts["false"], counts["searches"], strict=True)]
    counts[["false from %", "false to %"]] = 100.0 * np.array(ends)
    for name, column, how in (
        ("median stop", "stop", "median"),
        ("mean stop", "end", "mean"),
        ("success %", "success", "mean"),
        ("regret", "best", "mean"),
        ("named regret", "named", "median"),
    ):
        counts[name] = (100.0 if name == "success %" else 1.0) * groups[column].agg(how).to_numpy(dtype=float)
    return counts


def longest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records without those of paths that were ended early, where there are longer ones of the same row."""
    most: dict[str, int] = {}
    for record in records:
        most[record["problem"]] = max(most.get(record["problem"], 0), record["trials"])
    return [record for record in records if record["trials"] == most[record["problem"]]]


def shortened(n: int) -> str:
    """Return in words that so many records are left out; nothing where none is."""
    return f"{n} records of shortened searches are left out, beside longer ones of the same row." if n else ""

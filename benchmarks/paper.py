"""The paper's tables again: every rule along the same paths, on the paper's rows, under its kernels and samplers.

The paper asks at every evaluation. So do we as long as most rules of the paper have not stopped, and at every fourth
from then on, PRB at every eighth.
"""

from pathlib import Path
from typing import Any

from benchmarks import paths
from benchmarks.paper_problems import ROWS, problem_of
from benchmarks.progress import console
from benchmarks.records import RESULTS, read

PATH = RESULTS / "paper.jsonl.gz"
MOMENTS = paths.Moments(first=5, each_until=20)
# The paper's experiments and the default are the first.
SAMPLERS = ("√β = 2", "exceedance", "matched", "theory")
KNOWN = ("fixed",)
UNKNOWN = ("map", "posterior")


def keys_of(
    seeds: int,
    problems: list[str],
    samplers: list[str],
    trials: int | None = None,
    unknown: tuple[str, ...] = UNKNOWN,
) -> list[dict[str, Any]]:
    """Return the keys of the records, in an order of which every beginning is about balanced.

    Args:
        seeds: Paths for each row, kernel and sampler.
        problems: Names of rows.
        samplers: Names of samplers.
        trials: Ends the paths earlier than the rows do.
        unknown: How the rules treat hyperparameters that are not known.
    """
    return [
        {
            "problem": name,
            "kernel": kernel,
            "sampler": sampler,
            "treatment": treatment,
            "seed": seed,
            "trials": ROWS[name].trials if trials is None else min(trials, ROWS[name].trials),
        }
        for seed in range(seeds)
        for sampler in samplers
        for name in ROWS
        if name in problems
        for kernel in paths.KERNELS
        for treatment in (KNOWN if ROWS[name].known else unknown)
    ]


def run(
    seeds: int,
    processes: int,
    problems: list[str],
    samplers: list[str],
    trials: int | None = None,
    unknown: tuple[str, ...] = UNKNOWN,
    path: Path = PATH,
) -> None:
    """Run the records that the file does not hold yet, and print what they cost."""
    paths.run(keys_of(seeds, problems, samplers, trials, unknown), path, problem_of, processes, MOMENTS)
    for line in costs(read(path)):
        console.print(line)


def costs(records: list[dict[str, Any]]) -> list[str]:
    """Return the mean seconds of CPU of a record in words, by row, sampler and treatment.

    The treatment that comes first pays for the path.
    """
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        found.setdefault((record["problem"], record["sampler"], record["treatment"]), []).append(record["cpu_s"])
    return [
        f"{name}, {sampler}, {treatment}: {sum(seconds) / len(seconds):.1f} s of CPU a record ({len(seconds)} records)"
        for (name, sampler, treatment), seconds in found.items()
    ]

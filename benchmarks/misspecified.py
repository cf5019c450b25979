"""False stops where the model is wrong: every rule along the same paths, and Optuna's terminator on the same trials."""

from collections.abc import Mapping
from typing import Any

from benchmarks import paths
from benchmarks.misspecified_problems import NAMES, problem
from benchmarks.objectives import Problem
from benchmarks.records import RESULTS

PATH = RESULTS / "misspecified.jsonl.gz"
# The default of the samplers beside a stopping rule first.
SAMPLERS = ("exceedance", "√β = 2")
TREATMENTS = ("map", "posterior", paths.TERMINATOR)


def run(seeds: int, trials: int, processes: int) -> None:
    """Run the records that the file does not hold yet."""
    keys = [
        {
            "problem": name,
            "kernel": "Matérn-5/2",
            "sampler": sampler,
            "treatment": treatment,
            "seed": seed,
            "trials": trials,
        }
        for sampler in SAMPLERS
        for seed in range(seeds)
        for name in NAMES
        for treatment in TREATMENTS
    ]
    paths.run(keys, PATH, problem_of, processes)


def problem_of(key: Mapping[str, Any]) -> Problem:
    """Return the problem of a key."""
    return problem(key["problem"])

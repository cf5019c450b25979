"""False stops where the model is wrong: every rule along the same paths, and Optuna's terminator on the same trials."""

from benchmarks import paths
from benchmarks.misspecified_problems import NAMES, problem
from benchmarks.records import RESULTS

PATH = RESULTS / "misspecified.jsonl"
SAMPLER = "exceedance"
TREATMENTS = ("map", "posterior", paths.TERMINATOR)


def run(seeds: int, trials: int, processes: int) -> None:
    """Run the records that the file does not hold yet."""
    keys = [
        {
            "problem": name,
            "kernel": "Matérn-5/2",
            "sampler": SAMPLER,
            "treatment": treatment,
            "seed": seed,
            "trials": trials,
        }
        for seed in range(seeds)
        for name in NAMES
        for treatment in TREATMENTS
    ]
    paths.run(keys, PATH, problem, processes)

"""Standard errors of jobs: what the scores of folds tell at the best points of a table.

A surrogate has no folds, so searches of one whose ε is "standard error" take that of the job: the median over the ten
best points, each evaluated once more.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.histories import DATA
from benchmarks.job_tables import table
from benchmarks.progress import track
from benchmarks.records import compact
from benchmarks.tuning_jobs import JOBS
from regretstop.rules import standard_error

PATH = DATA / "standard_errors.json"
_N_BEST = 10


def record(path: Path = PATH) -> None:
    """Evaluate the best points of the jobs that the file does not hold yet."""
    known: dict[str, float | None] = json.loads(path.read_text()) if path.exists() else {}
    for name in track([name for name in JOBS if name not in known], "standard errors"):
        known[name] = compact(_median(name), 4)
        path.write_text(json.dumps(known, indent=1) + "\n")


@cache
def standard_error_of(name: str) -> float:
    """Return the standard error of a job's best scores, in their units."""
    return float(json.loads(PATH.read_text())[name])


def _median(name: str) -> float:
    job = JOBS[name]
    points, scores = table(name)
    best = np.argsort(scores if job.direction == "minimize" else -scores)[:_N_BEST]
    return float(np.median([standard_error(job.fold_scores(job.space.decode(points[i]), int(i))) for i in best]))

"""Histories that are kept with their points, so that another model can be asked about the same ones.

`data/real` holds tuning jobs that other samplers ran. `data/histories.jsonl.gz` holds the first 60 evaluations of some
paths of the benchmark, as `paths.follow` chose them at the version of the library that each names.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks import misspecified_problems
from benchmarks.objectives import cube
from benchmarks.records import read
from regretstop import Observation, Space

DATA = Path(__file__).parent / "data"
_EPSILON = 0.01


@dataclass(frozen=True)
class History:
    """Evaluations in their order.

    Attributes:
        name: Of the history.
        problem: What it is a history of.
        space: The search space.
        direction: "minimize" or "maximize".
        epsilon: The ε that is asked about.
        observations: Parameters and values.
        regrets: The true regret of each; empty where the optimum is not known.
    """

    name: str
    problem: str
    space: Space
    direction: Literal["minimize", "maximize"]
    epsilon: float
    observations: Sequence[Observation]
    regrets: Sequence[float] = ()

    def first(self, n: int) -> "History":
        """Return the first n evaluations."""
        return replace(self, observations=self.observations[:n], regrets=self.regrets[:n])

    def encoded(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return encoded points, shape (n, d), and values of the maximised objective, shape (n,)."""
        sign = 1.0 if self.direction == "maximize" else -1.0
        points = np.array([self.space.encode(each.params) for each in self.observations])
        return points, sign * np.array([each.value for each in self.observations], dtype=float)


def real() -> list[History]:
    """Return the histories of real tuning jobs."""
    return [_real(path) for path in sorted((DATA / "real").glob("*.json"))]


def recorded(seeds: int = 3) -> list[History]:
    """Return the histories of the benchmark's problems, so many of each."""
    return [_recorded(record) for record in read(DATA / "histories.jsonl.gz") if record["seed"] < seeds]


def _real(path: Path) -> History:
    from optuna.distributions import json_to_distribution
    from regretstop_optuna._space import parameter

    stored: dict[str, Any] = json.loads(path.read_text())
    distributions = {name: json_to_distribution(json.dumps(each)) for name, each in stored["distributions"].items()}
    observations = [Observation(trial["params"], trial["value"], i) for i, trial in enumerate(stored["trials"])]
    space = Space({name: parameter(name, distribution) for name, distribution in distributions.items()})
    return History(path.stem, path.stem, space, stored["direction"], _EPSILON, observations)


def _recorded(record: dict[str, Any]) -> History:
    problem = record["problem"]
    is_draw = problem not in misspecified_problems.NAMES
    space = cube(len(record["points"][0]), 0, 1) if is_draw else misspecified_problems.problem(problem).space
    observations = [
        Observation(dict(zip(space, point, strict=True)), value, i)
        for i, (point, value) in enumerate(zip(record["points"], record["values"], strict=True))
    ]
    epsilon = min(record["epsilons"])
    name = f"{problem} {record['seed']}"
    return History(name, problem, space, record["direction"], epsilon, observations, record["regrets"])

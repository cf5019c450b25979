"""The default rule beside other samplers: test functions, whose optimum is known, by points that are not ours.

Other samplers need not have evaluated what the model takes for the best point. A stop is false if the certified point
is worse than the optimum by more than ε.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import misspecified_problems
from benchmarks.misspecified_problems import SHARES
from benchmarks.objectives import Problem, cube, vector
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import Every, Float, Observation, UCBbr, replay

PATH = RESULTS / "others.jsonl.gz"
DELTA, TRIALS = 0.05, 80
SAMPLERS = ("TPE", "GPSampler", "random")
# Of the bowls: where the minimum is, that of the first outside of the cube, and their ranges.
_BOWLS = {"bowl-3": ((1.2, 0.4, 0.6), 2.16), "bowl-5": ((0.2, 0.35, 0.5, 0.7, 0.9), 2.6125)}
NAMES = (*_BOWLS, "Branin", "Hartmann-3", "Rosenbrock-4", "Levy-4", "Hartmann-6")


def run(seeds: int, processes: int, path: Path = PATH) -> None:
    """Run the searches that the file does not hold yet."""
    keys = [
        {"problem": name, "points": sampler, "seed": seed, "trials": TRIALS}
        for seed in range(seeds)
        for name in NAMES
        for sampler in SAMPLERS
    ]
    run_pending(run_search, keys, path, processes)


def problem_of(name: str) -> Problem:
    """Return the problem, to be minimised; ε is 1 % or 5 % of its range."""
    if name not in _BOWLS:
        return misspecified_problems.problem(name)
    centre, span = _BOWLS[name]
    nearest = np.clip(centre, 0.0, 1.0)
    return Problem(
        cube(len(centre), 0, 1),
        lambda params: float(np.sum((vector(params) - centre) ** 2)),
        float(np.sum((nearest - centre) ** 2)),
        tuple(share * span for share in SHARES),
    )


def run_search(key: dict[str, Any]) -> dict[str, Any]:
    """Return after how many evaluations the rule ends the search for each ε, and the regrets of what it certifies."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    sampler = {
        "TPE": optuna.samplers.TPESampler,
        "GPSampler": optuna.samplers.GPSampler,
        "random": optuna.samplers.RandomSampler,
    }[key["points"]](seed=key["seed"])
    searched = problem_of(key["problem"])
    ranges = {name: p for name, p in searched.space.items() if isinstance(p, Float)}
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        return searched.objective({name: trial.suggest_float(name, p.low, p.high) for name, p in ranges.items()})

    study.optimize(objective, n_trials=key["trials"])
    seen = [Observation(t.params, t.value, t.number) for t in study.trials]
    start = time.process_time()
    ends: list[int | None] = []
    regrets: list[float | None] = []
    for epsilon in searched.epsilons:
        found = replay(seen, searched.space, rule=UCBbr(epsilon, DELTA), direction="minimize", after_stop=Every(TRIALS))
        ends.append(found.stop)
        incumbent = None if found.stop is None else found.certificates[found.stop - 1].incumbent
        regrets.append(None if incumbent is None else searched.objective(seen[incumbent].params) - searched.optimum)
    return key | {
        "epsilons": list(map(compact, searched.epsilons)),
        "stops": ends,
        "regrets": [None if regret is None else compact(regret) for regret in regrets],
        "best": compact(study.best_value - searched.optimum),
        "cpu_s": round(time.process_time() - start, 2),
    }

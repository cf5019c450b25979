"""How long the pieces take, beside the libraries that do the same."""

import json
import math
import os
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from regretstop_optuna import GPUCBSampler, RegretBoundCallback

from benchmarks.draws import cube_draw
from benchmarks.misspecified_problems import problem as problem_of
from benchmarks.objectives import Problem
from benchmarks.progress import track
from benchmarks.records import RESULTS, provenance
from benchmarks.slsqp import bound_by_slsqp
from benchmarks.timing import Setup, interleaved, machine
from regretstop import GPUCB, Every, UCBbr, instantaneous_regret_bound
from regretstop.history import Observation
from regretstop.model import GaussianProcess

PATH = RESULTS / "speed.json"
SIZES = (20, 50, 100, 200)
_DIM = 4
_PROBLEMS = ("Branin", "Hartmann-6")
# Never reached: a stopped study would skip the work that is to be timed.
_EPSILON = 1e-6


def run(repetitions: int, sizes: tuple[int, ...] = SIZES, path: Path = PATH) -> None:
    """Time everything and write the file."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sections: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("bound", partial(_bound, repetitions)),
        ("import", partial(_imports, repetitions)),
        *((f"fit {n}", partial(_fit, n, repetitions)) for n in sizes),
    ]
    problems = {name: problem_of(name) for name in _PROBLEMS}
    histories = {name: _history(problem, max(sizes)) for name, problem in problems.items()}
    sections += [
        (f"suggest {name} {n}", partial(_suggest, problem, histories[name][: n - 1], repetitions))
        for name, problem in problems.items()
        for n in sizes
    ]
    result: dict[str, Any] = {"machine": machine(), **provenance(), "results": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, section in track(sections, "speed"):
            result["results"][name] = section()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1))


def _bound(repetitions: int) -> dict[str, Any]:
    cases = [
        {"t": t, "posterior_std": std, "noise_std": 0.01, "dim": dim, "delta": 0.1, "n_L": 4.0}
        for dim in (2, 4, 6)
        for t in (20, 100, 500)
        for std in (0.01 / math.sqrt(t + 1e-4), 0.01, 0.1)
    ]
    ours = [instantaneous_regret_bound(**case) for case in cases]
    given = [case | {"sqrt_beta": bound.sqrt_beta} for case, bound in zip(cases, ours, strict=True)]
    theirs = [bound_by_slsqp(**case) for case in given]
    excess = [b / a.value - 1.0 for a, b in zip(ours, theirs, strict=True)]
    times = interleaved(
        {"ours": lambda _: lambda: [instantaneous_regret_bound(**case) for case in cases]}, repetitions, number=20
    )
    times |= interleaved(
        {
            "SLSQP": lambda _: lambda: [bound_by_slsqp(**case) for case in given],
            "SLSQP, its default tolerance": lambda _: lambda: [bound_by_slsqp(**case, ftol=1e-6) for case in given],
        },
        repetitions,
    )
    for time in times.values():
        for key in ("wall_ms", "cpu_ms"):
            time[key] /= len(cases)
        for key in ("wall_quartiles_ms", "cpu_quartiles_ms"):
            time[key] = [value / len(cases) for value in time[key]]
    loose = [bound_by_slsqp(**case, ftol=1e-6) / bound.value - 1.0 for case, bound in zip(given, ours, strict=True)]
    finite = [e for e in excess if math.isfinite(e)]
    return times | {
        "agreement": {
            "cases": len(cases),
            "slsqp_failed": len(cases) - len(finite),
            "slsqp_within_1e-6": sum(abs(e) < 1e-6 for e in finite),
            "slsqp_largest_excess": max(finite),
            "slsqp_smallest_excess": min(finite),
            "default_tolerance_largest_excess": max(loose),
        }
    }


def _imports(repetitions: int) -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def cpu_ms(statement: str) -> float:
        code = f"import time; a = time.process_time(); {statement}; print(time.process_time() - a)"
        output = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout
        return 1e3 * float(output)

    result: dict[str, Any] = {}
    statements = ("import regretstop", "from regretstop import GPUCB", "import numpy")
    for statement in statements:
        cpu_ms(statement)  # compiles the byte code
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(repetitions):
        for statement in statements:
            times[statement].append(cpu_ms(statement))
    for statement, values in times.items():
        result[statement] = {"repetitions": repetitions, "cpu_ms": statistics.median(values)}
    return result


def _surrogate() -> GaussianProcess:
    return GaussianProcess()


_WHERE: dict[str, Any] = {"categories": np.zeros(_DIM, dtype=np.intp), "sign": 1.0}


def _fit(n: int, repetitions: int) -> dict[str, Any]:
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    def data(repetition: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(repetition)
        draw = cube_draw(np.full(_DIM, 0.5), rng)
        points = rng.random((n, _DIM))
        values = [draw.objective(draw.space.decode(x)) for x in points]
        return points, np.array(values) + 0.01 * rng.standard_normal(n)

    def cold(repetition: int) -> Callable[[], object]:
        points, values = data(repetition)
        return lambda: _surrogate().fit(points, values, **_WHERE)

    def warm(repetition: int) -> Callable[[], object]:
        points, values = data(repetition)
        surrogate = _surrogate()
        surrogate.fit(points[:-1], values[:-1], **_WHERE)
        return lambda: surrogate.fit(points, values, **_WHERE)

    def botorch(repetition: int) -> Callable[[], object]:
        points, values = data(repetition)
        x, y = torch.from_numpy(points), torch.from_numpy(values)[:, None]

        def fit() -> object:
            model = SingleTaskGP(x, y)
            return fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))

        return fit

    return interleaved({"ours, running study": warm, "ours, cold": cold, "BoTorch": botorch}, repetitions)


def _history(problem: Problem, n: int) -> list[tuple[dict[str, Any], float]]:
    optimizer = GPUCB(problem.space, direction="minimize", seed=0)
    history: list[tuple[dict[str, Any], float]] = []
    for _ in range(n):
        params = optimizer.ask()
        history.append((params, problem.objective(params)))
        optimizer.tell(*history[-1])
    return history


def _suggest(problem: Problem, history: list[tuple[dict[str, Any], float]], repetitions: int) -> dict[str, Any]:
    """Time the suggestion after trial n = len(history) + 1, which the same sampler suggested in a study of n − 1."""
    distributions = {
        name: optuna.distributions.FloatDistribution(axis.low, axis.high) for name, axis in problem.space.items()
    }
    rule = UCBbr(_EPSILON, schedule=Every())  # what is timed is a suggestion with a test

    def core(repetition: int) -> Callable[[], object]:
        optimizer = GPUCB(problem.space, direction="minimize", seed=repetition)
        observations = [Observation(*trial, i) for i, trial in enumerate(history)]
        optimizer.replace_history(observations)
        optimizer.certificate(rule)
        params = optimizer.ask()
        observations.append(Observation(params, problem.objective(params), len(history)))

        def step() -> object:
            optimizer.replace_history(observations)
            return optimizer.certificate(rule), optimizer.ask()

        return step

    def study_with(sampler: optuna.samplers.BaseSampler) -> optuna.Study:
        study = optuna.create_study(sampler=sampler)
        study.add_trials(
            [
                optuna.trial.create_trial(params=params, distributions=distributions, value=value)
                for params, value in history
            ]
        )
        return study

    def one_more(study: optuna.Study) -> None:
        trial = study.ask(distributions)
        study.tell(trial, problem.objective(trial.params))

    def ours(repetition: int) -> Callable[[], object]:
        study = study_with(GPUCBSampler(seed=repetition))
        callback = RegretBoundCallback(rule=rule)
        callback(study, study.trials[-1])
        one_more(study)
        last = study.trials[-1]

        def step() -> object:
            callback(study, last)
            return study.ask(distributions)

        return step

    def gp_sampler(repetition: int) -> Callable[[], object]:
        study = study_with(optuna.samplers.GPSampler(seed=repetition))
        one_more(study)
        return lambda: study.ask(distributions)

    contenders: dict[str, Setup] = {
        "ours, GPUCB": core,
        "ours, in Optuna": ours,
        "GPSampler": gp_sampler,
    }
    return interleaved(contenders, repetitions)

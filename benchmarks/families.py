"""What is searched, by family: surrogates of tuning jobs, the jobs themselves, test functions, draws of the priors.

Draws of the priors have a noise that is drawn, too, and mostly small; those of another family a noise of about ε. The
paper's network is trained, in the paper's ranges and with its ε.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import doubt, misspecified_problems, paper_problems
from benchmarks.job_tables import observed, problem
from benchmarks.objectives import Problem, cube, shekel, styblinski_tang
from benchmarks.standard_errors import standard_error_of
from benchmarks.tuning_jobs import JOBS

SURROGATES, THEMSELVES, TEXTBOOK = "surrogates of jobs", "jobs themselves", "test functions"
BY_ERROR = "surrogates, ε = standard error"
OF_JOBS = (SURROGATES, BY_ERROR, THEMSELVES)
DRAWS, NOISY, NETWORK = "draws", "noisy draws", "the paper's network"
# ε of a test function is this share of its range.
_SHARE = 0.01
_OF_OTHERS = ("Branin", "Hartmann-6", "Levy-4", "Rosenbrock-4")
# Dimension, and the deviation of the noise in ε.
_NOISY = {"d = 2, noise ε/2": (2, 0.5), "d = 2, noise ε": (2, 1.0), "d = 4, noise ε/2": (4, 0.5)}
NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(OF_JOBS, tuple(JOBS)),
    TEXTBOOK: (*_OF_OTHERS, "Shekel-4", "Styblinski-Tang-4"),
    DRAWS: tuple(name for name, dim in doubt.PRIORS.items() if dim <= 4),
    NOISY: tuple(_NOISY),
    NETWORK: ("CNN on MNIST",),
}
# Evaluations of a search; of jobs with more than six parameters more.
_TRIALS, _MORE_TRIALS, _MANY = 100, 150, 6
# Trainings of the paper's network take half a minute, on so many digits; the others of its 5,000 tell the error.
_TRAININGS, _N_DIGITS = 20, 4000


@dataclass(frozen=True)
class Searched:
    """A problem, and what a search of it sees.

    Attributes:
        problem: With the true values; of a job those of its surrogate.
        observe: Returns the score of an evaluation: parameters, its true value, and its number.
        trials: After how many evaluations a search ends.
        best_possible: The best possible value that a user would declare; None where there is none.
    """

    problem: Problem
    observe: Callable[[dict[str, Any], float, int], float]
    trials: int = _TRIALS
    best_possible: float | None = None


def searched_in(family: str, name: str, seed: int) -> Searched:
    """Return what is searched; the seed is that of a draw, and of the noise."""
    rng = np.random.default_rng([seed, 7])
    if family in OF_JOBS:
        job, found = JOBS[name], problem(name)

        def score(params: dict[str, Any], value: float, n: int) -> float:
            if family == THEMSELVES:
                return job.score(params, 10**6 * (seed + 2) + n)
            return observed(name, value, rng)

        if family == BY_ERROR:
            found = replace(found, epsilons=(standard_error_of(name),))
        trials = _MORE_TRIALS if job.space.dim > _MANY else _TRIALS
        return Searched(found, score, trials, job.best_possible)
    if family == NETWORK:
        return Searched(paper_problems.networks(_N_DIGITS), _as_it_is, _TRAININGS, 0.0)
    if family in (DRAWS, NOISY):
        dim, noise = _NOISY.get(name, (None, None))
        of_priors = name if dim is None else next(prior for prior, d in doubt.PRIORS.items() if d == dim)
        draw, epsilon = doubt.searched_in({"problem": of_priors, "share": None, "seed": seed})
        if noise is not None:
            draw = replace(draw, noise=partial(_normal, noise * epsilon))
        return Searched(draw, partial(_with_noise, draw, rng))
    found = _test_function(name)
    return Searched(found, partial(_with_noise, found, rng))


def _as_it_is(_: dict[str, Any], value: float, n: int) -> float:
    return value


def _normal(noise_std: float, rng: np.random.Generator) -> float:
    return float(rng.normal(0.0, noise_std))


def _with_noise(problem: Problem, rng: np.random.Generator, _: dict[str, Any], value: float, n: int) -> float:
    return value + problem.noise(rng)


def _test_function(name: str) -> Problem:
    if name == "Shekel-4":
        return shekel((_SHARE,))
    if name == "Styblinski-Tang-4":
        return Problem(cube(4, -5.0, 5.0), styblinski_tang, 4 * -39.16616570, (_SHARE * 4 * (125.0 + 39.17),))
    found = misspecified_problems.problem(name)
    return Problem(found.space, found.objective, found.optimum, found.epsilons[:1])

"""Problems that are no draw of the model: test functions, a step, heavy-tailed noise, and tables of real tuning jobs.

All are minimised, and ε is a share of the range of the values over the space.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.objectives import (
    Objective,
    Problem,
    ackley,
    branin,
    cube,
    hartmann3,
    hartmann6,
    levy,
    rosenbrock,
    step,
)
from regretstop import Float, Int, Space

NAMES = (
    "Branin",
    "Hartmann-3",
    "Hartmann-6",
    "Ackley-3",
    "Levy-4",
    "Rosenbrock-4",
    "step",
    "heavy tails",
    "SVM",
    "boosting",
)
SHARES = (0.01, 0.05)
TABLES = Path(__file__).parent / "data"
_RATES = np.logspace(-2, 0, 9)
_DEPTHS = range(1, 7)
_SIZES = (10, 20, 40, 80, 160, 320)


def problem(name: str) -> Problem:
    """Return the problem."""
    return _problems()[name]


@cache
def _problems() -> dict[str, Problem]:
    """Return the problems; ranges of test functions are about those of 2^13 Sobol points and as many corners."""
    branin_space = Space({"x0": Float(-5, 10), "x1": Float(0, 15)})
    found = (
        _problem(branin_space, branin, 0.39788736, 308.1),
        _problem(cube(3, 0, 1), hartmann3, -3.86277979, 3.8628),
        _problem(cube(6, 0, 1), hartmann6, -3.32236801, 3.3224),
        _problem(cube(3, -32.768, 32.768), ackley, 0.0, 22.3),
        _problem(cube(4, -10, 10), levy, 0.0, 255.0),
        _problem(cube(4, -5, 10), rosenbrock, 0.0, 7.25),
        _problem(cube(2, 0, 1), step, 0.3**2 + 0.15**2 - 0.5, 1.24),
        _problem(branin_space, branin, 0.39788736, 308.1, lambda rng: float(rng.standard_t(2))),
        _table("svm", Space({"C": Int(0, 40), "gamma": Int(0, 40)})),
        _table(
            "boosting", Space({"rate": Int(0, len(_RATES) - 1), "depth": Int(1, 6), "trees": Int(0, len(_SIZES) - 1)})
        ),
    )
    return dict(zip(NAMES, found, strict=True))


def _problem(
    space: Space,
    objective: Objective,
    minimum: float,
    span: float,
    noise: Callable[[np.random.Generator], float] = lambda _: 0.0,
) -> Problem:
    return Problem(space, objective, minimum, tuple(share * span for share in SHARES), noise=noise)


def _table(name: str, space: Space) -> Problem:
    """Return a job of which every setting was run beforehand: the best one is known, and an evaluation is free."""
    path = TABLES / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"svm": _svm, "boosting": _boosting}[name]()))
    errors: dict[str, float] = json.loads(path.read_text())
    low, high = min(errors.values()), max(errors.values())
    return _problem(space, lambda params: errors[_key(params.values())], low, high - low)


def _key(values: Any) -> str:
    return ",".join(map(str, values))


def _svm() -> dict[str, float]:
    """Return the error of a support vector machine on the breast-cancer data, over log C and log γ."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    inputs, labels = load_breast_cancer(return_X_y=True)
    return {
        _key((i, j)): 1.0
        - float(
            np.mean(
                cross_val_score(
                    make_pipeline(StandardScaler(), SVC(C=10.0 ** (i / 5 - 3), gamma=10.0 ** (j / 8 - 5))),
                    inputs,
                    labels,
                    cv=5,
                )
            )
        )
        for i in range(41)
        for j in range(41)
    }


def _boosting() -> dict[str, float]:
    """Return 1 − R² of gradient boosting on the diabetes data, over learning rate, depth and number of trees."""
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.model_selection import KFold

    inputs, targets = load_diabetes(return_X_y=True)
    errors: dict[str, float] = {}
    for i, rate in enumerate(_RATES):
        for depth in _DEPTHS:
            scores = np.zeros(max(_SIZES))
            for train, test in KFold(5, shuffle=True, random_state=0).split(inputs):
                model = GradientBoostingRegressor(
                    learning_rate=rate, max_depth=depth, n_estimators=max(_SIZES), random_state=0
                ).fit(inputs[train], targets[train])
                spread = float(np.var(targets[test]))
                scores += [
                    float(np.mean((targets[test] - p) ** 2)) / spread / 5 for p in model.staged_predict(inputs[test])
                ]
            errors |= {_key((i, depth, k)): float(scores[size - 1]) for k, size in enumerate(_SIZES)}
    return errors

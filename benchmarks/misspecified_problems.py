"""Problems that are no draw of the model: test functions, a step, heavy-tailed noise, and tables of real tuning jobs.

All are minimised. `span` is the range of the values over the space, of which ε is a share; the optimum is known.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.objectives import PROBLEMS, hartmann6
from regretstop import Float, Int, Space

TABLES = Path(__file__).parent / "data"
_RATES = np.logspace(-2, 0, 9)
_DEPTHS = range(1, 7)
_SIZES = (10, 20, 40, 80, 160, 320)


@dataclass(frozen=True)
class Misspecified:
    """A function to minimise, its least value and its range; `noise` draws what is added to an evaluation."""

    space: Space
    objective: Callable[[Mapping[str, Any]], float]
    minimum: float
    span: float
    noise: Callable[[np.random.Generator], float] = lambda _: 0.0


def _vector(params: Mapping[str, Any]) -> np.ndarray:
    return np.array([params[name] for name in sorted(params)], dtype=float)


def _cube(dim: int, low: float, high: float) -> Space:
    return Space({f"x{j}": Float(low, high) for j in range(dim)})


def _hartmann3(params: Mapping[str, Any]) -> float:
    shapes = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    centres = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    x = _vector(params)
    return -float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-np.sum(shapes * (x - centres) ** 2, axis=1)))


def _ackley(params: Mapping[str, Any]) -> float:
    x = _vector(params)
    root = math.exp(-0.2 * math.sqrt(float(np.mean(x**2))))
    return -20.0 * root - math.exp(float(np.mean(np.cos(2.0 * math.pi * x)))) + 20.0 + math.e


def _levy(params: Mapping[str, Any]) -> float:
    w = 1.0 + (_vector(params) - 1.0) / 4.0
    middle = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return math.sin(math.pi * w[0]) ** 2 + float(np.sum(middle)) + last


def _rosenbrock(params: Mapping[str, Any]) -> float:
    x = _vector(params)
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1.0) ** 2)) / 3.755e5


def _step(params: Mapping[str, Any]) -> float:
    """Return a bowl with a lower floor on a twelfth of the square: no continuous model fits its edge."""
    x, y = _vector(params)
    return (x - 0.3) ** 2 + (y - 0.4) ** 2 - 0.5 * (x > 0.6 and 0.55 < y < 0.75)


@cache
def problems() -> dict[str, Misspecified]:
    """Return the problems; ranges of test functions are about those of 2^13 Sobol points and as many corners."""
    branin = PROBLEMS["Branin"]
    return {
        "Branin": Misspecified(branin.space, branin.objective, branin.minimum, 308.1),
        "Hartmann-3": Misspecified(_cube(3, 0, 1), _hartmann3, -3.86277979, 3.8628),
        "Hartmann-6": Misspecified(PROBLEMS["Hartmann-6"].space, hartmann6, -3.32236801, 3.3224),
        "Ackley-3": Misspecified(_cube(3, -32.768, 32.768), _ackley, 0.0, 22.3),
        "Levy-4": Misspecified(_cube(4, -10, 10), _levy, 0.0, 255.0),
        "Rosenbrock-4": Misspecified(_cube(4, -5, 10), _rosenbrock, 0.0, 7.25),
        "step": Misspecified(_cube(2, 0, 1), _step, 0.3**2 + 0.15**2 - 0.5, 1.24),
        "heavy tails": Misspecified(
            branin.space, branin.objective, branin.minimum, 308.1, lambda rng: float(rng.standard_t(2))
        ),
        "SVM": _table("svm", Space({"C": Int(0, 40), "gamma": Int(0, 40)})),
        "boosting": _table(
            "boosting", Space({"rate": Int(0, len(_RATES) - 1), "depth": Int(1, 6), "trees": Int(0, len(_SIZES) - 1)})
        ),
    }


def _table(name: str, space: Space) -> Misspecified:
    """Return a job of which every setting was run beforehand: the best one is known, and an evaluation is free."""
    path = TABLES / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"svm": _svm, "boosting": _boosting}[name]()))
    errors: dict[str, float] = json.loads(path.read_text())
    low, high = min(errors.values()), max(errors.values())
    return Misspecified(space, lambda params: errors[_key(params.values())], low, high - low)


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

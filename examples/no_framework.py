"""Minimise a function with no framework: Branin's, whose least value is 0.3979."""

import math

from regretstop import Float, Space, UCBbr, minimize


def branin(params: dict[str, float]) -> float:
    x, y = params["x"], params["y"]
    bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


space = Space({"x": Float(-5.0, 10.0), "y": Float(0.0, 15.0)})
result = minimize(branin, space, rule=UCBbr(epsilon=0.1), max_trials=100, seed=0)

print(f"{len(result.history)} evaluations, best value {result.value:.4f} at {result.params}")
print(result.certificate)

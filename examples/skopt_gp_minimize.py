"""Stop scikit-optimize's gp_minimize: the callback fits its own model to what was evaluated."""

from regretstop_skopt import RegretBoundStopper
from skopt import gp_minimize
from skopt.space import Categorical, Integer, Real


def objective(x: list) -> float:
    size, count, kind = x
    return (size - 0.7) ** 2 + 0.3 * (count - 1) ** 2 + (0.0 if kind == "a" else 0.5)


dimensions = [
    Real(-2.0, 2.0, name="size"),
    Integer(-3, 3, name="count"),
    Categorical(["a", "b"], name="kind"),
]
stopper = RegretBoundStopper(epsilon=0.1)
result = gp_minimize(objective, dimensions, n_calls=60, random_state=0, callback=stopper)

print(f"{len(result.func_vals)} evaluations, best value {result.fun:.4f} at {result.x}")
print(stopper.certificate)

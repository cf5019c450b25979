"""Tune the network of `mnist_task.py` with scikit-optimize, and stop when the search is good enough.

python examples/mnist_skopt.py      # a few minutes on one core
"""

from time import perf_counter

from mnist_task import SMALL, validation_accuracy
from regretstop_skopt import RegretBoundStopper
from skopt import gp_minimize
from skopt.space import Integer, Real
from skopt.utils import use_named_args

SIZE = SMALL
EPSILON = 0.03
TRIALS = 100


def main() -> None:
    dimensions = [
        Integer(*SIZE.filters, name="filters"),
        Integer(*SIZE.epochs, name="epochs"),
        Real(*SIZE.lr, prior="log-uniform", name="lr"),
        Real(*SIZE.dropout, name="dropout"),
    ]

    @use_named_args(dimensions)
    def error(**params: float) -> float:
        return 1.0 - validation_accuracy(params, size=SIZE)

    stopper = RegretBoundStopper(epsilon=EPSILON)
    start = perf_counter()
    result = gp_minimize(error, dimensions, n_calls=TRIALS, random_state=0, callback=stopper)
    print(f"{len(result.func_vals)} of {TRIALS} trainings in {perf_counter() - start:.0f} s.")
    print(f"Best accuracy: {1.0 - result.fun:.4f}.\n")
    print(stopper.certificate)


if __name__ == "__main__":
    main()

"""The paper's subproblem as it stands, in (n_η, n_α, s), for a general solver."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtri

Array = NDArray[np.float64]
_TOLERANCE = 1e-6  # the paper's ε_b


def bound_by_slsqp(
    *,
    t: int,
    posterior_std: float,
    noise_std: float,
    dim: int,
    delta: float,
    n_L: float,
    sqrt_beta: float,
    ftol: float = 1e-10,
) -> float:
    """Return the paper's bound for a = b = r = 1, from the point of the existing bound; inf if SLSQP fails.

    Args:
        t: Iteration.
        posterior_std: c₁ = σ_{t−1}(x_t).
        noise_std: σ.
        dim: d.
        delta: δ.
        n_L: δ/n_L is the Lipschitz constant's share of the risk.
        sqrt_beta: √β_t.
        ftol: SLSQP's tolerance, relative to the value at its start.
    """
    pi = math.pi**2 * t**2 / 6.0
    floor = noise_std / math.sqrt(t + noise_std**2)
    risk = delta * (1.0 - 1.0 / n_L)
    scale = dim**dim * math.log(n_L * dim / delta) ** (dim / 2.0)

    def widths(x: Array) -> tuple[float, float]:
        n_eta, n_alpha, s = x
        grid = scale * t ** (s * dim) + 1.0
        return -float(ndtri(1.0 / (pi * n_eta))), -float(ndtri(1.0 / (pi * n_alpha * grid)))

    def objective(x: Array) -> float:
        sqrt_eta, sqrt_alpha = widths(x)
        return sqrt_eta * posterior_std + sqrt_alpha * floor + float(t ** -x[2])

    start = np.array([2.0 / risk, 2.0 / risk, 2.0])
    # The tolerance is absolute: without a scale SLSQP ends up to 0.3 % too high even at 1e-10.
    unit = objective(start)
    result = minimize(
        lambda x: objective(x) / unit,
        start,
        method="SLSQP",
        bounds=[(1.0 + _TOLERANCE, None), (1.0 + _TOLERANCE, None), (_TOLERANCE, None)],
        constraints=[
            {"type": "ineq", "fun": lambda x: risk - 1.0 / x[0] - 1.0 / x[1]},
            {"type": "ineq", "fun": lambda x: sqrt_beta - widths(x)[1]},
        ],
        options={"ftol": ftol, "maxiter": 500},
    )
    if not result.success:
        return math.inf
    return sqrt_beta * (posterior_std - floor) + unit * float(result.fun)

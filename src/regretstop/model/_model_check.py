"""Whether the model has earned trust: its one-step-ahead residuals, each predicted before the value was seen.

Leave-one-out residuals do not show a misfit, because the fit absorbs it. With the hyperparameters that n₀ observations
gave, each later value has a predictive distribution given all values before it, and if they are the true ones

    z_i = (y_i − E[y_i | y_1 … y_{i−1}]) / √Var[y_i | y_1 … y_{i−1}]

are independent and standard normal, whoever chose the points. Over the latest of them, if all errors were κ times as
large as predicted, Σ z² / κ² would be χ² distributed, so that

    κ ≥ √(Σ z_i² / χ²_N(0.95))   with confidence 0.95.

Where that lower bound exceeds 1 the model is overconfident, and every deviation it states counts that many times. The
proofs, and what the check cannot see, are in docs/theory.md, Model check.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist
from scipy.special import chdtri

from regretstop.array import Array
from regretstop.model._kernels import Embedding, Kernel
from regretstop.model._likelihood import NOISE_STD_FLOOR, Hyperparameters
from regretstop.model._linalg import cholesky

# Hyperparameters are frozen at 8·2^(j/4) observations, and the values up to the next such number are predicted by them:
# by estimates from all but a fifth of the values before, 2^(−1/4) = 0.84, at the price of four fits an octave.
FIRST_PREDICTED = 8
_PER_OCTAVE = 4
# A model with the true hyperparameters is held back about so often; one that takes an estimate for them, more often.
_RISK = 0.05
# In units of the values' spread: where a search has converged, errors far below this are no evidence of anything.
_IMMATERIAL = 1e-2


@dataclass(frozen=True)
class ModelCheck:
    """What the residuals say.

    Attributes:
        n_residuals: How many there are.
        rms: Their root mean square: 1 for a model that knows how wrong it is; NaN without residuals.
        inflation: κ ≥ 1, by which the deviations of the model are multiplied.
    """

    n_residuals: int
    rms: float
    inflation: float

    def remark(self) -> str:
        """Return a remark if the model was overconfident; else nothing."""
        if self.inflation <= 1.0:
            return ""
        return (
            f"; the model was overconfident: it missed the last {self.n_residuals} values by {self.rms:.2g} times what "
            f"it expected, so its deviations count {self.inflation:.3g} times"
        )


def blocks(n: int) -> list[tuple[int, int]]:
    """Return the pairs (n₀, end) of the blocks of values that are predicted from n₀, as far as the last half of n."""
    if n <= FIRST_PREDICTED:
        return []
    steps = math.ceil(_PER_OCTAVE * math.log2(n / FIRST_PREDICTED)) + 1
    ends = [round(FIRST_PREDICTED * 2.0 ** (j / _PER_OCTAVE)) for j in range(steps + 1)]
    return [(a, min(b, n)) for a, b in itertools.pairwise(ends) if a < n and b > n // 2]


def residuals(
    believed: Sequence[Hyperparameters],
    points: Array,
    values: Array,
    *,
    kernel: Kernel,
    embedding: Embedding,
    start: int,
) -> Array:
    """Return z of the values from index `start` on, under the mixture of the models that are believed in.

    Args:
        believed: The hyperparameters, from fewer observations than are predicted; equally likely.
        points: Encoded points in the order of their evaluation, shape (n, d); repeats allowed.
        values: Standardised values, shape (n,).
        kernel: The kernel family.
        embedding: How encoded points become columns.
        start: At least 1.

    Returns:
        Shape (n − start,).

    Raises:
        numpy.linalg.LinAlgError: If a kernel matrix cannot be factorised.
    """
    columns = embedding(points)
    predictions = [_predict(each, columns, values, kernel, embedding, start) for each in believed]
    errors = np.array([error for error, _ in predictions])
    variances = np.array([variance for _, variance in predictions])
    # A mixture's variance: what the models state, and how far apart they are.
    spread = np.mean(variances, axis=0) + np.var(errors, axis=0)
    return np.asarray(np.mean(errors, axis=0) / np.sqrt(spread + _IMMATERIAL**2))


def judge(z: Array) -> ModelCheck:
    """Return what the residuals, shape (N,), say."""
    if len(z) == 0:
        return ModelCheck(0, math.nan, 1.0)
    total = float(np.sum(z**2))
    # κ ≥ √(Σ z² / χ²_N(0.95)), and never below 1
    return ModelCheck(len(z), math.sqrt(total / len(z)), max(1.0, math.sqrt(total / float(chdtri(len(z), _RISK)))))


def _predict(
    model: Hyperparameters, columns: Array, values: Array, kernel: Kernel, embedding: Embedding, start: int
) -> tuple[Array, Array]:
    """Return each value's error and its predicted variance, shape (n − start,), given the values before it.

    With K = L Lᵀ the whitened values L⁻¹y are the errors under mean 0, in units of L_ii. The unknown mean adds to
    them what is estimated from the values before. These are the recursive residuals of Brown, Durbin and Evans 1975
    (docs/theory.md, Model check): e_i = L_ii (u_i − mean · o_i) and v_i = L_ii² (1 + o_i²/c), u = L⁻¹y and o = L⁻¹1.
    """
    scaled = columns / model.lengthscales[embedding.axis]
    covariance = model.prior_std**2 * kernel.correlation(cdist(scaled, scaled, "sqeuclidean"))
    covariance.flat[:: len(values) + 1] += max(model.noise_std, NOISE_STD_FLOOR) ** 2
    chol, _, _ = cholesky(covariance, model.prior_std**2)
    solved: Array = np.asarray(lapack.dtrtrs(chol, np.column_stack([np.ones(len(values)), values]), lower=1)[0])
    ones, whitened = solved.T
    precision = np.cumsum(ones**2)[start - 1 : -1]
    mean = np.cumsum(ones * whitened)[start - 1 : -1] / precision
    pivots = chol.diagonal()[start:]
    later = ones[start:]
    return pivots * (whitened[start:] - mean * later), pivots**2 * (1.0 + later**2 / precision)

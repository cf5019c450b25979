"""Minima of one function from several starts at once, so that one call of the function serves all of them.

Each start descends on its own by BFGS: along −H∇f, where H approximates the inverse curvature and every step mends it
(Nocedal & Wright 2006, eq. 6.17), as far as Armijo's condition wants (eq. 3.4). A number at its bound whose slope
points outwards stays there. A descent that comes close to a lower one is given up: it would end where that one ends.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array

Function = Callable[[Array], tuple[Array, Array]]
"""Values, shape (k,), and gradients, shape (k, d), at points of shape (k, d)."""

# c₁ of Armijo's condition, as Nocedal & Wright 2006 advise, section 3.1.
_SUFFICIENT = 1e-4
# A refused step is shortened to where a parabola through what is known of it has its minimum, within these shares
# (Dennis & Schnabel 1983, algorithm A6.3.1).
_LEAST, _MOST = 0.1, 0.5
# A step shorter than this share of the proposed one says that H is wrong: it is begun anew, but not twice in a row.
_FUTILE = 1e-3
# In scales of each number: longer steps leave the valley that the start was in, and closer points are in the same one.
_FAR, _CLOSE = 1.0, 0.05
# A descent that has not arrived ends where it is: this bounds the work.
_MOST_ROUNDS = 100
# A descent ends where a step promises or brings no more than this share of |f|, or of 1.
_GAIN = 1e-6


@dataclass(frozen=True)
class Minima:
    """Where descents ended, the lowest first.

    Attributes:
        points: Shape (k, d).
        values: Shape (k,).
        metrics: H there, shape (k, d, d).
    """

    points: Array
    values: Array
    metrics: Array

    def near_lowest(self, within: float, most: int) -> "Minima":
        """Return the lowest and those of the others that are within so much of it, so many at most."""
        return self.take(np.flatnonzero(self.values <= self.values[0] + within)[:most])

    def take(self, index: NDArray[np.intp]) -> "Minima":
        """Return the minima with these indices."""
        return Minima(self.points[index], self.values[index], self.metrics[index])


def descend(function: Function, starts: Array, metrics: Array, bounds: Array, scale: Array) -> Minima:
    """Return the minima that the starts lead to, each once.

    Args:
        function: What is minimised; a start where it is not finite is left as it is.
        starts: Shape (k, d), k ≥ 1.
        metrics: Positive definite guesses of the inverse curvature at the starts, shape (k, d, d).
        bounds: The least and the largest value of each number, shape (2, d).
        scale: What is a moderate change of each number, shape (d,).
    """
    low, high = bounds
    x = np.clip(starts, low, high)
    f, g = function(x)
    f = np.where(np.isnan(f), np.inf, f)
    h, length = metrics.copy(), np.ones(len(x))
    begun_anew, merged = np.zeros((2, len(x)), dtype=bool)
    going = np.isfinite(f) & np.isfinite(g).all(axis=1)
    for _ in range(_MOST_ROUNDS):
        # p = −Hg, and −½ gᵀp is what the quadratic model promises of it.
        free = ~(((x <= low) & (g > 0.0)) | ((x >= high) & (g < 0.0)))
        p = -np.einsum("kij,kj->ki", h, g * free) * free
        tolerance = _GAIN * np.maximum(np.abs(f), 1.0)
        merged |= _is_close_to_lower(x / scale, f)
        i = np.flatnonzero(going & ~merged & (-0.5 * np.einsum("ki,ki->k", g, p) > tolerance))
        if len(i) == 0:
            break
        p = p[i] * np.minimum(_FAR / np.max(np.abs(p[i]) / scale, axis=1), 1.0)[:, None]
        new = np.clip(x[i] + length[i, None] * p, low, high)
        step = new - x[i]
        slope = np.einsum("ki,ki->k", g[i], step)
        f_new, g_new = function(new)
        # Armijo's condition
        taken = (f_new <= f[i] + _SUFFICIENT * slope) & np.isfinite(g_new).all(axis=1)
        h[i[taken]] = _mended(h[i[taken]], step[taken], (g_new - g[i])[taken])
        going[i] = ~taken | (f[i] - f_new > tolerance[i]) | (length[i] < 1.0)
        length[i] = np.where(taken, 1.0, length[i] * _shortening(f_new - f[i], slope))
        x[i[taken]], f[i[taken]], g[i[taken]] = new[taken], f_new[taken], g_new[taken]
        futile = i[length[i] < _FUTILE]
        going[futile] &= ~begun_anew[futile]
        h[futile], length[futile] = metrics[futile], 1.0
        begun_anew[i] = False
        begun_anew[futile] = True
    order = np.argsort(f, kind="stable")
    return Minima(x, f, h).take(order[~merged[order]])


def _mended(h: Array, step: Array, change: Array) -> Array:
    """Return H after a step along which the gradient changed so; unchanged where the curvature is not positive.

        H − s' (Hy')ᵀ − Hy' s'ᵀ + (1 + y'ᵀHy') s' s'ᵀ,   s' = s / √(yᵀs), y' = y / √(yᵀs)

    is Nocedal & Wright 2006, eq. 6.17, multiplied out.
    """
    along = np.einsum("ki,ki->k", step, change)
    # Less than that of a product is rounding of its sign.
    sure = along > 1e-10 * np.sqrt(np.einsum("ki,ki,kj,kj->k", step, step, change, change))
    step = step * (sure / np.sqrt(np.where(sure, along, 1.0)))[:, None]
    change = change * (sure / np.sqrt(np.where(sure, along, 1.0)))[:, None]
    turned = np.einsum("kij,kj->ki", h, change)
    outer = np.einsum("ki,kj->kij", step, turned)
    weight = sure + np.einsum("ki,ki->k", change, turned)
    return h - outer - outer.transpose(0, 2, 1) + np.einsum("k,ki,kj->kij", weight, step, step)


def _shortening(rise: Array, slope: Array) -> Array:
    """Return by how much a refused step is shortened, from how much the function rose where it should have fallen.

    The parabola has its minimum at −slope / 2(rise − slope) of the step (Nocedal & Wright 2006, eq. 3.58).
    """
    excess = 2.0 * (rise - slope)
    share = np.divide(-slope, excess, out=np.full_like(slope, _LEAST), where=np.isfinite(excess) & (excess > 0.0))
    return np.clip(share, _LEAST, _MOST)


def _is_close_to_lower(x: Array, f: Array) -> NDArray[np.bool_]:
    """Return which points are close to one with a lower value, or with the same value and an earlier place."""
    close = np.max(np.abs(x[:, None] - x[None]), axis=2) < _CLOSE
    rank = np.argsort(np.argsort(f, kind="stable"))
    return np.any(close & (rank[None] < rank[:, None]), axis=1)

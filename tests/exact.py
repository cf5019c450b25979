"""The posterior of a Gaussian process in arithmetic of 60 digits: what rounding must not make smaller."""

from collections.abc import Sequence

import mpmath
import numpy as np

Array = np.ndarray
DIGITS = 60


def correlation(kernel: str, r2: mpmath.mpf) -> mpmath.mpf:
    if kernel == "SquaredExponential":
        return mpmath.exp(-r2 / 2)
    root = mpmath.sqrt(5 * r2)
    return (1 + root + 5 * r2 / 3) * mpmath.exp(-root)


class ExactPosterior:
    """Mean and variance given numbers that are taken for exact; the flat prior of a mean None is R&W eq. 2.41–2.42.

    Args:
        kernel: "Matern52" or "SquaredExponential".
        points: Shape (n, d).
        values: Shape (n,).
        lengthscales: Shape (d,).
        prior_std: s.
        noise_variances: Of each observation, shape (n,).
        mean: The known mean, or None.
    """

    def __init__(
        self,
        kernel: str,
        points: Array,
        values: Array,
        *,
        lengthscales: Array,
        prior_std: float,
        noise_variances: Array,
        mean: float | None,
    ) -> None:
        with mpmath.workdps(DIGITS):
            self._kernel = kernel
            self._points = [[mpmath.mpf(float(u)) for u in x] for x in points]
            self._lengthscales = [mpmath.mpf(float(v)) for v in lengthscales]
            self._variance = mpmath.mpf(prior_std) ** 2
            n = len(points)
            self._factor: list[list[mpmath.mpf]] = []
            for i in range(n):
                row: list[mpmath.mpf] = []
                for j in range(i + 1):
                    entry = self._covariance(self._points[i], self._points[j])
                    if i == j:
                        entry += mpmath.mpf(float(noise_variances[i]))
                        row.append(mpmath.sqrt(entry - mpmath.fdot(row, row)))
                    else:
                        row.append((entry - mpmath.fdot(row, self._factor[j][:j])) / self._factor[j][j])
                self._factor.append(row)
            self._ones = self._solve([mpmath.mpf(1)] * n)
            whitened = self._solve([mpmath.mpf(float(y)) for y in values])
            self._precision = None if mean is not None else mpmath.fdot(self._ones, self._ones)
            self._mean = mpmath.mpf(mean) if mean is not None else mpmath.fdot(self._ones, whitened) / self._precision
            self._whitened = [w - self._mean * o for w, o in zip(whitened, self._ones, strict=True)]

    def mean_std(self, queries: Array) -> tuple[Array, Array]:
        """Return mean and deviation, shape (m,), rounded once."""
        with mpmath.workdps(DIGITS):
            pairs = [self._at([mpmath.mpf(float(u)) for u in x]) for x in queries]
        return np.array([m for m, _ in pairs]), np.array([s for _, s in pairs])

    def _at(self, x: Sequence[mpmath.mpf]) -> tuple[float, float]:
        whitened = self._solve([self._covariance(x, point) for point in self._points])
        variance = self._variance - mpmath.fdot(whitened, whitened)
        if self._precision is not None:
            variance += (1 - mpmath.fdot(whitened, self._ones)) ** 2 / self._precision
        # Without noise nothing is left at the data, and the last of the digits may fall below it.
        assert variance > -(mpmath.mpf(10) ** (-DIGITS // 2))
        return float(self._mean + mpmath.fdot(whitened, self._whitened)), float(mpmath.sqrt(max(variance, 0)))

    def _covariance(self, one: Sequence[mpmath.mpf], other: Sequence[mpmath.mpf]) -> mpmath.mpf:
        terms = zip(one, other, self._lengthscales, strict=True)
        return self._variance * correlation(self._kernel, mpmath.fsum(((a - b) / s) ** 2 for a, b, s in terms))

    def _solve(self, b: Sequence[mpmath.mpf]) -> list[mpmath.mpf]:
        x: list[mpmath.mpf] = []
        for i, row in enumerate(self._factor):
            x.append((b[i] - mpmath.fdot(row[:i], x)) / row[i])
        return x

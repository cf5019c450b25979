"""All evaluations that a search has made, and what is under way."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regretstop.array import Array
from regretstop.history._encoded import EncodedHistory, HistoryEncoder
from regretstop.history._observation import Observation, n_common, same_params
from regretstop.spaces import Space

# So much better than the best possible value is rounding, as of a mean of ones: relative to that value, or to 1.
_ROUNDING = 1e-12


class History:
    """All evaluations of a search, in their order, and the points that are being evaluated.

    Args:
        space: The search space.
        sign: Values times the sign are maximised.
        ceiling: The best possible value times the sign; ∞ if there is none.
    """

    def __init__(self, space: Space, sign: float, ceiling: float = math.inf) -> None:
        self._space = space
        self._sign = sign
        self._ceiling = ceiling
        self._encoder = HistoryEncoder(space, sign)
        self._encoded: EncodedHistory | None = None
        self._pending: list[tuple[Mapping[str, Any], float | None]] = []
        self._observations: list[Observation] = []
        # The number of the next evaluation, and when the last one ended: no earlier than any of a framework's.
        self._next_number, self._ended = 0, 0.0

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The evaluations that ended, in their order."""
        return tuple(self._observations)

    @property
    def n_observations(self) -> int:
        """How many evaluations ended."""
        return len(self._observations)

    @property
    def n_pending(self) -> int:
        """How many points are being evaluated."""
        return len(self._pending)

    @property
    def encoded(self) -> EncodedHistory:
        """What is fitted; the same object until something ends.

        Raises:
            ValueError: If a value is beyond the best possible one.
        """
        if self._encoded is None:
            encoded = self._encoder.encode(self._observations)
            self._check_ceiling(encoded)
            self._encoded = encoded
        return self._encoded

    def _check_ceiling(self, encoded: EncodedHistory) -> None:
        beyond = np.flatnonzero(encoded.values > self._ceiling + _ROUNDING * max(abs(self._ceiling), 1.0))
        if len(beyond):
            ceiling, value = (self._sign * each for each in (self._ceiling, float(encoded.values[beyond[0]])))
            raise ValueError(
                f"best_possible is {ceiling!r}, but trial {encoded.numbers[beyond[0]]} has the better value {value!r}"
            )

    def begin(self, params: Mapping[str, Any]) -> None:
        """Record that a point is being evaluated from now on."""
        self._pending.append((params, time.time()))

    def end(
        self,
        params: Mapping[str, Any],
        value: float | None,
        *,
        feasible: bool = True,
        constraints: tuple[float, ...] | None = None,
    ) -> None:
        """Record an evaluation, whether or not it was known to be under way."""
        span: tuple[float, float] | None = None
        for i, (pending, started) in enumerate(self._pending):
            if same_params(pending, params):
                del self._pending[i]
                span = None if started is None else (started, time.time())
                break
        self._observations.append(
            Observation(params, value, self._next_number, self._ended, span, feasible=feasible, constraints=constraints)
        )
        self._next_number += 1
        self._encoded = None

    def replace(self, observations: Sequence[Observation], pending: Sequence[Mapping[str, Any]]) -> None:
        """Take over what somebody else holds; what agrees with what was known is not encoded again."""
        known, taken = self._observations, list(observations)
        # What was known stays the object that it was, by which it is known to be encoded.
        for i in range(n_common(known, taken), min(len(known), len(taken))):
            same_record = (taken[i].span, taken[i].standard_error) == (known[i].span, known[i].standard_error)
            if taken[i].same_as(known[i]) and same_record:
                taken[i] = known[i]
        if len(taken) != len(known) or n_common(known, taken) < len(known):
            self._observations = taken
            self._encoded = None
            self._next_number = 1 + max((each.number for each in taken), default=-1)
            self._ended = max((each.ended for each in taken), default=0.0)
        self._pending = [(params, None) for params in pending]

    def failed_points(self) -> Array:
        """Return the encoded points of evaluations that failed, shape (m, d)."""
        values = [(o.params, o.value) for o in self._observations if o.value is not None]
        return self._encode_all([params for params, value in values if not math.isfinite(value)])

    def pruned_points(self) -> Array:
        """Return the encoded points of evaluations without a value to speak of, shape (m, d)."""
        return self._encode_all([o.params for o in self._observations if o.value is None])

    def pending_points(self) -> Array:
        """Return the encoded points that are being evaluated, shape (m, d)."""
        return self._encode_all([params for params, _ in self._pending])

    def _encode_all(self, points: Sequence[Mapping[str, Any]]) -> Array:
        """Return the points that the space can encode, shape (m, d)."""
        encoded: list[Array] = []
        for params in points:
            try:
                encoded.append(self._space.encode(params))
            except ValueError:  # a point of another space: nothing to stay apart from
                continue
        return np.array(encoded).reshape(-1, self._space.dim)

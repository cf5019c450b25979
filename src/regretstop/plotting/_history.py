"""What was decided, evaluation by evaluation: the numbers behind the plots over a search."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from regretstop.certificate import Certificate


@dataclass(frozen=True)
class BoundHistory:
    """What was decided, trial by trial.

    Attributes:
        trials: Trial numbers, in order.
        bounds: The bound after each of them, in the objective's units; infinite where nothing could be said.
        gaps: The certified optimality gap after each.
        values: Observed values; NaN for a trial without one.
        epsilon: ε of the rule.
        rule: Name of the rule.
        stopped_at: The trial after which the search was stopped, or None.
        direction: Of the objective.
        left: The estimated probability, after each, that something better by more than ε remained; NaN where it was not
            estimated, empty where it never was.
        expected_regrets: The expected regret after each, likewise.
        objective: What the objective's values are, for the axes.
    """

    trials: Sequence[int]
    bounds: Sequence[float]
    gaps: Sequence[float]
    values: Sequence[float]
    epsilon: float
    rule: str
    stopped_at: int | None
    direction: Literal["maximize", "minimize"]
    left: Sequence[float] = ()
    expected_regrets: Sequence[float] = ()
    objective: str = "objective"

    @property
    def best_values(self) -> list[float]:
        """The best value so far after each trial; NaN before the first."""
        pick = max if self.direction == "maximize" else min
        best: list[float] = []
        for value in self.values:
            seen = [v for v in (*best[-1:], value) if math.isfinite(v)]
            best.append(pick(seen) if seen else math.nan)
        return best


def history_of(
    trials: Sequence[int],
    certificates: Sequence[Certificate | None],
    values: Sequence[float | None],
    *,
    direction: Literal["maximize", "minimize"],
    stopped_at: int | None,
    objective: str = "objective",
) -> BoundHistory:
    """Return what the certificates of one rule say, each after its trial.

    Args:
        trials: Trial numbers.
        certificates: One for each of them; None where there is none. The last of them says ε and the rule.
        values: Observed values; None, NaN or an infinity for a trial without one.
        direction: Of the objective.
        stopped_at: The trial after which the search was stopped, or None.
        objective: What the values are.
    """
    last = next(certificate for certificate in reversed(certificates) if certificate is not None)
    return BoundHistory(
        trials=trials,
        bounds=[math.nan if c is None else c.bound for c in certificates],
        gaps=[math.nan if c is None else c.optimality_gap for c in certificates],
        values=[math.nan if value is None or not math.isfinite(value) else value for value in values],
        epsilon=last.epsilon,
        rule=last.rule,
        stopped_at=stopped_at,
        direction=direction,
        left=[math.nan if c is None or c.left is None else c.left.probability for c in certificates],
        expected_regrets=[math.nan if c is None else _expected_regret(c.left) for c in certificates],
        objective=objective,
    )


def _expected_regret(left: Any) -> float:
    """Return the expected regret that a certificate carries beside the probability; NaN where it carries none."""
    regret = getattr(left, "expected_regret", None)
    return math.nan if regret is None else float(regret)

"""What was decided, evaluation by evaluation: the numbers behind the plots over a search."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regretstop.certificate import Certificate


@dataclass(frozen=True)
class BoundHistory:
    """What was decided, trial by trial.

    Attributes:
        trials: Trial numbers, in order.
        bounds: The bound after each of them, in the objective's units; infinite where nothing could be said.
        gaps: The certified optimality gap after each.
        values: Observed values; NaN for a trial without one.
        epsilon: ε of the rule; 0 if it has none, and then no line is drawn.
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
    shown = [None if certificate is None else certificate.shown for certificate in certificates]
    last = next(statement for statement in reversed(shown) if statement is not None)
    return BoundHistory(
        trials=trials,
        bounds=[math.nan if s is None else s.bound for s in shown],
        gaps=[math.nan if s is None else s.optimality_gap for s in shown],
        values=[math.nan if value is None or not math.isfinite(value) else value for value in values],
        epsilon=last.epsilon,
        rule=last.rule,
        stopped_at=stopped_at,
        direction=direction,
        left=[math.nan if s is None or s.left is None else s.left.probability for s in shown],
        expected_regrets=[
            math.nan if s is None or s.expected_regret is None else s.expected_regret.value for s in shown
        ],
        objective=objective,
    )

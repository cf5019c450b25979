"""What a rule made of a path: as the paper counts it, and as one counts who had to stop there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.paper_data import NOSTOP, ORACLE
from benchmarks.paths import stop_of


@dataclass(frozen=True)
class Outcome:
    """One rule on one path.

    Attributes:
        epsilon: ε.
        stop: After how many evaluations it stopped; None if never.
        end: The same, or T.
        best: Least true regret of the evaluations up to there.
        named: True regret of the trial that the rule named at its stop; None if it never stopped.
    """

    epsilon: float
    stop: int | None
    end: int
    best: float
    named: float | None

    @property
    def success(self) -> bool:
        """Whether the paper calls it one: the best true value, whoever knows it, is within ε, by the stop or by T."""
        return self.best <= self.epsilon

    @property
    def false(self) -> bool:
        """Whether it stopped and named a trial that is not within ε."""
        return self.named is not None and self.named > self.epsilon


def outcome(record: Mapping[str, Any], rule: str, check: str = "inflated") -> Outcome:
    """Return what a rule made of a path.

    Args:
        record: Of the path.
        rule: Its name, NOSTOP or ORACLE.
        check: What is done where the model check objects; see `paths.answers_of`.
    """
    epsilon, regrets = min(record["epsilons"]), record["regrets"]
    found: tuple[int, float] | None = None
    if rule == ORACLE:
        found = next(((n, regret) for n, regret in enumerate(regrets, 1) if regret <= epsilon), None)
    elif rule != NOSTOP:
        found = stop_of(record, rule, epsilon, check)
    stop, named = (None, None) if found is None else found
    end = len(regrets) if stop is None else stop
    return Outcome(epsilon, stop, end, min(regrets[:end]), named)


@dataclass(frozen=True)
class Summary:
    """Of one rule on several paths.

    Attributes:
        paths: How many.
        mean_stop: Mean of the evaluations at the stop, T where there was none, as the paper has it.
        median_stop: Median of them, infinite where there was none.
        stopped: How many stopped.
        successes: How many successes the paper would count.
        false: How many stopped falsely.
        mean_best: Mean regret of the best value at the end, as the paper has it.
        median_named: Median regret of the trials named at the stops; None without any.
    """

    paths: int
    mean_stop: float
    median_stop: float
    stopped: int
    successes: int
    false: int
    mean_best: float
    median_named: float | None


def summary(outcomes: Sequence[Outcome]) -> Summary:
    """Return the summary of at least one outcome."""
    named = [o.named for o in outcomes if o.named is not None]
    # Sorted, because the mean of two infinities would be no number.
    stops = sorted(math.inf if o.stop is None else float(o.stop) for o in outcomes)
    low, high = stops[(len(stops) - 1) // 2], stops[len(stops) // 2]
    return Summary(
        paths=len(outcomes),
        mean_stop=float(np.mean([o.end for o in outcomes])),
        median_stop=low if low == high else (low + high) / 2.0,
        stopped=len(named),
        successes=sum(o.success for o in outcomes),
        false=sum(o.false for o in outcomes),
        mean_best=float(np.mean([o.best for o in outcomes])),
        median_named=float(np.median(named)) if named else None,
    )


def longest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records without those of paths that were ended early, where there are longer ones of the same row."""
    most: dict[str, int] = {}
    for record in records:
        most[record["problem"]] = max(most.get(record["problem"], 0), record["trials"])
    return [record for record in records if record["trials"] == most[record["problem"]]]

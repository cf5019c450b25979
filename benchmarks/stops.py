"""Stops along paths, counted: how many there are, how many are false, and where they are."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.paths import CHECKS, TERMINATOR, stop_of

OURS = ("UCBbr", "certified gap", "calibrated gap", "PRB")
OTHERS = ("DeltaCB", "DeltaES", "AcquisitionThreshold")
TREATMENTS = ("map", "posterior")
TARGET = 0.05
"""The share of paths that may end in a false stop."""


@dataclass(frozen=True)
class Case:
    """A rule, and how it is asked.

    Attributes:
        rule: Its name, for PRB without its ε.
        treatment: Of the hyperparameters.
        check: What is done where the model check objects; see `paths.answers_of`.
    """

    rule: str
    treatment: str
    check: str = "inflated"

    @property
    def words(self) -> dict[str, str]:
        """The cells of a table that say which case it is."""
        if self.treatment == TERMINATOR:
            return {"rule": self.rule, "hyperparameters": "", "model check": ""}
        return {"rule": self.rule, "hyperparameters": self.treatment, "model check": self.check}


# The default, of each rule and treatment; what else is done about the model check is compared for our own rules.
DEFAULTS = (*(Case(rule, t) for rule in (*OURS, *OTHERS) for t in TREATMENTS), Case(TERMINATOR, TERMINATOR))
CASES = tuple(
    Case(case.rule, case.treatment, check)
    for case in DEFAULTS
    for check in (CHECKS if case.rule in OURS else CHECKS[:1])
)


@dataclass(frozen=True)
class Tally:
    """What became of some paths.

    Attributes:
        n_paths: How many there are.
        stops: Of those that were stopped, after how many evaluations.
        regrets: Of those, the true regret of the trial that the rule named.
        n_false: How many of these are above ε.
    """

    n_paths: int
    stops: list[int]
    regrets: list[float]
    n_false: int

    @property
    def is_above_target(self) -> bool:
        """Whether more of the paths end in a false stop than may."""
        return self.n_false > TARGET * self.n_paths

    @property
    def median_stop(self) -> float:
        """After how many evaluations; NaN where nothing was stopped."""
        return float(np.median(self.stops)) if self.stops else math.nan


def of_case(records: Sequence[Mapping[str, Any]], case: Case) -> list[Mapping[str, Any]]:
    """Return the records in which the rule was asked in this way."""
    return [record for record in records if record["treatment"] == case.treatment]


def tally(records: Sequence[Mapping[str, Any]], case: Case, level: int) -> Tally:
    """Return what became of the paths of a case, for the ε of this index."""
    ends: list[tuple[int, float, bool]] = []
    paths = of_case(records, case)
    for record in paths:
        epsilon = record["epsilons"][level]
        stop = stop_of(record, case.rule, epsilon, case.check)
        if stop is not None:
            ends.append((*stop, stop[1] > epsilon))
    return Tally(len(paths), [n for n, _, _ in ends], [regret for _, regret, _ in ends], sum(f for _, _, f in ends))


def tally_by_problem(records: Sequence[Mapping[str, Any]], case: Case, level: int) -> dict[str, Tally]:
    """Return what became of the paths of a case on each problem that has any."""
    names = dict.fromkeys(record["problem"] for record in of_case(records, case))
    return {name: tally([r for r in records if r["problem"] == name], case, level) for name in names}


def first_within(record: Mapping[str, Any], level: int) -> float:
    """Return after how many evaluations the first trial within the ε of this index was found; ∞ if none was."""
    return next((n for n, regret in enumerate(record["regrets"], 1) if regret <= record["epsilons"][level]), math.inf)

"""Rules that look at no model: patience, a target, and the clock. They say nothing of what may be left to find."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from regretstop.certificate import Certificate
from regretstop.checks import check_at_least, check_between
from regretstop.gap import CountedGap, gap_beside
from regretstop.history import Observation
from regretstop.prose import apart
from regretstop.rules._base import Rule
from regretstop.rules._ceiling import ceiling_of
from regretstop.rules._evaluations import Evaluations
from regretstop.rules._remaining import expected_regret
from regretstop.schedule import EVERY_OBSERVATION, Schedule
from regretstop.snapshot import Snapshot
from regretstop.statement import Measure, Statement


@dataclass(frozen=True)
class Seen:
    """What a rule sees of the evaluations.

    Attributes:
        met: Whether what it waits for has come.
        reason: In words, to be followed by "after n evaluations".
        terms: Its numbers.
    """

    met: bool
    reason: str
    terms: Mapping[str, float | int]


@dataclass(frozen=True)
class Fact(Rule):
    """A rule that waits for something that can be seen, and says nothing of how much better the optimum is.

    Its guarantee is "none", and it has no ε; δ is that of the certified gap beside it.
    """

    measure: ClassVar[Measure] = "none"
    needs_model: ClassVar[bool] = False

    epsilon: float = field(init=False, repr=False, default=0.0)
    delta: float = field(init=False, repr=False, default=0.05)
    schedule: Schedule = field(init=False, repr=False, default=EVERY_OBSERVATION)

    @abstractmethod
    def see(self, evaluations: Evaluations) -> Seen:
        """Return what can be seen in the evaluations."""

    @property
    def regret_epsilon(self) -> None:
        """None: there is no ε."""
        return

    def is_met_by(self, said: Statement) -> bool:
        """Return whether a rule like this one has stopped."""
        return said.stop

    def look(self, observations: Sequence[Observation], sign: float) -> Certificate:
        """Return the certificate, without a look at any model."""
        evaluations = Evaluations(observations, sign)
        found, best, n = self.see(evaluations), evaluations.best, evaluations.n_with_value
        nothing = self.undecided(found.reason, n_observations=n, n_excluded=len(observations) - n)
        claim = replace(
            nothing.claim,
            guarantee="none",
            incumbent=None if best is None else best.number,
            incumbent_value=None if best is None else best.value,
            met=found.met,
            terms=found.terms,
        )
        return replace(nothing, claim=claim, data=replace(nothing.data, n_infeasible=evaluations.n_infeasible))

    def assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate for the evaluations in the snapshot, with what the model says where it stops."""
        seen = self.look(snapshot.data.observations, snapshot.data.sign)
        return with_what_is_known(self, seen, lambda: snapshot)

    def _assess(self, snapshot: Snapshot) -> Certificate:
        return self.assess(snapshot)


@dataclass(frozen=True)
class Patience(Fact):
    """Stops when n evaluations in a row brought nothing better.

    Those count that ended after the first one with the best value so far and have a value, or were cut short as by a
    pruner; failed ones do not. It says nothing of the next hill, which may take longer to find.

    Args:
        n: How many, at least 1.

    Raises:
        ValueError: If n is out of its range.
    """

    n: int

    def __post_init__(self) -> None:
        """Check n."""
        check_at_least("n", self.n, 1)

    def see(self, evaluations: Evaluations) -> Seen:
        """Return how many evaluations there were since the best one."""
        best, since = evaluations.best, evaluations.n_since_best
        terms = {"n": int(self.n), "since_best": since}
        if best is None:
            return Seen(False, evaluations.missing, terms)
        if since >= self.n:
            return Seen(True, f"the last {since} evaluations brought nothing better than trial {best.number}", terms)
        return Seen(False, f"{since} of {self.n} evaluations without anything better than trial {best.number}", terms)


@dataclass(frozen=True)
class Target(Fact):
    """Stops when an observed value is as good as this one: not below it where values are maximised, else not above.

    With noise it is the value that was observed, not the one that would be observed again.

    Args:
        value: In the objective's own sign and units.

    Raises:
        ValueError: If the value is not finite.
    """

    value: float

    def __post_init__(self) -> None:
        """Check the value."""
        check_between("value", self.value, float("-inf"))

    def see(self, evaluations: Evaluations) -> Seen:
        """Return whether the best value is as good."""
        best, target = evaluations.best, float(self.value)
        if best is None or best.value is None:
            return Seen(False, evaluations.missing, {"target": target})
        met = evaluations.sign * best.value >= evaluations.sign * target
        value, wanted = apart(best.value, target)
        reason = f"the value {value} of trial {best.number} is {'' if met else 'not '}as good as the target {wanted}"
        return Seen(met, reason, {"target": target, "best": best.value})


@dataclass(frozen=True)
class Deadline(Fact):
    """Stops when the search has taken so many seconds, as soon as an evaluation ends.

    The clock is that of the record: when evaluations started and ended, as Optuna and Ray note it for every trial, as
    `GPUCB` and `minimize` do between `ask` and `tell`, and scikit-optimize's stopper between its calls (the first of
    which is when its clock starts). So a search that is taken up again has what is left of its time, and evaluations
    that run at once are counted once. Where nothing ran for more than a minute, between two sessions say, a minute is
    counted. An evaluation that runs is not interrupted.

    Args:
        seconds: How many.

    Raises:
        ValueError: If the number is not positive and finite.
    """

    seconds: float

    def __post_init__(self) -> None:
        """Check the number."""
        check_between("seconds", self.seconds, 0)

    def see(self, evaluations: Evaluations) -> Seen:
        """Return how long the search has taken."""
        taken, limit = evaluations.seconds, float(self.seconds)
        terms = {"seconds": limit, "taken": taken}
        if taken >= limit:
            return Seen(True, f"the search took {taken:.4g} s, which is all of {limit:.4g} s or more", terms)
        return Seen(False, f"the search took {taken:.4g} s of {limit:.4g} s", terms)


def with_what_is_known(rule: Rule, certificate: Certificate, look: Callable[[], Snapshot]) -> Certificate:
    """Return the rule's certificate, with what the model says beside it where a rule without a bound stops.

    Where a rule of a combination claims a gap, with the δ that it has, the gap is that rule's to state.

    Args:
        rule: The rule, or the combination.
        certificate: What it says.
        look: Returns the snapshot of the same data.
    """
    if certificate.guarantee != "none" or not certificate.stop:
        return certificate
    try:
        snapshot = look()
        # The trial that the rule names may lie outside the space, where the model says nothing of it.
        own = np.flatnonzero(snapshot.data.numbers == certificate.incumbent)
        if snapshot.obstacle is not None or not len(own):
            return certificate
        trial, scale = int(own[0]), snapshot.model.units.slope()
        # There is no ε: the scale is about how much values vary.
        found = None if rule.claims else gap_beside(snapshot, certificate.delta, scale, trial)
        regret = expected_regret(snapshot, trial, scale, found, None)
    except np.linalg.LinAlgError:  # what rounding leaves undecided is not said
        return certificate
    ceiling = ceiling_of(snapshot, trial, certificate.delta, scale)
    claim = certificate.gap if rule.claims else ceiling.gap(snapshot, found)
    how = "counted" if isinstance(found, CountedGap) else None if found is None else found.how
    return replace(
        certificate,
        claim=replace(certificate.claim, maximum=how),
        gap=claim,
        model=snapshot.model.report(),
        noise=snapshot.noise_at(trial),
        expected_regret=None if regret is None else ceiling.lowered_regret(regret),
    )

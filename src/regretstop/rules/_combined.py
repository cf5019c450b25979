"""Rules in combination: `|` stops when one of them does, `&` when all do.

The certificate is that of one of the rules, with what the others said beside it. Whatever the rules are, what that
certificate claims is claimed with the δ that stands in it (docs/theory.md, Rules in combination).
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regretstop.certificate import Certificate
from regretstop.rules._base import Rule
from regretstop.rules._facts import with_what_is_known
from regretstop.schedule import EVERY_OBSERVATION, Schedule
from regretstop.snapshot import Snapshot
from regretstop.statement import Guarantee, Statement

# The most that is proved comes first.
_STRENGTH = ("theorem", "model", "heuristic", "none")


@dataclass(frozen=True)
class Combination(Rule):
    """What `|` and `&` share.

    Args:
        parts: The rules, which keep their own ε, δ and schedules.

    Raises:
        ValueError: If there are fewer than two, or one is no rule.
    """

    # Of its rules: the smallest ε of those that bound a regret, and what they risk together.
    epsilon: float = field(init=False, repr=False, default=0.0)
    delta: float = field(init=False, repr=False, default=0.0)
    schedule: Schedule = field(init=False, repr=False, default=EVERY_OBSERVATION)
    parts: tuple[Rule, ...]

    def __post_init__(self) -> None:
        """Check the rules."""
        for part in self.parts:
            if not isinstance(part, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"parts must be stopping rules such as UCBbr(epsilon=0.01), got {part!r}")
        if len(self.parts) < 2:
            raise ValueError(f"parts must be at least two rules, got {self.parts!r}")
        # `a | b | c` is one combination, and not one of another.
        flat = [each for part in self.parts for each in (part.parts if type(part) is type(self) else (part,))]
        object.__setattr__(self, "parts", tuple(flat))
        object.__setattr__(self, "epsilon", self.regret_epsilon or 0.0)
        object.__setattr__(self, "delta", self._risk([part.delta for part in self._shared if part.claims]))

    @property
    @abstractmethod
    def _shared(self) -> tuple[Rule, ...]:
        """The rules with their shares of δ."""

    @abstractmethod
    def _risk(self, deltas: Sequence[float]) -> float:
        """Return the risk of the combination, given those of its rules that have one."""

    @abstractmethod
    def _speaker(self, said: Sequence[Certificate]) -> int:
        """Return whose certificate is that of the combination."""

    @property
    def label(self) -> str:
        """The names of the rules, and how they are combined."""
        return self._sign.join(
            f"({part.label})" if isinstance(part, Combination) else part.label for part in self.parts
        )

    @property
    @abstractmethod
    def _sign(self) -> str: ...

    @property
    def leaves(self) -> tuple[Rule, ...]:
        """The single rules, each with its share of δ."""
        return tuple(leaf for part in self._shared for leaf in part.leaves)

    @property
    def claims(self) -> bool:
        """Whether one of the rules says anything with probability 1 − δ."""
        return any(part.claims for part in self.parts)

    @property
    def regret_epsilon(self) -> float | None:
        """The smallest ε of the rules that bound a regret: what is better by more than a larger one is, by it too."""
        found = [epsilon for part in self.parts if (epsilon := part.regret_epsilon) is not None]
        return min(found, default=None)

    def with_share(self, n: int) -> Rule:
        """Return the combination with an n-th of every δ."""
        return replace(self, parts=tuple(part.with_share(n) for part in self.parts))

    def with_points(self, read: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Rule:
        """Return the combination of such rules."""
        return replace(self, parts=tuple(part.with_points(read) for part in self.parts))

    def consult(self, ask: Callable[[Rule], Certificate]) -> Certificate:
        """Return the certificate of the rule that decides, with the others' beside it."""
        said = [part.consult(ask) for part in self._shared]
        speaker = self._speaker(said)
        place = sum(len(each.said) for each in said[:speaker]) + said[speaker].asked.place
        alone: list[Statement] = [replace(one, others=()) for each in said for one in each.said]
        asked = replace(said[speaker].asked, combination=self.label, place=place)
        # Only the whole is said in the name of a combination.
        others = [
            replace(one, asked=replace(one.asked, combination=None, place=0))
            for i, one in enumerate(alone)
            if i != place
        ]
        return replace(said[speaker], asked=asked, others=tuple(others))

    def assess(self, snapshot: Snapshot) -> Certificate:
        """Return the certificate for the data and the model in the snapshot."""
        data = snapshot.data
        said = self.consult(lambda rule: rule.look(data.observations, data.sign) or rule.assess(snapshot))
        return with_what_is_known(self, said, lambda: snapshot)

    def _assess(self, snapshot: Snapshot) -> Certificate:
        return self.assess(snapshot)

    def undecided(
        self,
        reason: str,
        *,
        n_observations: int = 0,
        n_excluded: int = 0,
        guarantee: Guarantee = "model",
    ) -> Certificate:
        """Return a certificate with an infinite bound, for data that nothing can be said about."""
        return self.consult(
            lambda rule: rule.undecided(
                reason, n_observations=n_observations, n_excluded=n_excluded, guarantee=guarantee
            )
        )


@dataclass(frozen=True)
class AnyOf(Combination):
    """Stops when one of several rules does: `UCBbr(0.01) | Patience(30) | Deadline(3600)`.

    The certificate is that of the rule that stopped, of several that with the strongest guarantee; what the others said
    stands beside it. Of k rules that claim anything with probability 1 − δ each has δ/k, so that all that a certificate
    says is true together with the probability that was asked for. Rules without a bound need no share.

    Args:
        parts: The rules, which keep their own ε and schedules.

    Raises:
        ValueError: If there are fewer than two, or one is no rule.
    """

    @property
    def _shared(self) -> tuple[Rule, ...]:
        n = sum(part.claims for part in self.parts)
        return tuple(part.with_share(n) for part in self.parts)

    @property
    def _sign(self) -> str:
        return " | "

    def _risk(self, deltas: Sequence[float]) -> float:
        return sum(deltas)

    def _speaker(self, said: Sequence[Certificate]) -> int:
        """Return the strongest of those that stop; where none does, the first that has a bound."""
        stopping = [i for i, each in enumerate(said) if each.stop]
        return _strongest(said, stopping) if stopping else _first_bound(said, range(len(said)))

    def is_decided(self, by: Callable[[Rule], bool]) -> bool:
        """Return whether one of the rules is decided."""
        return any(part.is_decided(by) for part in self._shared)


@dataclass(frozen=True)
class AllOf(Combination):
    """Stops when all of several rules do: `UCBbr(0.01) & Patience(10)`.

    The certificate is that of the rule with the strongest guarantee, or of one that does not stop yet; what the others
    said stands beside it. Each rule keeps its own δ: to wait for another one adds no risk to a statement about the data
    at hand, whatever they are.

    Args:
        parts: The rules, which keep their own ε and schedules.

    Raises:
        ValueError: If there are fewer than two, or one is no rule.
    """

    @property
    def _shared(self) -> tuple[Rule, ...]:
        return self.parts

    @property
    def _sign(self) -> str:
        return " & "

    def _risk(self, deltas: Sequence[float]) -> float:
        return max(deltas, default=0.0)

    def _speaker(self, said: Sequence[Certificate]) -> int:
        """Return the strongest if all stop; else the first of those that do not and have a bound."""
        going_on = [i for i, each in enumerate(said) if not each.stop]
        return _first_bound(said, going_on) if going_on else _strongest(said, range(len(said)))

    def is_decided(self, by: Callable[[Rule], bool]) -> bool:
        """Return whether all rules are decided."""
        return all(part.is_decided(by) for part in self._shared)


def _strongest(said: Sequence[Certificate], among: Sequence[int]) -> int:
    return min(among, key=lambda i: (_STRENGTH.index(said[i].guarantee), i))


def _first_bound(said: Sequence[Certificate], among: Sequence[int]) -> int:
    return min(among, key=lambda i: (said[i].guarantee == "none", i))

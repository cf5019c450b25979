"""What the trials of a study say together: what they have in common, and what stands in the way of a bound."""

import datetime
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from regretstop import Observation
from regretstop.spaces import MOST_VALUES, Item, Point, Record
from regretstop_optuna._attributes import INDEPENDENT, TYPED, names_in
from regretstop_optuna._infer import Inferred, infer
from regretstop_optuna._observations import (
    has_choice,
    has_value,
    observation_of,
    seconds_of,
    without_a_night,
)
from regretstop_optuna._resumed import Seen, last_change
from regretstop_optuna._space import Distributions, is_single
from regretstop_optuna._storage import is_same_trial
from regretstop_optuna._tree import Tree

# Of a parameter with more ranges than that no category tells which it has, but a number that is no choice.
_MOST_RANGES = 32
# Trials without a value until it is taken for the value's own fault.
_MOST_ATTEMPTS = 3


class Obstacle(NamedTuple):
    """Why the model does not describe the study: of what kind that is, and in words."""

    kind: str
    words: str


@dataclass(frozen=True)
class View:
    """What the trials of a study say at one moment.

    Attributes:
        trials: All of them, in order of number; not to be modified.
        joint: The distributions that all observations share and that leave a choice, by name.
        tree: The space that the model covers: the joint parameters, and those of branches if it is known where each is.
        since: Number of the trial from which on it is this space, after people changed it; 0 where it always was.
        to_try: Points with a value of a deciding parameter that no trial has tried.
        observations: The finished trials, in order of number.
        n_observations: How many of these give a model something to fit: complete, with a finite value and a parameter
            that could have been another.
        is_unexplained: Whether parameters are in some trials only, or have several ranges, and nothing tells where.
        obstacle: Why the model does not describe the study, in words; None if it does, or merely data are missing.
        kind: Of what kind that is, whichever parameters it is about.
        missing: Which data are missing, in words, while there is no observation; else empty.
        longest: For how many seconds the longest completed trial ran.
        typed: Parameters whose choices have classes that the storage does not keep.
    """

    trials: Sequence[FrozenTrial]
    joint: Distributions
    tree: Tree
    since: int
    to_try: Sequence[Point]
    observations: Sequence[Observation]
    n_observations: int
    is_unexplained: bool
    obstacle: str | None
    kind: str | None
    missing: str
    longest: float
    typed: Set[str]

    def modelled(self) -> Sequence[Observation]:
        """Return the observations with their parameters named as the axes of the tree.

        Of a trial from before the space was changed that had other parameters it is not known where it is: it has none.
        """
        return [
            o if (params := self._modelled(o)) is o.params else replace(o, params=params) for o in self.observations
        ]

    def _modelled(self, observation: Observation) -> Mapping[str, Any]:
        params = self.tree.to_space(observation.params)
        if observation.number >= self.since:
            return params
        had = {name for name, d in self.trials[observation.number].distributions.items() if not is_single(d)}
        return params if had <= {self.tree.axes[key].name for key in params if key in self.tree.axes} else {}


@dataclass
class Digest:
    """Reads each finished trial once, since these never change, and keeps what they say together.

    An objective that returns infinity before it has suggested everything hides nothing from view, and one that
    returns before it has suggested anything says nothing about the space: neither is an observation.
    """

    _known: list[FrozenTrial | None] = field(default_factory=list[FrozenTrial | None])
    _observations: list[Observation | None] = field(default_factory=list[Observation | None])
    # What trials say of the space: observations that a model can fit, others that are complete or pruned, and, without
    # their ranges, those that failed.
    _fitted: list[Seen] = field(default_factory=list[Seen])
    _unvalued: list[Seen] = field(default_factory=list[Seen])
    _failed: list[Point] = field(default_factory=list[Point])
    # The different distributions that complete or pruned trials had, by the parameter's name; which have too many.
    _ranges: dict[str, list[BaseDistribution]] = field(default_factory=dict[str, list[BaseDistribution]])
    _too_many: set[str] = field(default_factory=set[str])
    _shared: Distributions = field(default_factory=dict[str, BaseDistribution])
    _independent: set[str] = field(default_factory=set[str])
    _typed: set[str] = field(default_factory=set[str])
    _n_without_choice: int = 0
    _longest: float = 0.0

    def is_of(self, trials: Sequence[FrozenTrial]) -> bool:
        """Return whether what was read are still the first of these trials, and they are not another study's."""
        return len(trials) >= len(self._known) and all(
            known is None or known is trial or is_same_trial(known, trial)
            for known, trial in zip(self._known, trials, strict=False)
        )

    def read(self, trials: Sequence[FrozenTrial]) -> View:
        """Take in what has finished since the last time, and return what the trials say."""
        self._known += [None] * (len(trials) - len(self._known))
        self._observations += [None] * (len(trials) - len(self._observations))
        for i, known in enumerate(self._known):
            if known is None and trials[i].state.is_finished():
                self._known[i] = trials[i]
                self._observations[i] = observation_of(trials[i])
                self._add(trials[i])
        joint = {name: d for name, d in sorted(self._shared.items()) if not is_single(d)}
        observations = [without_a_night(o, self._longest) for o in self._observations if o is not None]
        since, found = self._inferred(joint)
        obstacle = self._obstacle(found)
        return View(
            trials=trials,
            joint=joint,
            tree=found.tree,
            since=since,
            to_try=self._to_try(found),
            observations=observations,
            n_observations=len(self._fitted),
            is_unexplained=bool(found.unexplained),
            obstacle=None if obstacle is None else obstacle.words,
            kind=None if obstacle is None else obstacle.kind,
            missing="" if self._fitted else self._missing(len(observations)),
            longest=self._longest,
            typed=frozenset(self._typed),
        )

    def _add(self, trial: FrozenTrial) -> None:
        self._independent |= names_in(trial, INDEPENDENT)
        self._typed |= names_in(trial, TYPED)
        values = {name: d.to_internal_repr(trial.params[name]) for name, d in trial.distributions.items()}
        if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED):
            self._failed.append(values)
            return
        items = frozenset(self._item(*each) for each in trial.distributions.items())
        seen = Seen(trial.number, Record(items, values), has_value(trial))
        if trial.state == TrialState.COMPLETE:
            self._longest = max(self._longest, seconds_of(trial, datetime.datetime.now()))
        if not has_value(trial):
            self._unvalued.append(seen)
            return
        if not has_choice(trial):
            self._n_without_choice += 1
            return
        shared = self._shared if self._fitted else trial.distributions
        self._shared = {name: d for name, d in shared.items() if trial.distributions.get(name) == d}
        self._fitted.append(seen)

    def _item(self, name: str, distribution: BaseDistribution) -> Item:
        """Return the parameter with the number of its range, which is new or was seen before."""
        found = self._ranges.setdefault(name, [])
        if distribution not in found:
            if len(found) == _MOST_RANGES:
                self._too_many.add(name)
                return name, 0
            found.append(distribution)
        return name, found.index(distribution)

    def _inferred(self, joint: Distributions) -> tuple[int, Inferred]:
        """Return since which trial the space is what it is, and what the trials say of it."""
        unmodelled = self._unmodelled(joint)
        if not unmodelled or not self._fitted:
            return 0, Inferred(Tree.flat(joint))
        if self._too_many:
            return 0, Inferred(Tree.flat(joint), unexplained=self._too_many)
        varying = {*filter(self._varies, self._ranges)}
        seen = [
            each._replace(record=Record(frozenset(i for i in each.record.items if i[0] in varying), each.record.values))
            for each in sorted([*self._fitted, *self._unvalued])
        ]
        found = self._together(seen)
        if not found.unexplained:
            return 0, found
        changed = last_change(seen, found.unexplained, self._together)
        return changed or (0, replace(found, tree=Tree.flat(joint)))

    def _together(self, seen: Sequence[Seen]) -> Inferred:
        """Return what trials say of the space as if it had always been the same."""
        observed, others = ([each.record for each in seen if each.is_observed is wanted] for wanted in (True, False))
        return infer(observed, others, self._ranges) if observed else Inferred()

    def _to_try(self, found: Inferred) -> list[Point]:
        """Return the unknown values that too few trials without a value have: a first attempt may fail by accident."""
        tried = [*self._failed, *(each.record.values for each in self._unvalued)]
        if found.unexplained:
            return []
        return [
            point
            for point in found.untried
            if sum(point.items() <= values.items() for values in tried) < _MOST_ATTEMPTS
        ]

    def _obstacle(self, found: Inferred) -> Obstacle | None:
        if not self._fitted:
            is_constant = self._n_without_choice > 0 and not any(map(self._varies, self._ranges))
            return Obstacle("constant", "so far the objective has no parameter that varies") if is_constant else None
        if found.unexplained:
            one, names = len(found.unexplained) == 1, ", ".join(map(repr, sorted(found.unexplained)))
            return Obstacle(
                "unexplained",
                f"{names} {'is' if one else 'are'} not in every trial with the same range, and no categorical "
                f"parameter, or integer one with at most {MOST_VALUES} values, tells in which",
            )
        if found.untried:
            return Obstacle("untried", self._untried(found.untried))
        if self._independent:
            one, names = len(self._independent) == 1, ", ".join(map(repr, sorted(self._independent)))
            return Obstacle(
                "independent",
                f"{names} {'has' if one else 'have'} choices that the storage gives back as others (a tuple comes back "
                f"as a list), so {'it is' if one else 'they are'} sampled independently of the model",
            )
        return None

    def _untried(self, untried: Sequence[Point]) -> str:
        """Say where nothing is known."""
        *above, (name, value) = untried[0].items()
        others = f", and {len(untried) - 1} more such" if len(untried) > 1 else ""
        where = "".join(f", where {self._said(*each)}" for each in above)
        return (
            f"no trial with {self._said(name, value)}{where} has a value yet{others}: which parameters there are "
            f"depends on {name!r}, so what the objective does there is not known"
        )

    def _said(self, name: str, value: float) -> str:
        return f"{name!r} = {self._ranges[name][0].to_external_repr(value)!r}"

    def _missing(self, n_finished: int) -> str:
        if not n_finished:
            return "too few observations: none yet"
        if self._n_without_choice:
            return "no finite value yet of a trial with a parameter that varies"
        return "no finite value yet: every trial so far was pruned, failed or infinite"

    def _unmodelled(self, joint: Distributions) -> list[str]:
        """Return the parameters that vary, but are not in the joint distributions of all observations.

        They are conditional (absent from some observation) or re-ranged. Pruned and infinite trials are
        searched too: a branch that leads to nothing else is still a branch of the objective. Failed ones
        are not, so that a first attempt with a mistake in it does not spoil a study for good.
        """
        differing = {name for name, found in self._ranges.items() if any(joint.get(name) != d for d in found)}
        return sorted(filter(self._varies, differing))

    def _varies(self, name: str) -> bool:
        """Whether the parameter ever had a choice, or had different single values."""
        found = self._ranges[name]
        return len(found) > 1 or not is_single(found[0])

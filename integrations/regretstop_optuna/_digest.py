"""What the trials of a study say together: what they have in common, and what stands in the way of a bound."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from regretstop import Observation
from regretstop_optuna._attributes import independent_names
from regretstop_optuna._observations import has_choice, has_value, observation_of, seconds_of
from regretstop_optuna._space import Distributions, is_single
from regretstop_optuna._storage import is_same_trial


@dataclass(frozen=True)
class View:
    """What the trials of a study say at one moment.

    Attributes:
        trials: All of them, in order of number; not to be modified.
        joint: The distributions that all observations share and that leave a choice, by name.
        observations: The finished trials, in order of number.
        n_observations: How many of these give a model something to fit: complete, with a finite value and a parameter
            that could have been another.
        obstacle: Why the model does not describe the study, in words; None if it does, or merely data are missing.
        missing: Which data are missing, in words, while there is no observation; else empty.
        longest: For how many seconds the longest completed trial ran.
    """

    trials: Sequence[FrozenTrial]
    joint: Distributions
    observations: Sequence[Observation]
    n_observations: int
    obstacle: str | None
    missing: str
    longest: float


@dataclass
class Digest:
    """Reads each finished trial once, since these never change, and keeps what they say together.

    An objective that returns infinity before it has suggested everything hides nothing from view, and one that
    returns before it has suggested anything says nothing about the space: neither is an observation.
    """

    _known: list[FrozenTrial | None] = field(default_factory=list[FrozenTrial | None])
    _observations: list[Observation | None] = field(default_factory=list[Observation | None])
    # The first two different distributions that complete or pruned trials had, by the parameter's name: more than one
    # is all that matters.
    _ranges: dict[str, list[BaseDistribution]] = field(default_factory=dict[str, list[BaseDistribution]])
    _shared: Distributions = field(default_factory=dict[str, BaseDistribution])
    _independent: set[str] = field(default_factory=set[str])
    _n_observations: int = 0
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
        observations = [o for o in self._observations if o is not None]
        return View(
            trials=trials,
            joint=joint,
            observations=observations,
            n_observations=self._n_observations,
            obstacle=self._obstacle(joint),
            missing="" if self._n_observations else self._missing(len(observations)),
            longest=self._longest,
        )

    def _add(self, trial: FrozenTrial) -> None:
        self._independent |= independent_names(trial)
        if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        for name, distribution in trial.distributions.items():
            found = self._ranges.setdefault(name, [])
            if len(found) < 2 and distribution not in found:
                found.append(distribution)
        if trial.state == TrialState.COMPLETE:
            self._longest = max(self._longest, seconds_of(trial, datetime.datetime.now()))
        if not has_value(trial):
            return
        if not has_choice(trial):
            self._n_without_choice += 1
            return
        shared = self._shared if self._n_observations else trial.distributions
        self._shared = {name: d for name, d in shared.items() if trial.distributions.get(name) == d}
        self._n_observations += 1

    def _obstacle(self, joint: Distributions) -> str | None:
        if not self._n_observations:
            is_constant = self._n_without_choice > 0 and not any(map(self._varies, self._ranges))
            return "so far the objective has no parameter that varies" if is_constant else None
        unmodelled = self._unmodelled(joint)
        if unmodelled:
            one, names = len(unmodelled) == 1, ", ".join(map(repr, unmodelled))
            return (
                f"{names} {'is' if one else 'are'} not in every trial with the same range, and the model covers "
                "neither conditional parameters nor ranges that change"
            )
        if self._independent:
            one, names = len(self._independent) == 1, ", ".join(map(repr, sorted(self._independent)))
            return (
                f"{names} {'has' if one else 'have'} choices that the storage gives back as others (a tuple comes back "
                f"as a list), so {'it is' if one else 'they are'} sampled independently of the model"
            )
        return None

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

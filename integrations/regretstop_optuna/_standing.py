"""Whether what was decided of a study still holds, whatever its trials have shown since."""

import math
from collections.abc import Iterator

from optuna.study import Study, StudyDirection

from regretstop import Certificate, Observation, Patience, Rule
from regretstop.statement import Statement
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._digest import Digest, View
from regretstop_optuna._memory import Memory
from regretstop_optuna._write import attributes_of

# Two observations of one point differ by √2 σ, a deviation, and by more than three times that, with this sign, once in
# 740 pairs: few searches are reopened by a lucky score, and the bound is allowed on top.
_DEVIATIONS = 3.0 * math.sqrt(2.0)


def standing(study: Study, memory: Memory, view: View, rule: Rule | None = None) -> Certificate | None:
    """Return the last decision, of any rule or to the satisfaction of `rule`; None if there is none.

    A decision falls with what it rests on. One by a model falls once the study shows that its space is not the one that
    was modelled, after a resumption with another range or branch, say, or once a later trial is better than its bound
    allows. What needs no model is asked anew, which is free: patience may have to begin again, and what was met, a
    target or a deadline, still is. Of a decision by several rules each counts by itself if a rule asks, and else all
    that stopped have to stand.
    """

    def stands(trial: int, said: Statement, asked: Rule | None) -> bool:
        if trial >= len(view.trials):  # another process has just decided, or attributes were copied to fewer trials
            return False
        if said.guarantee == "none":
            return _is_still_met(sign_of(study), view, trial, said, asked)
        has_its_space = view.obstacle is None and _has_its_space(view, trial)
        return has_its_space and refuting(sign_of(study), view, said, trial) is None

    found = attributes.stored_decisions(attributes_of(study, memory), rule, stands)
    return found[-1].certificate if found else None


def sign_of(study: Study) -> float:
    """Return 1 where the values of the study are maximised, else −1."""
    return 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0


def refuting(sign: float, view: View, said: Statement, trial: int | None = None) -> Observation | None:
    """Return a feasible observation that was not seen, and is better than the bound and the noise allow; None if none.

    It need not be better by ε on top: the certificate says something false as soon as its bound is exceeded, and the
    rule, asked anew, may well find the study as good as before. Where the noise is not known, ε takes its place.

    Args:
        sign: Values times the sign are maximised.
        view: The trials.
        said: What a rule with a bound said.
        trial: Number of the trial after which it did; None if it is what it says now.
    """
    if said.incumbent_value is None:
        return None
    # A price per unit of cost is no difference of values.
    bound = 0.0 if said.measure == "improvement per cost" else said.bound
    limit = sign * said.incumbent_value + bound + _by_chance(said)
    return next((o for o, value in _unseen(view, said, trial) if sign * value > limit and _is_inside(view, o)), None)


def _by_chance(said: Statement) -> float:
    """Return by how much better than another trial one that is as good may look."""
    noise = math.nan if said.noise is None else math.hypot(said.noise.noise_std, said.noise.jitter_std)
    return _DEVIATIONS * noise if math.isfinite(noise) else said.epsilon


def _unseen(view: View, said: Statement, trial: int | None) -> Iterator[tuple[Observation, float]]:
    """Yield the feasible observations, with their values, since a decision, or since the last test of its schedule.

    Those that ended later need not have higher numbers, nor those that were added from elsewhere later times.
    """
    moment = math.inf
    if trial is not None:
        ended = view.trials[trial].datetime_complete
        moment = math.inf if ended is None else ended.timestamp()
    n_seen = 0
    for o in view.observations:
        if o.value is None or not math.isfinite(o.value):
            continue
        is_later = o.ended > moment or (trial is not None and o.number > trial)
        n_seen += not is_later
        if o.feasible and (is_later or n_seen > said.n_observations):
            yield o, o.value


def _is_inside(view: View, observation: Observation) -> bool:
    """Return whether the point lies in the space: of others no bound speaks."""
    return bool(view.tree.axes) and view.tree.space().contains(view.tree.to_space(observation.params))


def _is_still_met(sign: float, view: View, trial: int, said: Statement, asked: Rule | None) -> bool:
    """Return whether a rule that needs no model has nothing else to say.

    Args:
        sign: Values times the sign are maximised.
        view: The trials.
        trial: Number of the trial after which it decided.
        said: What it said.
        asked: The rule; None where only its name is known.
    """
    seen = None if asked is None else asked.look(view.observations, sign)
    if seen is not None:  # of another best trial it has something else to say
        return seen.stop and seen.incumbent == said.incumbent
    if said.rule != Patience.__name__ or said.incumbent_value is None:
        return True
    best = sign * said.incumbent_value
    return not any(sign * value > best for _, value in _unseen(view, said, trial))


def _has_its_space(view: View, trial: int) -> bool:
    """Return whether the space is the one that the trials showed when this one ended."""
    if not view.tree.has_branches and not view.since:  # what all trials share they shared before
        return True
    ended = view.trials[trial].datetime_complete
    # By timestamps: those of imported trials may have a time zone, which Optuna's own have not.
    before = [
        t for t in view.trials if t.datetime_complete and ended and t.datetime_complete.timestamp() <= ended.timestamp()
    ]
    return Digest().read(before).tree == view.tree

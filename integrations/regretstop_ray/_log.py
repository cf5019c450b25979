"""What is known about the trials of one experiment, shared by its searcher and its stoppers.

Tune pickles the searcher and the stopper into different files. After a restoration a plain reference from one to the
other would point to a copy that no trial is ever reported to, and the run would never stop. So both hold a log, every
log has an id, and unpickling a log whose id is alive in the process completes that one instead of making another.
"""

import math
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regretstop import GPUCB, Observation
from regretstop_ray._given import alike
from regretstop_ray._model import Model
from regretstop_ray._objective import number, time_in, value_in
from regretstop_ray._space import SearchSpace
from regretstop_ray._trial import TrialRecord
from regretstop_ray._watchers import Watchers

_VERSION = 1
_ALIVE: "weakref.WeakValueDictionary[str, TrialLog]" = weakref.WeakValueDictionary()


class TrialLog:
    """The trials of one experiment, the search space, and what the objective is.

    Attributes:
        trials: Records by trial id, in order of number.
        version: Grows with every change that a certificate could depend on.
        model: The model of the objective.
        space: The search space, None until it is known.
        metric: Name of the metric.
        mode: "min" or "max".
        max_t: Value of the time attribute at which a trial is complete; None if its own end decides.
        time_attr: Name of the time attribute.
        foreign: Id of a trial whose configuration is not one of the search space, if there was any.
        certificates: Every certificate, by the rule that made it and the number of trials that had ended.
        watchers: The stoppers, of this experiment and of others that the log has served in this process.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        space: SearchSpace | None = None,
        metric: str | None = None,
        mode: str | None = None,
    ) -> None:
        self.trials: dict[str, TrialRecord] = {}
        self.version = 0
        self.model = Model(options)
        self.space = space
        self.metric = metric
        self.mode = mode
        self.max_t: float | None = None
        self.time_attr = "training_iteration"
        self.foreign: str | None = None
        self.certificates: dict[tuple[str, int], dict[str, Any]] = {}
        self.watchers = Watchers()
        self._done: set[str] = set()
        self._uid = uuid.uuid4().hex
        _ALIVE[self._uid] = self

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any], dict[str, Any]]]:
        return _revived, (self._uid, self.model.options, self.get_state())

    def __deepcopy__(self, memo: dict[int, Any]) -> "TrialLog":
        copied = TrialLog(self.model.options)
        copied.complete_from(self.get_state())
        memo[id(self)] = copied
        return copied

    def get_state(self) -> dict[str, Any]:
        """Return what is known, as plain values and Tune's own domains."""
        return {
            "version": _VERSION,
            "trials": {trial_id: dict(vars(record)) for trial_id, record in self.trials.items()},
            "certificates": dict(self.certificates),
            "space": None if self.space is None else self.space.template,
            "metric": self.metric,
            "mode": self.mode,
            "max_t": self.max_t,
            "time_attr": self.time_attr,
            "foreign": self.foreign,
        }

    def complete_from(self, state: Mapping[str, Any]) -> None:
        """Take over what the state knows and the log does not.

        The files of a killed run may be of different age, so neither the state nor the log is always the newer one.

        Raises:
            ValueError: If the state has another version.
        """
        if state.get("version") != _VERSION:
            raise ValueError(f"the state must have version {_VERSION}, got {state.get('version')!r}")
        taken = {record.number for record in self.trials.values()}
        for trial_id, values in state["trials"].items():
            known = self.trials.get(trial_id)
            if known is None:
                free = values["number"] if values["number"] not in taken else self._next_number()
                self.trials[trial_id] = replace(TrialRecord(**values), number=free)
            elif known.state == "running":
                self.trials[trial_id] = replace(TrialRecord(**values), number=known.number)
        self.trials = dict(sorted(self.trials.items(), key=lambda item: item[1].number))
        self.certificates = {**state["certificates"], **self.certificates}
        if self.space is None and state["space"] is not None:
            self.space = SearchSpace(state["space"])
        if self.max_t is None:
            self.declare(state["max_t"], state["time_attr"])
        for name in ("metric", "mode", "foreign"):
            if getattr(self, name) is None:
                setattr(self, name, state[name])
        self.version += 1

    def declare(self, max_t: float | None, time_attr: str) -> None:
        """Take over when a trial is complete.

        Raises:
            ValueError: If it was declared otherwise before.
        """
        if max_t is None:
            return
        if self.max_t is not None and (self.max_t, self.time_attr) != (max_t, time_attr):
            raise ValueError(f"max_t was declared as {self.max_t!r} {self.time_attr} before, got {max_t!r} {time_attr}")
        self.max_t, self.time_attr = max_t, time_attr

    def begin(self) -> None:
        """Forget the running trials of an experiment that was ended: nobody evaluates their points any more.

        Where it is the same experiment that goes on, the state that Tune restores next brings them back.
        """
        self.watchers.experiment += 1
        self.trials = {trial_id: record for trial_id, record in self.trials.items() if record.state != "running"}

    def start(self, trial_id: str, config: Mapping[str, Any]) -> None:
        """Record that a trial is about to run, or that it does."""
        self.trials[trial_id] = TrialRecord(self._next_number(), config, ended_itself=trial_id in self._done)

    def runs_again(self, trial_id: str) -> None:
        """Record that a trial begins to run, which may have failed before."""
        if trial_id in self.trials and self.trials[trial_id].state == "failed":
            self.trials[trial_id].state = "running"
            self.version += 1

    def meet_foreign(self, trial_id: str) -> None:
        """Record that the configuration of a trial is not one of the search space."""
        if self.foreign is None:
            self.foreign = trial_id
            self.version += 1

    def compare(self, trial_id: str, config: Mapping[str, Any]) -> None:
        """Record whether the configuration with a result is that with the first one.

        Args:
            trial_id: Tune's id of a trial that was started.
            config: Its tunable part. Nothing is recorded if that is empty, or holds what no trial of the space has.
        """
        record = self.trials[trial_id]
        if not config or self.space is None or self.space.strange(config):
            return
        if record.reported is None:
            record.reported = config
        elif not record.has_changed and not alike(record.reported, config, hidden=False):
            record.has_changed = True
            self.version += 1

    def went_on(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Record a result after which Tune let the trial go on."""
        if trial_id in self.trials:
            record = self.trials[trial_id]
            record.went_on_at = time_in(result, self.time_attr)
            if record.state == "running":
                record.value = number(value_in(result, self.metric))

    def ends_itself(self, trial_id: str) -> None:
        """Record that the trial said that it is done; it may become known by this very result."""
        if trial_id in self.trials:
            self.trials[trial_id].ended_itself = True
        else:
            self._done.add(trial_id)

    def cut_short(self, trial_id: str) -> None:
        """Record that Tune ended a trial without a last result; forget one that never ran."""
        record = self.trials.get(trial_id)
        if record is None or record.state != "running":
            return
        if record.went_on_at is None and math.isnan(record.value):
            del self.trials[trial_id]  # nobody evaluates its point any more
            return
        record.is_cut_short = True
        self.finish(trial_id, record.value, record.went_on_at)

    def finish(self, trial_id: str, value: Any, time: Any = None, span: tuple[float, float] | None = None) -> None:
        """Record how a trial ended.

        Args:
            trial_id: Tune's id of a trial that was started.
            value: The metric; anything but a finite number is a failure.
            time: Value of the time attribute.
            span: When it started and ended, where that is known.
        """
        record = self.trials[trial_id]
        record.span = span
        record.is_watched = bool(self.watchers)
        record.ended_as = record.ended_as or self.n_ended + 1
        record.value, record.time = number(value), time
        record.state = "completed" if math.isfinite(record.value) else "failed"
        self.version += 1

    def add_evaluated(self, config: Mapping[str, Any], value: Any) -> None:
        """Record an evaluation from elsewhere, which is taken for one at full length."""
        trial_id = f"evaluated-{self._next_number()}"
        self.start(trial_id, config)
        self.ends_itself(trial_id)
        self.finish(trial_id, value, math.inf)

    def observations(self) -> list[Observation]:
        """Return the ended trials; those cut short have no value, failed ones NaN."""
        ended = [record for record in self.trials.values() if record.state != "running"]
        times = [r.time for r in ended if r.state == "completed" and r.time is not None and math.isfinite(r.time)]
        longest = max(times, default=0.0)
        return [
            Observation(self._params(r), self._observed(r, longest), r.number, float(r.ended_as or 0), r.span)
            for r in ended
        ]

    def pending(self) -> list[dict[str, Any]]:
        """Return the points that are being evaluated."""
        return [self._params(record) for record in self.trials.values() if record.state == "running"]

    def optimizer(self) -> GPUCB:
        """Return the model with the ended and the running trials; space and mode must be known.

        Raises:
            ValueError: If declared lengthscales do not fit the space.
        """
        assert self.space is not None
        assert self.mode is not None
        return self.model.of(self.space, self.mode, self.observations(), self.pending())

    def obstacle(self) -> str | None:
        """Return why the model does not describe the ended trials, None if it does."""
        if self.foreign is not None:
            return (
                f"trial {self.foreign} has no value for some parameter of the search space, which is not modelled (if "
                "the trainable takes it out of its configuration, let the stopper be among the callbacks, too)"
            )
        for trial_id, record in self.trials.items():
            if record.has_changed:
                return (
                    f"trial {trial_id} changed its configuration while it ran (population-based training): which of "
                    "them its value belongs to is not modelled"
                )
            # Where no stopper watched, nobody knows which trials ended themselves: the longest are taken for whole.
            if self.max_t is None and record.state == "completed" and record.is_watched and not record.is_whole:
                return (
                    f"trial {trial_id} was ended by a scheduler or a stop criterion at {self.time_attr} "
                    f"{record.time!r}: declare max_t, so that it is known which trials ran to their end"
                )
        return None

    @property
    def n_ended(self) -> int:
        """Number of trials that have ended."""
        return sum(record.state != "running" for record in self.trials.values())

    def _next_number(self) -> int:
        return 1 + max((record.number for record in self.trials.values()), default=-1)

    def _params(self, record: TrialRecord) -> dict[str, Any]:
        return self.space.params(record.config) if self.space is not None else {}

    def _observed(self, record: TrialRecord, longest: float) -> float | None:
        if record.state == "failed":
            return math.nan
        if self.max_t is None and (record.is_whole or record.is_cut_short):
            return record.value if record.is_whole else None
        # Without a declaration the longest runs pass for whole: good enough to search by, not to certify.
        return record.value if record.reaches(longest if self.max_t is None else self.max_t) else None


# Named in pickles: neither this function nor its module can be renamed.
def _revived(uid: str, options: Mapping[str, Any], state: Mapping[str, Any]) -> TrialLog:
    """Return the log with this id, completed by the state; a new one if none is alive."""
    log = _ALIVE.get(uid)
    if log is None:
        log = TrialLog(options)
        log._uid = uid  # pyright: ignore[reportPrivateUsage]
        _ALIVE[uid] = log
    log.complete_from(state)
    return log

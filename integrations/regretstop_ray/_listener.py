# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""What a stopper without a searcher learns of trials: from their results, and from Tune where it is a callback, too."""

from collections.abc import Mapping
from typing import Any

from ray.tune.experiment import Trial

from regretstop_ray._log import TrialLog
from regretstop_ray._logging import logger
from regretstop_ray._missing import warn_without_values
from regretstop_ray._objective import time_in, value_in
from regretstop_ray._trial import span_of

# So many trials without one at full length are reason to ask whether there will ever be one.
_SUSPICIOUS = 20
_HINT = (
    "If the trainable changes its configuration, or it holds functions or objects, let the stopper be a callback, too"
)


class Listener:
    """Tells a log of the trials that others chose.

    Args:
        log: The log; space, metric and mode are known.
    """

    def __init__(self, log: TrialLog) -> None:
        self._log = log
        self._running: dict[str, Trial] = {}
        self._seen: set[str] = set()
        self._warned: set[str] = set()

    def begins(self, trial: Trial) -> None:
        """Note that a trial begins to run, for the first time or after an error."""
        self._running[trial.trial_id] = trial
        self._log.runs_again(trial.trial_id)

    def hears(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Read a result, as a stopper sees it."""
        log, done = self._log, bool(result.get("done"))
        self._seen.add(trial_id)
        if not self._knows(trial_id, result):
            return
        if log.trials[trial_id].state != "running":
            return
        time = time_in(result, log.time_attr)
        if done:
            log.ends_itself(trial_id)
        if done or (log.max_t is not None and time is not None and time >= log.max_t):
            log.finish(trial_id, value_in(result, log.metric), time, span_of(result))
            warn_without_values(log, trial_id, result)
        else:
            log.went_on(trial_id, result)
        self._warn_of_lengths()

    def ends(self, trial: Trial) -> None:
        """Note that Tune has ended a trial; where that is not by its last result, it was cut short."""
        self._running.pop(trial.trial_id, None)
        self._log.cut_short(trial.trial_id)

    def fails(self, trial: Trial) -> None:
        """Note that a trial has failed, whatever it has reported before."""
        if self._knows(trial.trial_id, {}):
            self._log.finish(trial.trial_id, None)
        self._running.pop(trial.trial_id, None)

    def _knows(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Record a trial that is new, and whether its configuration is still the same; False if it is foreign."""
        log, trial = self._log, self._running.get(trial_id)
        assert log.space is not None
        # What the worker reports is its own copy, which the trainable may have changed, and holds copies of objects.
        values, prefix = (result, ("config",)) if trial is None else (trial.config, ())
        config = log.space.nested(values, prefix)
        if trial_id not in log.trials:
            if not config:
                log.meet_foreign(trial_id)
                return False
            self._warn_of_strange(trial_id, config)
            log.start(trial_id, config)
        log.compare(trial_id, config)
        return True

    def _warn_of_strange(self, trial_id: str, config: Mapping[str, Any]) -> None:
        assert self._log.space is not None
        for name, value in self._log.space.strange(config).items():
            self._warn(
                "config",
                f"Trial {trial_id} has {value!r} for {name!r}, which is none of its values in the search space: such "
                "trials are left out. If the trainable changes its configuration, or that holds functions or objects, "
                "let the stopper be among the callbacks, too.",
            )

    def _warn_of_lengths(self) -> None:
        log = self._log
        if log.max_t is None:
            if len(self._seen) >= _SUSPICIOUS and not log.n_ended:
                self._warn(
                    "length",
                    f"None of {len(self._seen)} trials has ended by itself, and only such trials are taken for "
                    "complete: if a scheduler or another criterion ends them, declare max_t.",
                )
        elif log.n_ended >= _SUSPICIOUS and not any(record.reaches(log.max_t) for record in log.trials.values()):
            self._warn(
                "length",
                f"None of {log.n_ended} trials that have ended has come to {log.time_attr} {log.max_t!r}, which was "
                "declared as max_t, and only such trials are taken for complete.",
            )

    def _warn(self, about: str, text: str) -> None:
        """Say it once."""
        if about not in self._warned:
            self._warned.add(about)
            logger.warning(text)

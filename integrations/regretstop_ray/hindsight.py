# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""What a rule would have said of an experiment that is over."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray.tune import ExperimentAnalysis, ResultGrid

from regretstop import Observation, Replay, Rule, Schedule, Space, Surrogate
from regretstop import replay as replay_observations
from regretstop.rules import resolve_rule
from regretstop_ray._log import TrialLog
from regretstop_ray._objective import ForeignStateError, check_objective, number, value_in
from regretstop_ray._space import SearchSpace
from regretstop_ray.report import Source, stored_record
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper


def replay(
    source: Source,
    rule: Rule | None = None,
    *,
    epsilon: float | None = None,
    delta: float = 0.05,
    space: Mapping[str, Any] | None = None,
    metric: str | None = None,
    mode: str | None = None,
    surrogate: Surrogate | None = None,
    best_possible: float | None = None,
    after_stop: Schedule | None = None,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Return what a rule would have said after each trial of an experiment had ended, and store nothing.

        found = replay(tuner.fit(), epsilon=0.01, space=param_space)
        print(found.stop, found.n_saved, found.certificates[-1])

    Whatever search algorithm chose the points. Trials that failed are left out of every fit, and counted. So are those
    that were cut short: where nobody declared `max_t`, trials that went less far than the longest ones.

    Args:
        source: The stopper, the searcher, what `Tuner.fit()` returned, or the experiment's directory.
        rule: A stopping rule; it overrides the two numbers.
        epsilon: ε in the metric's units; needed unless a rule is given.
        delta: δ in (0, 1).
        space: The search space, as for `tune.Tuner(param_space=...)`; needed where the experiment had no `GPUCBSearch`,
            since Tune does not keep it.
        metric: Name of the metric; needed where Tune's results do not tell.
        mode: "min" or "max"; likewise.
        surrogate: The model; that of the stopper or the searcher by default, else a `GaussianProcess`.
        best_possible: The best value that the metric could ever have; that of the stopper or the searcher by default.
        after_stop: As for `regretstop.replay`: when the rule is asked after the stop, where nothing is decided.
        progress: Called with the number of trials that have been replayed.

    Raises:
        ValueError: If ε or δ is out of its range, space, metric or mode are not known, no trial has ended, or the space
            is none that can be modelled; the reason is named.
    """
    rule = resolve_rule(epsilon, delta, rule)
    check_objective(metric, mode)
    seconds: dict[str, float] = {}
    options: Mapping[str, Any] = {}
    given: dict[str, Any] = {"surrogate": surrogate, "best_possible": best_possible}
    given = {name: value for name, value in given.items() if value is not None}
    if isinstance(source, RegretBoundStopper | GPUCBSearch):
        log = source.log
        options = log.model.options
    else:
        trials = ended_trials(source, metric, mode)
        seconds = {trial.trial_id: trial.seconds for trial in trials.trials}
        searched = None if space is not None else searcher_of(trials.directory)
        if searched is None:
            return _of_results(trials, space, rule, given, after_stop, progress)
        log, options = searched.log, searched.restored_options or options
    is_own = not (isinstance(source, RegretBoundStopper) and source.is_alone)
    return _of_log(log, seconds, rule, {**options, **given, "own_points": is_own}, after_stop, progress)


@dataclass(frozen=True)
class EndedTrial:
    """One trial, as its last result tells.

    Attributes:
        trial_id: Tune's id.
        config: Its configuration, nested.
        value: The metric; NaN where it failed, None where it was cut short.
        ended: When, in seconds.
        seconds: How long it took.
    """

    trial_id: str
    config: Mapping[str, Any]
    value: float | None
    ended: float
    seconds: float


@dataclass(frozen=True)
class EndedTrials:
    """The trials of an experiment that is over.

    Attributes:
        trials: In the order in which they began.
        metric: Name of the metric.
        mode: "min" or "max".
        directory: Where the experiment keeps its files, if that is on this machine.
        n_cut_short: How many trials went less far than the longest.
    """

    trials: Sequence[EndedTrial]
    metric: str
    mode: str
    directory: Path | None
    n_cut_short: int


def ended_trials(source: ResultGrid | str | Path, metric: str | None, mode: str | None) -> EndedTrials:
    """Return the trials of an experiment that is over.

    Args:
        source: What `Tuner.fit()` returned, or the experiment's directory.
        metric: Name of the metric; None for what Tune, or the package's record, knows.
        mode: "min" or "max"; likewise.

    Raises:
        ValueError: If metric or mode are not known, or no trial has a result.
    """
    grid = source if isinstance(source, ResultGrid) else ResultGrid(ExperimentAnalysis(str(source)))
    analysis: Any = grid._experiment_analysis  # pyright: ignore[reportPrivateUsage]
    record = stored_record(grid)
    metric = metric or analysis.default_metric or record.get("metric")
    mode = mode or analysis.default_mode or record["mode"]
    if metric is None or mode is None:
        raise ValueError(f"metric and mode must be given, since the results do not tell: got {metric=}, {mode=}")
    # Tune's own results have no id of a trial that failed before it reported anything.
    # Tune reads them from a directory in any order, and rounds what it calls a timestamp.
    # One without a result and without an error was running when the experiment ended: it was never observed.
    seen = [i for i in range(len(analysis.trials)) if grid[i].error is not None or _length(grid[i])]
    order = sorted(seen, key=lambda i: _times(analysis.trials[i]))
    trials = [_trial(analysis.trials[i], grid[i], metric) for i in order]
    lengths = [length for _, length in trials]
    longest = max(lengths, default=0)
    ended = [
        trial if length == longest or trial.value is None or not math.isfinite(trial.value) else _cut_short(trial)
        for trial, length in trials
    ]
    if not any(trial.value is not None and math.isfinite(trial.value) for trial in ended):
        raise ValueError(f"no trial of {grid.experiment_path} ended with a finite {metric!r}")
    local = Path(grid.experiment_path)
    n_cut_short = sum(trial.value is None for trial in ended)
    return EndedTrials(ended, metric, mode, local if local.is_dir() else None, n_cut_short)


def _times(trial: Any) -> tuple[float, float, str]:
    """Return when a trial began and reported last, and its id, which orders what was at the same time."""
    known = trial.run_metadata
    return known.start_time or 0.0, known.last_result_time or 0.0, trial.trial_id


def _trial(trial: Any, result: Any, metric: str) -> tuple[EndedTrial, int]:
    """Return a trial, and how many results it reported."""
    metrics: Mapping[str, Any] = result.metrics or {}
    value = math.nan if result.error is not None else number(value_in(metrics, metric))
    ended = EndedTrial(
        trial.trial_id,
        trial.config,
        value,
        _times(trial)[1],
        float(metrics.get("time_total_s", 0.0)),
    )
    return ended, _length(result)


def _length(result: Any) -> int:
    """Return how many results a trial reported."""
    return int((result.metrics or {}).get("training_iteration", 0))


def _cut_short(trial: EndedTrial) -> EndedTrial:
    return EndedTrial(trial.trial_id, trial.config, None, trial.ended, trial.seconds)


def searcher_of(directory: Path | None) -> GPUCBSearch | None:
    """Return the searcher of an experiment, as it was saved; None if it had none of ours."""
    if directory is None or not stored_record(directory)["trials"] or not any(directory.glob("searcher-state-*.pkl")):
        return None
    search = GPUCBSearch()
    try:
        search.restore_from_dir(str(directory))
    except ForeignStateError:  # another searcher's, beside which a stopper of ours wrote the record
        return None
    return search


def _of_results(
    found: EndedTrials,
    space: Mapping[str, Any] | None,
    rule: Rule,
    options: Mapping[str, Any],
    after_stop: Schedule | None,
    progress: Callable[[int], None] | None,
) -> Replay:
    if space is None:
        raise ValueError("space must be given for an experiment without a GPUCBSearch: Tune does not keep it")
    searched = SearchSpace(space)
    observations = [
        Observation(searched.params(trial.config), trial.value, number, trial.ended)
        for number, trial in enumerate(found.trials)
    ]
    return _replayed(
        observations,
        searched.space,
        found.mode,
        [t.seconds for t in found.trials],
        rule,
        options,
        after_stop,
        progress,
    )


def _of_log(
    log: TrialLog,
    seconds: Mapping[str, float],
    rule: Rule,
    options: Mapping[str, Any],
    after_stop: Schedule | None,
    progress: Callable[[int], None] | None,
) -> Replay:
    obstacle = log.obstacle()
    if obstacle is not None or log.space is None or log.mode is None or not log.n_ended:
        raise ValueError(f"the experiment cannot be replayed: {obstacle or 'too few observations: none yet'}")
    observations = log.observations()
    by_number = {record.number: trial_id for trial_id, record in log.trials.items()}
    # An evaluation from elsewhere cost this experiment nothing.
    took = [seconds.get(by_number[o.number], 0.0) for o in observations] if seconds else []
    return _replayed(observations, log.space.space, log.mode, took, rule, options, after_stop, progress)


def _replayed(
    observations: Sequence[Observation],
    space: Space,
    mode: str,
    seconds: Sequence[float],
    rule: Rule,
    options: Mapping[str, Any],
    after_stop: Schedule | None,
    progress: Callable[[int], None] | None,
) -> Replay:
    return replay_observations(
        observations,
        space,
        rule=rule,
        direction="maximize" if mode == "max" else "minimize",
        seconds=seconds,
        after_stop=after_stop,
        progress=progress,
        **options,
    )

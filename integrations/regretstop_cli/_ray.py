"""A Ray Tune experiment, from its directory."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from regretstop import Observation, Replay, Rule, Schedule
from regretstop import replay as replay_observations
from regretstop_cli._ranges import space_of
from regretstop_cli._sources import Progress, Search, reading

_MODES = {"minimize": "min", "maximize": "max", None: None}


def ray_search(
    directory: Path,
    *,
    metric: str | None,
    direction: str | None,
    ranges: Sequence[str],
    best_possible: float | None,
) -> Search:
    """Return the search of an experiment.

    Args:
        directory: Of the experiment.
        metric: Name of the metric; None where the experiment tells.
        direction: Likewise.
        ranges: Declared ranges, for an experiment without a `GPUCBSearch`.
        best_possible: The best value that the objective could ever have; None where it is not known.

    Raises:
        ValueError: If Ray cannot read it, metric or direction are not known, or no trial has ended.
    """
    if not any(directory.glob("experiment_state*.json")):
        raise ValueError(f"{str(directory)!r} is no directory of a Ray Tune experiment")
    from ray.tune import ExperimentAnalysis, ResultGrid
    from regretstop_ray import replay
    from regretstop_ray.hindsight import ended_trials, searcher_of

    with reading(str(directory)):
        grid = ResultGrid(ExperimentAnalysis(str(directory.resolve())))
    found = ended_trials(grid, metric, _MODES[direction])
    notes: list[str] = []
    if found.n_cut_short:
        notes.append(f"{found.n_cut_short} trials went less far than the longest, and are left out as cut short")
    name = f"experiment {directory.resolve().name!r}"
    if searcher_of(found.directory) is not None:
        if ranges:
            raise ValueError("the experiment's GPUCBSearch knows the search space: leave --range out")

        def run(rule: Rule, after_stop: Schedule, progress: Progress) -> Replay:
            return replay(
                directory.resolve(), rule, best_possible=best_possible, after_stop=after_stop, progress=progress
            )

        return Search(name, len(found.trials), found.metric, notes, run)
    rows = [dict(_flat(trial.config)) for trial in found.trials]
    names = {name for row in rows for name in row}
    if not any(names == row.keys() for row in rows):
        raise ValueError(
            f"no trial of {name} has all of {', '.join(map(repr, sorted(names)))}, and a directory does not tell on "
            "what a parameter depends: use regretstop_ray.replay(results, epsilon=..., space=param_space)"
        )
    space, said = space_of(rows, ranges)
    observations = [
        Observation(row, trial.value, number, trial.ended)
        for number, (row, trial) in enumerate(zip(rows, found.trials, strict=True))
    ]
    seconds = [trial.seconds for trial in found.trials]

    def run_seen(rule: Rule, after_stop: Schedule, progress: Progress) -> Replay:
        return replay_observations(
            observations,
            space,
            rule=rule,
            direction="maximize" if found.mode == "max" else "minimize",
            seconds=seconds if math.fsum(seconds) > 0.0 else (),
            after_stop=after_stop,
            progress=progress,
            best_possible=best_possible,
        )

    return Search(name, len(rows), found.metric, [*notes, *said], run_seen)


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return the values of a nested configuration, with their keys joined by "/"."""
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            found += _flat(cast("Mapping[str, Any]", value), f"{prefix}{key}/")
        else:
            is_plain = value is None or isinstance(value, bool | int | float | str)
            found.append((f"{prefix}{key}", value if is_plain else repr(value)))
    return found

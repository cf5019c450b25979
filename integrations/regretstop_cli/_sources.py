"""Where a search that is over is read from."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from regretstop import Replay, Rule, Schedule

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Search:
    """A search that is over.

    Attributes:
        name: What it is called in the answer.
        n_trials: How many trials have ended.
        objective: What its values are.
        notes: What the reader of the answer has to know about how it was read.
        replay: Asks a rule about it, after the stop by a schedule, and tells how far it is.
    """

    name: str
    n_trials: int
    objective: str
    notes: Sequence[str]
    replay: Callable[[Rule, Schedule, Progress], Replay]


@contextmanager
def reading(name: str) -> Generator[None, None, None]:
    """Name what is read where a framework or a driver cannot read it, whatever they raise.

    Args:
        name: What the user calls it.

    Raises:
        ValueError: In place of every error, with the first line of its words.
    """
    try:
        yield
    except Exception as error:
        words = f"{name!r} cannot be read: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if "readonly database" in words:
            # Of an old version of Optuna, or left by a process that was killed while it wrote.
            words += ". It has to be mended by a write, and a check only reads: load the study in Optuna once"
        raise ValueError(words) from error


def open_search(
    storage: str,
    study: str | None,
    *,
    value: str | None,
    direction: str | None,
    ranges: Sequence[str],
    best_possible: float | None = None,
) -> Search:
    """Return the search that is kept somewhere.

    Args:
        storage: An Optuna storage, a directory of Ray Tune, or a CSV file.
        study: Name of an Optuna study.
        value: Name of the objective's column or metric.
        direction: "minimize" or "maximize"; None where the place knows it.
        ranges: Declared ranges, as on the command line.
        best_possible: The best value that the objective could ever have; None where it is not known.

    Raises:
        ValueError: If there is no search, several, or one that cannot be read.
    """
    path = Path(storage)
    is_url = "://" in storage
    if not is_url and not path.exists():
        raise ValueError(f"{storage!r} does not exist: give an Optuna storage, a Ray Tune directory or a CSV file")
    is_csv = not is_url and path.suffix.lower() in (".csv", ".tsv")
    is_ray = not is_url and path.is_dir()
    if not (is_csv or is_ray):
        unasked = {"--value": value, "--direction": direction, "--range": ranges or None}
        given = [name for name, each in unasked.items() if each is not None]
        if given:
            raise ValueError(f"an Optuna study knows {', '.join(given)} itself: leave it out")
        from regretstop_cli._optuna import optuna_search

        return optuna_search(storage, study, best_possible)
    if study is not None:
        raise ValueError(f"only an Optuna storage has studies, got study={study!r} of {storage!r}")
    if is_csv:
        from regretstop_cli._csv import csv_search

        return csv_search(path, value=value or "value", direction=direction, ranges=ranges, best_possible=best_possible)
    from regretstop_cli._ray import ray_search

    return ray_search(path, metric=value, direction=direction, ranges=ranges, best_possible=best_possible)

"""An Optuna study, in whatever storage."""

from typing import Any

from regretstop import Replay, Rule, Schedule
from regretstop_cli._sources import Progress, Search, reading

_SQLITE = b"SQLite format 3\0"


def optuna_search(storage: str, study_name: str | None, best_possible: float | None) -> Search:
    """Return the search of a study.

    Args:
        storage: A URL, an SQLite file, or a journal file.
        study_name: Which study; None for the only one.
        best_possible: The best value that the objective could ever have; None where it is not known.

    Raises:
        ValueError: If there is no such storage, Optuna cannot read it, or there is no such study.
    """
    import optuna
    from regretstop_optuna import replay

    # A bar of our own says how far it is.
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    opened = _storage(storage)
    with reading(storage):
        names = optuna.get_all_study_names(opened)
    if study_name is None and len(names) != 1:
        raise ValueError(f"{storage!r} has {len(names)} studies, name one: {', '.join(map(repr, names))}")
    chosen = names[0] if study_name is None else study_name
    if chosen not in names:
        raise ValueError(f"{storage!r} has no study {chosen!r}, but {', '.join(map(repr, names)) or 'none'}")
    with reading(storage):
        study = optuna.load_study(study_name=chosen, storage=opened)
        trials = study.get_trials(deepcopy=False)
    n_running = sum(not trial.state.is_finished() for trial in trials)
    n_trials = len(trials) - n_running
    notes = [f"{n_running} trials have not ended, and are left out"] if n_running else []

    def run(rule: Rule, after_stop: Schedule, progress: Progress) -> Replay:
        return replay(study, rule, best_possible=best_possible, after_stop=after_stop, progress=progress)

    metric_names = study.metric_names
    return Search(f"study {chosen!r}", n_trials, metric_names[0] if metric_names else "objective", notes, run)


def _storage(storage: str) -> Any:
    """Return the storage, which has to be there and Optuna's: Optuna would make a new one where there is none."""
    from regretstop_optuna.versions import journal

    from regretstop_cli._database import check_tables, file_url, given_url

    if "://" in storage:
        url = given_url(storage)
    else:
        with open(storage, "rb") as file:
            head = file.read(len(_SQLITE))
        if head != _SQLITE:
            if not head.lstrip().startswith(b"{"):
                raise ValueError(f"{storage!r} is neither an SQLite database nor a journal of Optuna, nor a CSV file")
            with reading(storage):
                return journal(storage)
        url = file_url(storage)
    check_tables(url, storage)
    return url.render_as_string(hide_password=False)

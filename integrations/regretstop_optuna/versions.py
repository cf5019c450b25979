"""What has another name, or none, in some of the versions of Optuna that are supported, in one place."""

from pathlib import Path

from optuna.storages import JournalStorage

try:
    from optuna.storages.journal import JournalFileBackend
except ImportError:  # before Optuna 4
    from optuna.storages import JournalFileStorage as JournalFileBackend


def journal(path: str | Path) -> JournalStorage:
    """Return the journal that is kept in a file."""
    return JournalStorage(JournalFileBackend(str(path)))

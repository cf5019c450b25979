import logging
from collections.abc import Iterator

import optuna
import pytest


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep Optuna's own report of each trial out of the output."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def at(self, level: int) -> list[str]:
        return [r.getMessage() for r in self.records if r.levelno == level]


@pytest.fixture
def log() -> Iterator[_Log]:
    """What the package logs, as a user sees it with Optuna's default verbosity."""
    optuna.logging.set_verbosity(optuna.logging.INFO)
    handler = _Log()
    logger = logging.getLogger("regretstop_optuna")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)

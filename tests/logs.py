"""What a package logs, as its users would see it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class Log(logging.Handler):
    """Keeps the records of a logger."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record."""
        self.records.append(record)

    def at(self, level: int) -> list[str]:
        """Return the messages of one level."""
        return [r.getMessage() for r in self.records if r.levelno == level]


@contextmanager
def captured(name: str) -> Iterator[Log]:
    """Capture what the logger with this name says."""
    handler = Log()
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)

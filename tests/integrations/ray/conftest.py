import logging
import os
from collections.abc import Iterator

import pytest

pytest.importorskip("ray")

import ray


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """One local Ray for all tests that run experiments."""
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"  # its tables of each trial only lengthen the log
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)
    yield
    ray.shutdown()


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
    """What the package logs."""
    handler = _Log()
    logger = logging.getLogger("regretstop_ray")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)

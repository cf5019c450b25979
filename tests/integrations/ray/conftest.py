import logging
import os
from collections.abc import Iterator

import pytest

pytest.importorskip("ray")

import ray

from tests.logs import Log, captured


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """One local Ray for all tests that run experiments."""
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"  # its tables of each trial only lengthen the log
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)
    yield
    ray.shutdown()


@pytest.fixture
def log() -> Iterator[Log]:
    """What the package logs."""
    logger = logging.getLogger("regretstop_ray")
    before = logger.level
    logger.setLevel(logging.INFO)
    with captured(logger.name) as handler:
        yield handler
    logger.setLevel(before)

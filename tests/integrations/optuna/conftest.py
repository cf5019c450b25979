from collections.abc import Iterator

import optuna
import pytest

from tests.logs import Log, captured


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep Optuna's own report of each trial out of the output."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture
def log() -> Iterator[Log]:
    """What the package logs, as a user sees it with Optuna's default verbosity."""
    optuna.logging.set_verbosity(optuna.logging.INFO)
    with captured("regretstop_optuna") as handler:
        yield handler

"""The database of a study, which is looked at before Optuna is given it: Optuna makes the tables that it misses."""

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from regretstop_cli._sources import reading

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_TABLES = frozenset({"studies", "version_info"})


def file_url(path: str, driver: str = "sqlite", options: dict[str, str | tuple[str, ...]] | None = None) -> "URL":
    """Return the URL under which an SQLite file is read, and neither made nor written.

    Args:
        path: The file. All characters stand for themselves.
        driver: As URLs of SQLAlchemy begin.
        options: Of the driver, and of SQLite.
    """
    from sqlalchemy.engine import URL

    # As SQLite's own URI, where % and ? are quoted: versions of SQLAlchemy differ in whether they unquote a path.
    uri = f"file:{quote(os.path.abspath(path))}"
    return URL.create(driver, database=uri, query={**(options or {}), "uri": "true", "mode": "ro"})


def given_url(address: str) -> "URL":
    """Return the URL that a user gave; one of an SQLite file for reading only.

    Args:
        address: In SQLAlchemy's form.

    Raises:
        ValueError: If it is no URL, or there is no such file.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.util import asbool

    with reading(address):
        url = make_url(address)
    if url.get_backend_name() != "sqlite":
        return url
    path = url.database or ""
    if path.startswith("file:") and asbool(url.query.get("uri", "false")):
        path = unquote(path.removeprefix("file:").removeprefix("//").partition("?")[0])
    if not Path(path).is_file():
        raise ValueError(f"{path!r} does not exist")
    return file_url(path, url.drivername, dict(url.query))


def check_tables(url: "URL", name: str) -> None:
    """Raise where a database is not Optuna's.

    Args:
        url: Of the database.
        name: What the user calls it.

    Raises:
        ValueError: If it cannot be read, or lacks Optuna's tables.
    """
    import sqlalchemy

    with reading(name):
        engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
        tables = sqlalchemy.inspect(engine).get_table_names()
    if not _TABLES.issubset(tables):
        raise ValueError(f"{name!r} is a database, but not Optuna's: it has no tables {' and '.join(sorted(_TABLES))}")

"""A check reads: it makes no file and no table, and a source that cannot be read is named in one line."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from regretstop_cli.app import app
from typer.testing import CliRunner


def checked(place: str | Path) -> Any:
    return CliRunner().invoke(app, ["check", str(place), "--epsilon", "100"])


def error_of(place: str | Path) -> str:
    done = checked(place)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def changed(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("databases") / "study.db"
    study = optuna.create_study(storage=f"sqlite:///{path}", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", -1.0, 1.0) ** 2, n_trials=12)
    return path


@pytest.mark.parametrize("name", ["per%20cent.db", "q?x=1.db", "h#x.db", "sp ace.db", "b{0}.db", "+&.db", "ü.db"])
def test_a_name_stands_for_itself(database: Path, tmp_path: Path, name: str) -> None:
    shutil.copy(database, tmp_path / name)
    before = bytes_in(tmp_path)
    assert checked(tmp_path / name).exit_code == 0
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "sqlite:///{}?timeout=5", "sqlite:///file:{}?uri=true"])
def test_a_database_of_others_stays_as_it_is(tmp_path: Path, form: str) -> None:
    """MLflow's has a table of Alembic's too."""
    path = tmp_path / "mlflow.db"
    changed(path, "CREATE TABLE experiments (id INTEGER)", "CREATE TABLE alembic_version (version_num TEXT)")
    before = bytes_in(tmp_path)
    assert "is a database, but not Optuna's" in error_of(form.format(path))
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize(
    "form", ["sqlite:///{}/no.db", "sqlite:///file:{}/no.db?uri=true&mode=rwc", "sqlite:///file:{}/no.db", "{}/no.db"]
)
def test_no_file_is_made(tmp_path: Path, form: str) -> None:
    assert "no.db' does not exist" in error_of(form.format(tmp_path))
    assert not list(tmp_path.iterdir())


def older(path: Path) -> None:
    changed(path, "UPDATE alembic_version SET version_num = 'v2.4.0.a'")


def without_a_table(path: Path) -> None:
    """As before Optuna had heartbeats: it would make the table."""
    changed(path, "DROP TABLE trial_heartbeats")


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def without_its_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20_000])


def garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5000)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (older, "optuna storage upgrade"),
        (without_a_table, "load the study in Optuna once"),
        (cut_off, "malformed"),
        (without_its_end, "malformed"),
        (garbage, "file is not a database"),
    ],
)
def test_a_database_that_cannot_be_read_is_named_and_left(
    database: Path, tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "damaged.db"
    shutil.copy(database, path)
    damage(path)
    before = bytes_in(tmp_path)
    said = error_of(path)
    assert f"{str(path)!r} cannot be read" in said
    assert words in said
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize("line", ['{"a":1}', '{"op_code":0}', '{"a":1', "{} []"])
def test_a_journal_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.log"
    path.write_text(f"{line}\n{line}\n")
    assert f"{str(path)!r} cannot be read" in error_of(path)


@pytest.mark.parametrize("url", ["foo://host/db", "redis://host/db", "://", "no-driver+x://host/db"])
def test_a_url_that_nothing_reads_is_named(url: str) -> None:
    assert f"{url!r} cannot be read" in error_of(url)


@pytest.mark.parametrize("state", ["{}", '{"a":'])
def test_an_experiment_that_cannot_be_read_is_named(tmp_path: Path, state: str) -> None:
    pytest.importorskip("ray.tune")
    (tmp_path / "experiment_state-1.json").write_text(state)
    assert f"{str(tmp_path)!r} cannot be read" in error_of(tmp_path)

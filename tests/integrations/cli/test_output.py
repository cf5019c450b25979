"""Where answers are written: encodings, narrow terminals, and files that cannot be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from regretstop_cli.app import app
from typer.testing import CliRunner

BOUND = ["bound", "--t", "20", "--posterior-std", "0.01", "--noise-std", "0.01", "--dim", "4"]


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("output") / "ü.csv"
    path.write_text("größe,value\n" + "".join(f"{i},{-((i - 3) ** 2)}\n" for i in range(9)), encoding="utf-8")
    return ["check", str(path), "--direction", "maximize", "--epsilon", "100"]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_letters_that_an_encoding_lacks_are_no_error(arguments: list[str], encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "regretstop_cli", *arguments]
    done = subprocess.run(command, capture_output=True, encoding=encoding, check=True, env=environment)
    assert "UCBbr, ? = 100" in done.stdout
    done = subprocess.run(
        [*command, "--json", "-"], capture_output=True, encoding=encoding, check=True, env=environment
    )
    assert json.loads(done.stdout)["search"] == "file 'ü.csv'"
    assert "UCBbr, ? = 100" in done.stderr


@pytest.mark.parametrize("width", [20, 49, 50, 80])
def test_nothing_is_lost_on_a_narrow_terminal(arguments: list[str], width: int) -> None:
    runner = CliRunner(env={"COLUMNS": str(width)})
    said = " ".join(runner.invoke(app, arguments).stdout.split())
    for words in ("9 trials", "It would have stopped", "nothing is certified: so far", "ε = 100, δ = 0.05"):
        assert words in said
    said = " ".join(runner.invoke(app, BOUND).stdout.split())
    for words in ("0.140653", "sqrt_alpha", "259.356"):
        assert words in said


@pytest.mark.parametrize("option", ["--html", "--json"])
@pytest.mark.parametrize("path", ["/proc/x", "/dev/null/x", "{}/no/x", "{}"])
def test_a_file_that_cannot_be_written_is_named_before_the_work(
    arguments: list[str], tmp_path: Path, option: str, path: str
) -> None:
    path = path.format(tmp_path)
    done = CliRunner().invoke(app, [*arguments, option, path])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"regretstop: {option} {path!r} cannot be written: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_written_in_the_end_is_named(arguments: list[str]) -> None:
    """A full disk, which no test before the work can tell."""
    for command in ([*arguments, "--html", "/dev/full"], [*arguments, "--json", "/dev/full"]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1].endswith("'/dev/full' cannot be written: No space left on device")
    done = CliRunner().invoke(app, [*BOUND, "--json", "/proc/x"])
    assert done.exit_code == 2
    assert done.stderr.startswith("regretstop: --json '/proc/x' cannot be written: ")


def test_the_test_before_the_work_leaves_files_as_they_are(arguments: list[str], tmp_path: Path) -> None:
    old, link = tmp_path / "old.json", tmp_path / "link.json"
    old.write_text("old")
    link.symlink_to(tmp_path / "new.json")
    for path in (old, link):
        wrong = CliRunner().invoke(app, [*arguments, "--range", "no=0:1", "--json", str(path)])
        assert wrong.exit_code == 2
    assert old.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["link.json", "old.json"]
    assert CliRunner().invoke(app, [*arguments, "--json", str(link)]).exit_code == 0
    assert json.loads((tmp_path / "new.json").read_text("utf-8"))["search"] == "file 'ü.csv'"

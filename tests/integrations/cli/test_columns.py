"""What a CSV file's columns are taken for, and that it is said."""

import math
from pathlib import Path
from typing import Any

import pytest
from regretstop_cli._sources import Search, open_search
from regretstop_cli.app import app
from typer.testing import CliRunner

from regretstop import Every, Replay, UCBbr

N = 24


def table(folder: Path, **columns: Any) -> Path:
    """Write x, value and these columns: of each a list, or what a row has by its number."""
    everything = {"x": lambda i: i / N, "value": lambda i: -((i - 9) ** 2), **columns}
    lines = [",".join(f'"{name}"' for name in everything)]
    for i in range(N):
        lines.append(",".join(f'"{each(i) if callable(each) else each[i]}"' for each in everything.values()))
    path = folder / "t.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def opened(path: Path, *ranges: str) -> Search:
    return open_search(str(path), None, value=None, direction="maximize", ranges=ranges)


def replayed(search: Search) -> Replay:
    return search.replay(UCBbr(epsilon=1000.0), Every(), lambda n: None)


def names_of(search: Search) -> list[str]:
    return list(replayed(search).optimizer.space)


def notes_of(search: Search) -> list[str]:
    """Return what is said beside that ranges are not known."""
    return [note for note in search.notes if not note.startswith("the ranges of")]


def error_of(path: Path, *arguments: str) -> str:
    options = ["--epsilon", "1000", "--direction", "maximize", *arguments]
    done = CliRunner().invoke(app, ["check", str(path), *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr
    return done.stderr


# ---- What is no parameter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "one without a name"),
        ("Unnamed: 0", "one without a name"),
        *(
            (name, repr(name))
            for name in ("number", "Trial", "trial_id", "trial_number", "DURATION", "Run ID", "_step")
        ),
    ],
)
def test_what_numbers_or_times_trials_is_left_out_and_named(tmp_path: Path, name: str, shown: str) -> None:
    search = opened(table(tmp_path, **{name: lambda i: i + 0.5}))
    assert names_of(search) == ["x"]
    assert notes_of(search) == [
        f"columns are left out, as what numbers, names or times the trials: {shown}. --range makes one a parameter"
    ]


def test_texts_that_all_differ_name_trials(tmp_path: Path) -> None:
    search = opened(table(tmp_path, hash=lambda i: f"{i:03}abc", layers=lambda i: i))
    assert names_of(search) == ["x", "layers"]  # whatever only looks like an index is a parameter
    assert "'hash'" in notes_of(search)[0]


def test_a_range_makes_a_parameter_of_a_column(tmp_path: Path) -> None:
    search = opened(table(tmp_path, duration=lambda i: i % 5), "duration=0:10")
    assert names_of(search) == ["x", "duration"]
    assert not notes_of(search)


def test_prefixes_say_what_a_parameter_is(tmp_path: Path) -> None:
    """Those of MLflow's frames, here, beside what it has of each run."""
    search = opened(table(tmp_path, run_id=lambda i: f"r{i}", **{"params.duration": lambda i: i % 5}))
    assert names_of(search) == ["duration"]
    assert not notes_of(search)


def test_a_file_without_parameters_says_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("number,value\n" + "".join(f"{i},{i}\n" for i in range(9)))
    assert "no column is a parameter. columns are left out" in error_of(path)


# ---- Fields ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["None", "none", "NA", "n/a", "null", "<NA>", "NaN", " ", ""])
def test_a_word_for_nothing_among_numbers_is_missing(tmp_path: Path, word: str) -> None:
    search = opened(table(tmp_path, n=[word, *range(N - 1)]))
    assert notes_of(search) == ["1 rows with a value lack 'n', and are left out"]
    assert replayed(search).optimizer.space["n"].contains(3)


def test_a_word_for_nothing_among_texts_is_a_choice(tmp_path: Path) -> None:
    space = replayed(opened(table(tmp_path, kind=lambda i: ["sqrt", "None"][i % 2]))).optimizer.space
    assert space["kind"].contains("None")


def test_very_many_choices_are_said(tmp_path: Path) -> None:
    search = opened(table(tmp_path, n=["auto", *(i / 7 for i in range(N - 1))]))
    assert notes_of(search) == [f"'n' is taken for a choice among {N} values, since 'auto' is no number"]


# ---- States ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("states", "words"), [("CA NY", ["state"]), ("finished COMPLETE", ["state"]), ("ok ok", [])])
def test_a_state_that_is_not_of_optuna_is_a_parameter(tmp_path: Path, states: str, words: list[str]) -> None:
    search = opened(table(tmp_path, state=lambda i: states.split()[i % 2]))
    assert names_of(search) == ["x", *words]
    assert replayed(search).certificates[-1].n_observations == N


@pytest.mark.parametrize("form", ["{}", "TrialState.{}"])
def test_the_states_of_optuna_are_heeded(tmp_path: Path, form: str) -> None:
    states = {1: "PRUNED", 2: "FAIL", 3: "RUNNING", 4: "WAITING"}
    search = opened(table(tmp_path, state=lambda i: form.format(states.get(i, "COMPLETE"))))
    assert names_of(search) == ["x"]
    assert notes_of(search) == ["4 rows have no value, and are left out"]


# ---- What is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["y", "value", "seconds", "params_x"])
def test_a_name_that_two_columns_have_is_an_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{i},{i},{i % 3},{i}\n" for i in range(9))
    path.write_text(f"value,x,{name},{name}\n{rows}")
    assert f"two columns are called {name!r}" in error_of(path)


def test_a_parameter_has_one_range(tmp_path: Path) -> None:
    assert "--range names 'x' twice" in error_of(table(tmp_path), "--range", "x=0:1", "--range", "x=0:2")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"seconds": ["inf", *[1] * (N - 1)]}, "'seconds' of row 1 must be finite, got 'inf'"),
        (
            {"datetime_start": ["2026-01-01"] * N, "datetime_complete": ["2026-01-02T00:00:00+00:00"] * N},
            "in row 1 one has a time zone and the other has none",
        ),
        ({"n": ["9" * 400, *range(N - 1)]}, "column 'n': an integer of 400 digits is too large"),
        ({"n": ["9" * 5000, *range(N - 1)]}, "column 'n': an integer of 5000 digits is too large"),
        ({"note": ["a" * 140_000] * N}, "field larger than field limit"),
    ],
)
def test_a_field_that_cannot_be_taken_is_named(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    assert words in error_of(table(tmp_path, **columns))


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe,value\n1,2\n".encode("latin-1"))
    assert "cannot be read after line 0: 'utf-8' codec" in error_of(path)


def test_a_duration_that_is_not_known_takes_none_from_others(tmp_path: Path) -> None:
    seconds = replayed(opened(table(tmp_path, seconds=["nan", "", "soon", *[2] * (N - 3)]))).seconds
    assert math.fsum(seconds) == 2 * (N - 3)

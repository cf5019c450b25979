"""The folders for OptunaHub: what its registry checks of each, and that each works as its page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import regretstop_optuna
import yaml

HUB = Path(__file__).parents[3] / "hub"
FOLDERS = sorted(path.parent for path in HUB.glob("package/*/*/README.md"))
_TAG = {"samplers": "sampler", "callbacks": "callback"}


def test_there_is_a_sampler_and_a_callback() -> None:
    assert [f.parent.name for f in FOLDERS] == ["callbacks", "samplers"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_front_matter_is_what_the_registry_asks_for(folder: Path) -> None:
    page = (folder / "README.md").read_text("utf-8")
    (_, matter, body) = page.split("---\n", 2)
    known = yaml.safe_load(matter)
    assert all(isinstance(known[name], str) for name in ("author", "title", "description"))
    assert known["license"] == "MIT License"
    assert _TAG[folder.parent.name] in known["tags"]
    assert all(isinstance(each, str) for each in (*known["tags"], *known["optuna_versions"]))
    assert re.findall(r"^## (.+)$", body, flags=re.MULTILINE) == [
        "Abstract",
        "APIs",
        "Installation",
        "Example",
        "Others",
    ]
    assert (folder / "example.py").read_text("utf-8") in body


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_folder_is_thin_and_whole(folder: Path) -> None:
    assert (folder / "LICENSE").read_text("utf-8") == (HUB.parent / "LICENSE").read_text("utf-8")
    assert (folder / "requirements.txt").read_text("utf-8") == "regretstop[optuna]\n"
    code = (folder / "__init__.py").read_text("utf-8")
    given: dict[str, object] = {}
    exec(code, given)
    names = given["__all__"]
    assert isinstance(names, list)
    assert all(given[name] is getattr(regretstop_optuna, name) for name in names)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_example_and_its_tests_run_where_optunahub_is_installed(folder: Path) -> None:
    pytest.importorskip("optunahub")
    # As the registry would load it, were it published.
    code = (folder / "example.py").read_text("utf-8")
    local, n = re.subn(r"load_module\(package=(\"[^\"]+\")\)", r'load_local_module(\1, registry_root="package")', code)
    assert n == 1
    for command in (["-c", local], ["-m", "pytest", "-q", "--rootdir", str(folder), str(folder / "tests")]):
        subprocess.run([sys.executable, *command], cwd=HUB, check=True)

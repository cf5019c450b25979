"""What importing the package loads, what it offers, and what its metadata say."""

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import regretstop
from tests.project import PROJECT, ROOT
from tests.versions import CORNERS

PUBLIC = {
    "GPUCB",
    "PRB",
    "Categorical",
    "Certificate",
    "Float",
    "Int",
    "Matern52",
    "Observation",
    "OptimalityGap",
    "RegretBound",
    "Result",
    "Rule",
    "Space",
    "SquaredExponential",
    "Surrogate",
    "UCBbr",
    "AcquisitionThreshold",
    "DeltaCB",
    "DeltaES",
    "instantaneous_regret_bound",
    "minimize",
}
FOREIGN = {"torch", "gpytorch", "botorch", "optuna", "ray", "skopt", "sklearn", "pandas", "matplotlib", "plotly"}

_IMPORTED = """
import json, sys
import regretstop
print(json.dumps(sorted(sys.modules)))
"""

_USED = """
import json, sys
import regretstop
for name in regretstop.__all__:
    getattr(regretstop, name)
space = regretstop.Space({"x": regretstop.Float(0.0, 1.0), "c": regretstop.Categorical(["a", "b"])})
f = lambda p: (p["x"] - 0.3) ** 2
print(regretstop.minimize(f, space, rule=regretstop.UCBbr(0.1), max_trials=8, seed=0).certificate, file=sys.stderr)
print(json.dumps(sorted(sys.modules)))
"""


def loaded(script: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded in the end."""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return {module.partition(".")[0] for module in json.loads(done.stdout)}


def test_importing_loads_the_standard_library_only() -> None:
    """A program that only imports the package does not wait for NumPy and SciPy, which would be most of the time."""
    nothing = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    assert loaded(_IMPORTED) - loaded(nothing) - sys.stdlib_module_names == {"regretstop"}


@pytest.mark.parametrize("script", [_IMPORTED, _USED], ids=["imported", "used"])
def test_no_framework_is_loaded(script: str) -> None:
    assert not loaded(script) & FOREIGN


def test_public_names() -> None:
    assert set(regretstop.__all__) >= PUBLIC
    assert set(dir(regretstop)) >= PUBLIC
    assert sorted(regretstop.__all__) == sorted(set(regretstop.__all__))
    for name in regretstop.__all__:
        value = getattr(regretstop, name)
        assert getattr(importlib.import_module(value.__module__), name) is value
        assert value.__doc__


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="module 'regretstop' has no attribute 'gpucb'"):
        _ = regretstop.gpucb
    with pytest.raises(ImportError):
        from regretstop import nothing  # noqa: F401


def test_the_package_is_typed_and_depends_on_numpy_and_scipy_only() -> None:
    assert (Path(regretstop.__file__).parent / "py.typed").exists()
    required = [line for line in metadata("regretstop").get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert sorted(line.split(">")[0].strip() for line in required) == ["numpy", "scipy"]


# ---- Metadata ----------------------------------------------------------------------------------------------------


def test_each_lowest_version_is_one_that_the_tests_run_on() -> None:
    """The lowest that a corner pins, neither more nor less: what is installed with us is not upgraded without need."""
    tried: dict[str, list[Version]] = {}
    for corner in CORNERS.values():
        for pin in (Requirement(word) for word in corner.pins.split() if "==" in word):
            tried.setdefault(canonicalize_name(pin.name), []).append(Version(str(pin.specifier).removeprefix("==")))
    extras = PROJECT["optional-dependencies"]
    claimed = [Requirement(line) for lines in (PROJECT["dependencies"], *extras.values()) for line in lines]
    others = [requirement for requirement in claimed if requirement.name != "regretstop"]
    assert {str(r) for r in others if str(r.specifier) != f">={min(tried[canonicalize_name(r.name)])}"} == set()


def test_each_python_that_is_claimed_is_one_that_the_tests_run_on() -> None:
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert {corner.python for corner in CORNERS.values()} == set(claimed)
    assert PROJECT["requires-python"] == f">={claimed[0]}"


def test_the_extras_are_those_of_users() -> None:
    assert set(PROJECT["optional-dependencies"]) == {"all", "cli", "gpytorch", "optuna", "plot", "ray", "skopt"}


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    pytest.importorskip("hatchling")
    specification = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_links_of_the_long_description_work_without_a_checkout(hook: ModuleType) -> None:
    built: dict[str, Any] = {"urls": PROJECT["urls"]}
    hook.AbsoluteLinks(str(ROOT), {}).update(built)
    link = re.compile(r"\]\(([^)]+)\)")
    written = link.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    published = link.findall(built["readme"]["text"])
    assert written
    for before, after in zip(written, published, strict=True):
        if not before.startswith("https://"):
            assert (ROOT / before).exists()
            assert re.fullmatch(f"{PROJECT['urls']['Repository']}/(blob|raw)/HEAD/{re.escape(before)}", after)


@pytest.mark.parametrize(
    ("written", "published"),
    [
        ("[a](docs/a.md) and [b](b)", "[a](home/blob/HEAD/docs/a.md) and [b](home/blob/HEAD/b)"),
        ("![a picture](docs/a.png)", "![a picture](home/raw/HEAD/docs/a.png)"),
        ("[![a](a.png)](a.md)", "[![a](home/raw/HEAD/a.png)](home/blob/HEAD/a.md)"),
        ("[a](https://a.org) [b](#b) [c](mailto:c@a.org)", "[a](https://a.org) [b](#b) [c](mailto:c@a.org)"),
    ],
)
def test_relative_links_become_absolute_and_no_others(hook: ModuleType, written: str, published: str) -> None:
    assert hook.with_absolute_links(written, "home") == published

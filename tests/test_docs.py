"""What the documents show runs: every Python block of a page in order, as a reader would who types them one by one.

A block after the comment `<!-- compiled only: why -->` is compiled and not run. A page may use the names of `given`
without saying where they come from.
"""

import ast
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.project import PROJECT, ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"(<!-- compiled only: .+ -->\n)?^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
# The target of a link that leads nowhere outside the repository, without its anchor; and code, which may look like one.
_LINK = re.compile(r"```.*?```|`[^`]*`|\]\((?![a-z]+:|#)([^)#\s]+)", flags=re.DOTALL)
_FRAMEWORKS = ("gpytorch", "optuna", "ray", "skopt")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, bool]]:
    """Return the Python blocks of a page, and whether each is to be run."""
    return [(code, not mark) for mark, code in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def imported(code: str) -> set[str]:
    """Return the top-level packages that code imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return {module.partition(".")[0].removeprefix("regretstop_") for module in modules}


@pytest.fixture
def given() -> dict[str, Any]:
    """What a page takes for granted: a small objective in the words of each framework, and ε."""
    optuna = pytest.importorskip("optuna")
    return {
        "epsilon": 0.5,
        "optuna": optuna,
        "objective": lambda trial: float(abs(trial.suggest_int("x", 0, 3) - 1)),
        "f": lambda x: float(abs(x[0] - 1)),
        "dimensions": [(0, 3)],
    }


# scikit-optimize says that a point was evaluated before, which a space of four points leaves no other way.
@pytest.mark.filterwarnings("ignore:The objective has been evaluated at point:UserWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_what_a_page_shows_runs(page: Path, given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    shown = blocks(page)
    for framework in _FRAMEWORKS:
        if any(framework in imported(code) for code, is_run in shown if is_run):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # GPyTorch's import warns of torch.jit
                pytest.importorskip(framework)
    for number, (code, is_run) in enumerate(shown, start=1):
        compiled = compile(code, f"{name(page)}, block {number}", "exec")
        if is_run:
            exec(compiled, given)


def test_the_lines_of_the_readme_are_python() -> None:
    (table,) = re.findall(r"\| your three lines \|\n\|[-|]+\|\n(.*?)\n\n", PAGES[0].read_text("utf-8"), flags=re.DOTALL)
    rows = table.splitlines()
    assert len(rows) == 4
    for row in rows:
        code = re.findall(r"`([^`]+)`", row)
        assert len(code) >= 3
        for line in code:
            compile(line, row, "exec")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"], ids=name)
def test_relative_links_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [match[1] for match in _LINK.finditer(text) if match[1] is not None]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_public_name_has_its_place_in_the_api() -> None:
    for package, page in {
        "regretstop": "index",
        "regretstop_gpytorch": "gpytorch",
        "regretstop_optuna": "optuna",
        "regretstop_ray": "ray",
        "regretstop_skopt": "skopt",
    }.items():
        home = ROOT / ("src" if package == "regretstop" else "integrations") / package / "__init__.py"
        (public,) = re.findall(r"^__all__ = (\[.*?\])", home.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        text = (ROOT / "docs" / "api" / f"{page}.md").read_text("utf-8")
        shown = re.findall(rf"^::: {package}\.(\w+)$", text, flags=re.MULTILINE)
        assert sorted(shown) == sorted(ast.literal_eval(public))


def test_versions_are_the_same_everywhere() -> None:
    cited = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), flags=re.MULTILINE)
    assert cited == [PROJECT["version"]]

"""`make versions`: an environment for each corner of the versions that are claimed, and the tests in it.

The metadata claim what the corners ran on, Python and lowest versions; `tests/test_package.py` compares the two. What a
corner does not name is the newest that goes with it, as `pip install` gives it to a user. A corner needs its Python on
the path, as `python3.10`, say; nothing outside `.venv-versions` is touched.

Ray 2.40 and scikit-learn 1.3 were not built for Python 3.13. GPyTorch is tried on one Python and with one PyTorch, of
which each release is several gigabytes.
"""

import argparse
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-versions"

HIGHEST = "-c constraints.txt"
OLD = "numpy==1.22.4 scipy==1.11.1"
# A newer pyparsing warns of how this matplotlib calls it.
OLD_PLOTS = f"{OLD} matplotlib==3.7.0 plotly==5.10.0 pyparsing==3.0.9"
# An older Typer does not go with the Click of today.
OLD_CLI = "jinja2==3.1.6 rich==13.7.0 typer==0.19.0"

CORE = ("tests", "--ignore=tests/benchmarks", "--ignore=tests/integrations", "--ignore=tests/test_examples.py")
GPYTORCH = ("tests/integrations/gpytorch",)
OPTUNA = ("tests/integrations/optuna",)
RAY = ("tests/integrations/cli", "tests/integrations/ray")
SKOPT = ("tests/integrations/skopt",)


@dataclass(frozen=True)
class Corner:
    """One environment.

    Attributes:
        python: Version of Python.
        extras: Those of the package's to install.
        pins: What else pip is told.
        tests: Arguments of pytest.
    """

    python: str
    extras: str
    pins: str
    tests: tuple[str, ...]


CORNERS = {
    "core-lowest": Corner("3.10", "plot", OLD_PLOTS, CORE),
    "core-highest": Corner("3.13", "plot", HIGHEST, CORE),
    "optuna-lowest": Corner("3.10", "optuna,plot", f"optuna==3.6.0 {OLD_PLOTS}", OPTUNA),
    "optuna-between": Corner("3.12", "optuna,plot", "optuna==4.0.0", OPTUNA),
    "optuna-highest": Corner("3.13", "optuna,plot", HIGHEST, OPTUNA),
    "ray-lowest": Corner("3.10", "cli,optuna,ray", f"ray[client]==2.40.0 optuna==3.6.0 {OLD_CLI} {OLD_PLOTS}", RAY),
    "ray-highest": Corner("3.13", "cli,optuna,plot,ray", f"{HIGHEST} ray[client]", RAY),
    "skopt-lowest": Corner("3.10", "plot,skopt", f"scikit-optimize==0.10.0 scikit-learn==1.3.0 {OLD_PLOTS}", SKOPT),
    "skopt-highest": Corner("3.13", "plot,skopt", HIGHEST, SKOPT),
    "gpytorch-lowest": Corner("3.11", "gpytorch", "gpytorch==1.11 torch==2.13.0 numpy==1.23.2 scipy==1.11.1", GPYTORCH),
    "botorch-lowest": Corner("3.11", "gpytorch", "botorch==0.12.0 torch==2.13.0 numpy==1.23.2 scipy==1.11.1", GPYTORCH),
    "botorch-highest": Corner("3.11", "gpytorch,optuna", f"{HIGHEST} botorch", GPYTORCH),
}

# What the table names of an environment.
SHOWN = ("numpy", "scipy", "optuna", "ray", "scikit-optimize", "scikit-learn", "gpytorch", "botorch", "torch")


def build(corner: Corner, folder: Path) -> Path:
    """Make the environment, and return its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([f"python{corner.python}", "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "pip>=25.1"], check=True)  # older ones know no dependency groups
    ours = ["-e", f".[{corner.extras}]", "--group", "test"]
    subprocess.run([*install, *ours, *corner.pins.split()], cwd=ROOT, check=True)
    return python


def versions(python: Path) -> str:
    """Return what is installed in the environment, as far as the table names it."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True, text=True)
    found = {package["name"]: package["version"] for package in json.loads(listed.stdout)}
    return ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found)


def run(name: str) -> tuple[str, bool]:
    """Return the corner's line of the table, and whether its tests passed."""
    corner, folder = CORNERS[name], HOME / name
    python = build(corner, folder)
    report = folder / "report.xml"
    command = [python, "-m", "pytest", "-q", "-n", "2", "--dist=loadgroup", "-m", "not slow", f"--junitxml={report}"]
    passed = subprocess.run([*command, *corner.tests], cwd=ROOT, check=False).returncode == 0
    suite = next(xml.etree.ElementTree.parse(report).iter("testsuite"))
    total, skipped, failed, broken = (int(suite.attrib[key]) for key in ("tests", "skipped", "failures", "errors"))
    counts = f"{total - skipped - failed - broken} | {skipped} | {failed + broken}"
    line = f"| {name} | {corner.python} | {versions(python)} | {counts} |"
    if passed:
        shutil.rmtree(folder)  # a failed one stays, for who looks into it
    return line, passed


def main() -> int:
    """Run the corners that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corner", nargs="*", help=f"one of {', '.join(CORNERS)}; all if none is named")
    chosen = parser.parse_args().corner or list(CORNERS)
    unknown = [name for name in chosen if name not in CORNERS]
    if unknown:
        parser.error(f"there is no corner {', '.join(unknown)}, but {', '.join(CORNERS)}")
    results = [run(name) for name in chosen]
    print("| corner | Python | with | passed | skipped | failed |", "|---|---|---|---|---|---|", sep="\n")
    print(*(line for line, _ in results), sep="\n")
    return 0 if all(passed for _, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())

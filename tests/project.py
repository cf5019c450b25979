"""What pyproject.toml says of the project."""

from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

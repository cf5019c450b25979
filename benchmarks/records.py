"""Finished runs, one JSON object a line, so that a killed benchmark goes on where it was."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import regretstop

RESULTS = Path(__file__).parent / "results"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; a last line that was cut off by a kill is dropped."""
    records: list[dict[str, Any]] = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return records


def append(path: Path, record: dict[str, Any]) -> None:
    """Write a record at once; strict JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    torn = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("a") as file:
        file.write(("\n" if torn else "") + text + "\n")


def pending(path: Path, keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those of the keys that no record of the file holds yet."""
    done = [{name: record.get(name) for name in keys[0]} for record in read(path)] if keys else []
    return [key for key in keys if key not in done]


def provenance() -> dict[str, str]:
    """Return the version and a digest of the library's source, stored with each record."""
    digest = hashlib.blake2b(digest_size=4)
    for file in sorted(Path(regretstop.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return {"version": version("regretstop"), "source": digest.hexdigest()}


def compact(value: float, digits: int = 6) -> float | None:
    """Return a number in so many digits; None for an infinite one, which JSON does not know."""
    number = float(f"{value:.{digits}g}")
    return number if abs(number) < float("inf") else None

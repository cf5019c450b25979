"""Finished runs, one JSON object a line in a gzip file, so that a killed benchmark goes on where it was.

Every record is appended as a gzip member of its own, and a file of many members is one gzip file. A run that ends packs
them into one, which is three to five times smaller. A kill can only tear the last member: it is left out, and the next
append takes it off.
"""

import gzip
import hashlib
import json
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import regretstop

RESULTS = Path(__file__).parent / "results"
_CHUNK = 2**16


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; what a kill has torn at its end is left out.

    Raises:
        ValueError: If a line before the end is no JSON.
        zlib.error: If the file is damaged before its end.
    """
    return [json.loads(line) for line in _lines(path)[0]]


def append(path: Path, record: dict[str, Any]) -> None:
    """Write a record at once; strict JSON."""
    line = json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not _lines(path)[2]:
        _rewrite(path)
    with path.open("ab") as file:
        file.write(_compressed(line))


def pack(path: Path) -> None:
    """Write a file of several members as one, all at once; the same records are the same bytes."""
    _, n_members, is_whole = _lines(path)
    if n_members > 1 or not is_whole:
        _rewrite(path)


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


def _lines(path: Path) -> tuple[list[str], int, bool]:
    """Return the whole lines of a file, how many members it has, and whether the last of them is whole."""
    parts: list[bytes] = []
    n_members, reader = 0, None
    if path.exists():
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                while chunk:
                    if reader is None:
                        n_members, reader = n_members + 1, zlib.decompressobj(wbits=31)
                    parts.append(reader.decompress(chunk))
                    chunk = reader.unused_data
                    reader = None if reader.eof else reader
    *lines, _ = b"".join(parts).decode().split("\n")
    return lines, n_members, reader is None


def _rewrite(path: Path) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.write_bytes(_compressed("".join(f"{line}\n" for line in _lines(path)[0])))
    beside.replace(path)


def _compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)

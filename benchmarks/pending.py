"""Run what a file of records does not hold yet, several at a time, and save each record when it is there."""

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.progress import track
from benchmarks.records import append, pack, pending, provenance

# A process is replaced after so many, before what libraries keep adds up.
_RUNS_A_PROCESS = 20


def run_pending(
    run: Callable[[dict[str, Any]], dict[str, Any]], keys: list[dict[str, Any]], path: Path, processes: int
) -> None:
    """Run each key that no record of the file has.

    Args:
        run: Returns the record of a key, the key included; a function of a module, or a partial of one.
        keys: All that the file should hold.
        path: The file.
        processes: How many run at a time; give each one thread.
    """
    source = provenance()
    todo = pending(path, keys)
    # Spawned, because a process that shows a progress bar has threads.
    with get_context("spawn").Pool(processes, maxtasksperchild=_RUNS_A_PROCESS) as pool:
        for record in track(pool.imap_unordered(run, todo), path.name.partition(".")[0], len(todo)):
            append(path, record | source)
    pack(path)

"""The command `regretstop`: what a search that is over would have been spared, and the theorem on numbers."""

import io
import os
import sys
from importlib import import_module


def main() -> None:
    """Run the command.

    Raises:
        SystemExit: With 0 where there is an answer, 2 where the arguments allow none.
    """
    # Before NumPy is loaded: small matrices gain nothing from a second thread, and pools on the same cores lose much.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # An encoding that lacks ε, as a pipe's may, writes a question mark in its place and is no error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app = import_module("regretstop_cli.app").app
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "rich", "typer"):
            raise
        raise SystemExit("the command needs what it is drawn with: pip install 'regretstop[cli]'") from error
    app()

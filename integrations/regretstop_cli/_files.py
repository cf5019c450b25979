"""The files that an answer is written into."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def check_writable(option: str, path: Path) -> None:
    """Raise before any work is done for nothing.

    Args:
        option: That named the file.
        path: The file, which is left as it is; one that is not there is made and removed.

    Raises:
        ValueError: If it cannot be written.
    """
    # Of a link that points to nothing the file is made and removed, and not the link.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ValueError(f"{option} {str(path)!r} cannot be written: it is a directory")
    if not target.parent.is_dir():
        raise ValueError(f"{option} {str(path)!r} cannot be written: there is no such directory")
    is_new = not target.exists()
    if not (is_new or target.is_file()):
        return  # a pipe is opened once only: its reader takes a second time for the end
    with _writing(option, path):
        target.open("ab").close()
        if is_new:
            target.unlink()


def write(option: str, path: Path, text: str) -> None:
    """Write a file in UTF-8.

    Args:
        option: That named the file.
        path: The file.
        text: What it holds. Of names that are no text, as those of files may be, it has question marks.

    Raises:
        ValueError: If it cannot be written.
    """
    with _writing(option, path):
        path.write_text(text, encoding="utf-8", errors="replace")


@contextmanager
def _writing(option: str, path: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise ValueError(f"{option} {str(path)!r} cannot be written: {error.strerror}") from error

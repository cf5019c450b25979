"""A progress bar with the time left."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

T = TypeVar("T")
console = Console()


def track(items: Iterable[T], title: str, total: int | None = None) -> Iterator[T]:
    """Yield the items while a bar shows how many are left and for how long; `total` if they have no length."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        yield from progress.track(items, total=total, description=title)

"""A progress bar for whoever is watching, and silence for whoever is not.

The bar goes to the terminal's stderr, through rich where it is installed and as a rewritten line where it is
not. Without a terminal (tests, pipes, batch jobs) nothing is printed at all.
"""

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar, overload

T = TypeVar("T")


@overload
def progress(work: int, label: str) -> Iterator[int]: ...
@overload
def progress(work: Iterable[T], label: str) -> Iterator[T]: ...
def progress(work, label):
    """Yield from ``work`` (``range(work)`` for a number) while showing how far it is.

    >>> sum(progress(4, "adding"))
    6
    """
    items = range(work) if isinstance(work, int) else work
    total = len(items) if isinstance(items, Sized) else None
    if not sys.stderr.isatty():
        return iter(items)
    try:
        import rich.progress  # noqa: F401
    except ImportError:
        return _plain(items, total, label)
    return _bar(items, total, label)


def _bar(items: Iterable[T], total: int | None, label: str) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description=label)


def _plain(items: Iterable[T], total: int | None, label: str) -> Iterator[T]:
    of = "" if total is None else f"/{total}"
    try:
        for count, item in enumerate(items):
            print(f"\r{label} {count}{of}", end="", file=sys.stderr, flush=True)
            yield item
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

"""A progress bar on standard error, for runs that take a person's time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Final, TypeVar

PATIENCE: Final = 1.0
Item = TypeVar("Item")


def watched(items: Iterator[Item], count: int, doing: str = "Linting") -> Iterator[Item]:
    """The same items; on a terminal a bar appears once a second has gone by, and goes when they end."""
    return _watched(items, count, doing) if sys.stderr.isatty() else items


def _watched(items: Iterator[Item], count: int, doing: str) -> Iterator[Item]:
    started = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - started > PATIENCE:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=count, completed=done)
        for item in items:
            yield item
            progress.advance(task)

"""A progress bar on standard error, for runs that take a person's time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from normlint.engine.report import Report

PATIENCE: Final = 1.0


def watched(reports: Iterator[Report], count: int) -> Iterator[Report]:
    """The same reports; a bar appears once a second has gone by, and goes when they end."""
    started = time.monotonic()
    done = 0
    for report in reports:
        yield report
        done += 1
        if time.monotonic() - started > PATIENCE:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Linting", total=count, completed=done)
        for report in reports:
            yield report
            progress.advance(task)

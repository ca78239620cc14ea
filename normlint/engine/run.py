"""Many files: in this process, or in several when there is enough to do; the order is that of the paths."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from normlint.engine.linter import Demand, check_path
from normlint.engine.report import Failure, Report

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

ENOUGH_TO_FORK: Final = 200
_CHUNK: Final = 16

Task = tuple[str, Demand]


def check_all(tasks: Sequence[Task], jobs: int | None = None) -> Iterator[Report]:
    """One report a task, in the order of the tasks. `jobs` None: one a core, if there is enough to do."""
    workers = jobs if jobs is not None else (os.cpu_count() or 1) if len(tasks) > ENOUGH_TO_FORK else 1
    workers = min(workers, max(len(tasks), 1))
    if workers <= 1:
        return (check_path(path, demand) for path, demand in tasks)
    return _in_processes(tasks, workers)


def _in_processes(tasks: Sequence[Task], workers: int) -> Iterator[Report]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    size = min(_CHUNK, -(-len(tasks) // workers))
    chunks = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    with ProcessPoolExecutor(workers, _context()) as pool:
        futures = [pool.submit(_check_chunk, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                yield from future.result()
            except BrokenProcessPool:
                yield from map(_check_apart, chunk)


def _check_chunk(tasks: Sequence[Task]) -> list[Report]:
    return [check_path(path, demand) for path, demand in tasks]


def _check_apart(task: Task) -> Report:
    """A worker died: each file it may have died of has a process of its own, so that one file costs itself alone."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(1, _context()) as pool:
        try:
            return pool.submit(_check_chunk, [task]).result()[0]
        except BrokenProcessPool:
            return Report(errors=(Failure(task[0], None, "the process that analysed it died"),))


def _context() -> BaseContext:
    import multiprocessing
    import sys

    forks = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    return multiprocessing.get_context("fork" if forks else "spawn")

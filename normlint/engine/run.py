"""Many files: in this process, or in several when there is enough to do; the order is that of the paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from normlint.engine.forks import Died, can_fork, forked
from normlint.engine.linter import Demand, check_path
from normlint.engine.report import Failure, Report

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from normlint.engine.wish import Fixed, Wish

ENOUGH_TO_FORK: Final = 200
_CHUNK: Final = 16

Task = tuple[str, Demand]
Wished = tuple[str, "Wish"]
Asked = TypeVar("Asked", bound="tuple[Any, ...]")  # a path and more
Answer = TypeVar("Answer")
Work = Callable[[Asked], Answer]


def check_all(tasks: Sequence[Task], jobs: int | None = None) -> Iterator[Report]:
    """One report a task, in the order of the tasks. `jobs` None: one a core, if there is enough to do."""
    for done in each(_check, tasks, jobs):
        yield Report(errors=(done,)) if isinstance(done, Failure) else done


def fix_all(tasks: Sequence[Wished], jobs: int | None = None) -> Iterator[Fixed | Failure]:
    """The same for files that are to be fixed, in memory."""
    return each(_fix, tasks, jobs)


def _check(task: Task) -> Report:
    return check_path(*task)


def _fix(task: Wished) -> Fixed | Failure:
    from normlint.engine.fix import fix_path

    return fix_path(*task)


def each(work: Work[Asked, Answer], tasks: Sequence[Asked], jobs: int | None) -> Iterator[Answer | Failure]:
    """The answers in the order of the tasks; each task begins with its path. A Failure where a process died of it."""
    workers = jobs if jobs is not None else _cores() if len(tasks) > ENOUGH_TO_FORK else 1
    workers = min(workers, max(len(tasks), 1))
    if workers <= 1:
        return (work(task) for task in tasks)
    return _in_forks(work, tasks, workers) if can_fork() else _in_processes(work, tasks, workers)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_forks(work: Work[Asked, Answer], tasks: Sequence[Asked], workers: int) -> Iterator[Answer | Failure]:
    for task, answer in zip(tasks, forked(work, tasks, workers), strict=True):
        yield _dead(task) if isinstance(answer, Died) else answer


def _in_processes(work: Work[Asked, Answer], tasks: Sequence[Asked], workers: int) -> Iterator[Answer | Failure]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    size = min(_CHUNK, -(-len(tasks) // workers))
    chunks = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    with ProcessPoolExecutor(workers, _context()) as pool:
        futures = [pool.submit(_chunk, work, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                yield from future.result()
            except BrokenProcessPool:
                yield from (_apart(work, task) for task in chunk)


def _chunk(work: Work[Asked, Answer], tasks: Sequence[Asked]) -> list[Answer]:
    return [work(task) for task in tasks]


def _apart(work: Work[Asked, Answer], task: Asked) -> Answer | Failure:
    """A worker died: each file it may have died of has a process of its own, so that one file costs itself alone."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(1, _context()) as pool:
        try:
            return pool.submit(_chunk, work, [task]).result()[0]
        except BrokenProcessPool:
            return _dead(task)


def _dead(task: tuple[Any, ...]) -> Failure:
    return Failure(task[0], None, "the process that analysed it died")


def _context() -> BaseContext:
    """Not forks: where they are safe, `forked` has them."""
    import multiprocessing

    return multiprocessing.get_context("spawn")

"""Many files: in this process, or in several when there is enough to do; the order is that of the paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from normlint.engine.linter import Demand, check_path
from normlint.engine.report import Failure, Report

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

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
    return _in_processes(work, tasks, workers)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(work: Work[Asked, Answer], tasks: Sequence[Asked], workers: int) -> Iterator[Answer | Failure]:
    """A worker that dies takes the pool with it: its chunk is done file by file, what is left in another pool."""
    from concurrent.futures.process import BrokenProcessPool

    size = min(_CHUNK, -(-len(tasks) // workers))
    chunks = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    done = 0
    while done < len(chunks):
        pool = _pool(workers)
        try:
            for future in [pool.submit(_chunk, work, chunk) for chunk in chunks[done:]]:
                yield from future.result()
                done += 1
        except BrokenProcessPool:
            yield from (_apart(work, task) for task in chunks[done])
            done += 1
        finally:
            pool.shutdown(cancel_futures=True)


def _chunk(work: Work[Asked, Answer], tasks: Sequence[Asked]) -> list[Answer]:
    return [work(task) for task in tasks]


def _apart(work: Work[Asked, Answer], task: Asked) -> Answer | Failure:
    """In a process of its own, so that one file costs itself alone."""
    from concurrent.futures.process import BrokenProcessPool

    with _pool(1) as pool:
        try:
            return pool.submit(_chunk, work, [task]).result()[0]
        except BrokenProcessPool:
            return Failure(task[0], None, "the process that analysed it died")


def _pool(workers: int) -> ProcessPoolExecutor:
    """Processes that an interruption ends without a traceback."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork" if can_fork() else "spawn")
    return ProcessPoolExecutor(workers, context, _ends_at_interruption)


def _ends_at_interruption() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def can_fork() -> bool:
    """Forking is safe where it exists, and no other thread may hold a lock (macOS has its own in its frameworks)."""
    threads = sys.modules.get("threading")
    return hasattr(os, "fork") and sys.platform != "darwin" and (threads is None or threads.active_count() == 1)

"""Check or fix many files, with the cache, in this process or, if there are enough files, in several."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from normlint.engine.cache import CLEAN, Cache, Known, digest_with, stamps_of
from normlint.engine.linter import attempt, check_bytes, check_path
from normlint.engine.report import Failure, Report
from normlint.engine.selection import Demand
from normlint.engine.stored import restored, stored
from normlint.text import marks
from normlint.text.elsewhere import current
from normlint.text.raw import digest_of, read_bytes

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

ENOUGH_TO_FORK: Final = 200
_CHUNK: Final = 16
_NO_REPORT: Final = Report()

Task = tuple[str, Demand]
Answer = TypeVar("Answer")
Work = Callable[..., Answer]
Tasks = Sequence[tuple[Any, ...]]  # the arguments for each piece of work: a path and more


def check_all(tasks: Sequence[Task], jobs: int | None = None) -> Iterator[Report]:
    """Yield a report for each task, in order. `jobs`: how many processes; None: one per core for many files."""
    for done in each(check_path, tasks, jobs):
        yield Report(errors=(done,)) if isinstance(done, Failure) else done


def each(work: Work[Answer], tasks: Tasks, jobs: int | None) -> Iterator[Answer | Failure]:
    """Return the answer to each task, in order, or a Failure if its process died; a task's first item is its path."""
    workers = jobs if jobs is not None else _cores() if len(tasks) > ENOUGH_TO_FORK else 1
    workers = min(workers, max(len(tasks), 1))
    if workers <= 1:
        return (work(*task) for task in tasks)
    return _in_processes(work, tasks, workers)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(work: Work[Answer], tasks: Tasks, workers: int) -> Iterator[Answer | Failure]:
    """Yield the answers of several processes. If one dies, its chunk is done file by file, the rest in a new pool."""
    from concurrent.futures.process import BrokenProcessPool

    size = min(_CHUNK, -(-len(tasks) // workers))
    chunks = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    done = 0
    while done < len(chunks):
        pool = _pool(workers)
        try:
            for future in [pool.submit(_run_chunk, work, chunk) for chunk in chunks[done:]]:
                yield from future.result()
                done += 1
        except BrokenProcessPool:
            yield from (_in_own_process(work, task) for task in chunks[done])
            done += 1
        finally:
            pool.shutdown(cancel_futures=True)


def _run_chunk(work: Work[Answer], tasks: Tasks) -> list[Answer]:
    return [work(*task) for task in tasks]


def _in_own_process(work: Work[Answer], task: tuple[Any, ...]) -> Answer | Failure:
    """Run one task in its own process, so that a crash affects this file alone."""
    from concurrent.futures.process import BrokenProcessPool

    with _pool(1) as pool:
        try:
            return pool.submit(_run_chunk, work, [task]).result()[0]
        except BrokenProcessPool:
            return Failure(task[0], None, "the process that analysed it died")


def _pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of processes that an interruption ends without a traceback."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork" if can_fork() else "spawn")
    return ProcessPoolExecutor(workers, context, _end_at_interruption)


def _end_at_interruption() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def can_fork() -> bool:
    """Return whether forking is safe: it isn't with other threads, nor on macOS, whose frameworks start their own."""
    threads = sys.modules.get("threading")
    return hasattr(os, "fork") and sys.platform != "darwin" and (threads is None or threads.active_count() == 1)


class Unknown(NamedTuple):
    """A file that has to be read: `digest` is that of the content whose report is known, "" if there is none.

    `others`: the other files that the report depends on.
    """

    path: str
    demand: Demand
    digest: str = ""
    others: tuple[str, ...] = ()


class Checked(NamedTuple):
    """The report on a file, and its stamp and digest when it was read; `report` None: the known one still holds."""

    report: Report | None
    stamp: str = ""
    digest: str = ""
    others: tuple[str, ...] = ()


def check_cached(tasks: Sequence[Task], cache: Cache, jobs: int | None = None, *, norms: bool) -> Iterator[Report]:
    """Yield a report for each task, in order, from the cache; the missing ones are made and stored there."""
    keys = {id(demand): demand.key for _, demand in tasks}
    known: dict[str, Report] = {}
    unknown: list[Unknown] = []
    for path, demand in tasks:
        report = _restored(path, cache.known(path, keys[id(demand)]), norms=norms)
        if report is None:
            unknown.append(Unknown(path, demand, *cache.digest(path, keys[id(demand)])))
        else:
            known[path] = report
    seen = zip(unknown, each(check_unknown, unknown, jobs), strict=True)
    for path, demand in tasks:
        if path in known:
            yield known[path]
        else:
            one, answer = next(seen)
            yield _report_on_unknown(one, answer, keys[id(demand)], cache, norms=norms)
    next(seen, None)
    cache.save()


def _restored(path: str, known: Known | None, *, norms: bool) -> Report | None:
    if known is None:
        return None
    return restored(path, known, norms=norms) if known.findings or known.count else _NO_REPORT


def _report_on_unknown(one: Unknown, answer: Checked | Failure, key: str, cache: Cache, *, norms: bool) -> Report:
    if isinstance(answer, Failure):
        return Report(errors=(answer,))
    report = answer.report
    if report is None:
        report = _restored(one.path, cache.found(answer.digest, key), norms=norms)
        if report is None:  # the stored text is no valid report
            afresh = one._replace(digest="", others=())
            return _report_on_unknown(afresh, check_unknown(*afresh), key, cache, norms=norms)
    elif answer.digest and answer.digest != CLEAN:
        cache.learn(answer.digest, key, stored(report))
    if answer.digest:
        cache.learn_file(one.path, answer.stamp, answer.digest, answer.others)
    return report


def check_unknown(path: str, demand: Demand, digest: str, others: tuple[str, ...]) -> Checked:
    """Read an unknown file, and analyse it unless its content is the known one."""
    stamp = stamps_of((path,))
    before = stamps_of((path, *others))
    data = attempt(path, lambda: read_bytes(path))
    if isinstance(data, Failure):
        return Checked(Report(errors=(data,)))
    if not marks.may_concern(data):
        return Checked(_NO_REPORT, stamp, CLEAN)
    if digest and digest_with(data, current(others)) == digest:
        return Checked(None, before, digest, others)
    report = check_bytes(path, data, demand)
    if not report.asked:
        return Checked(report, stamp, "" if report.errors else digest_of(data))
    others = tuple(path for path, _ in report.asked)
    stamps = " ".join((stamp, stamps_of(others)))
    # unchanged from the analysis until the stamps were taken
    known = not report.errors and current(others) == report.asked
    return Checked(report, stamps, digest_with(data, report.asked) if known else "", others)

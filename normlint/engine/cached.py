"""Linting with a cache: what is known is not read, what was read is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from normlint.engine.cache import CLEAN, Cache, Known, digest_of, stamp_of
from normlint.engine.linter import Demand, attempt, check_bytes
from normlint.engine.report import Failure, Report
from normlint.engine.run import Task, each
from normlint.engine.sift import passes
from normlint.engine.stored import restored, stored
from normlint.text.raw import read_bytes

_NO_REPORT: Final = Report()


class Asked(NamedTuple):
    """A file that has to be read: `digest` is that of the content whose report is known, if there is one."""

    path: str
    demand: Demand
    digest: str = ""


class Seen(NamedTuple):
    """What a file held when it was read; `report` None: what is known."""

    report: Report | None
    stamp: str = ""
    digest: str = ""


def check_cached(tasks: Sequence[Task], cache: Cache, jobs: int | None = None, *, norms: bool) -> Iterator[Report]:
    """A report on each task, in their order; on files that are known to be clean only if there is one to be given."""
    keys = {id(demand): demand.key for _, demand in tasks}
    known: dict[str, Report] = {}
    unknown: list[Asked] = []
    for path, demand in tasks:
        report = _restored(path, cache.says(path, keys[id(demand)]), norms=norms)
        if report is None:
            unknown.append(Asked(path, demand, cache.digest(path, keys[id(demand)])))
        else:
            known[path] = report
    seen = zip(unknown, each(look, unknown, jobs), strict=True)
    for path, demand in tasks:
        if path in known:
            yield known[path]
        else:
            asked, answer = next(seen)
            yield _taken(asked, answer, keys[id(demand)], cache, norms=norms)
    next(seen, None)
    cache.save()


def _restored(path: str, known: Known | None, *, norms: bool) -> Report | None:
    if known is None:
        return None
    return restored(path, known, norms=norms) if known.findings or (norms and known.norms) else _NO_REPORT


def _taken(asked: Asked, answer: Seen | Failure, key: str, cache: Cache, *, norms: bool) -> Report:
    if isinstance(answer, Failure):
        return Report(errors=(answer,))
    report = answer.report
    if report is None:
        report = _restored(asked.path, cache.found(answer.digest, key), norms=norms)
        if report is None:  # what was stored is no report
            afresh = asked._replace(digest="")
            return _taken(afresh, look(afresh), key, cache, norms=norms)
    elif answer.digest and answer.digest != CLEAN:
        cache.learn(answer.digest, key, stored(report))
    if answer.digest:
        cache.learn_file(asked.path, answer.stamp, answer.digest)
    return report


def look(asked: Asked) -> Seen:
    """Read the file, and analyse it unless its content is the known one."""
    try:
        stamp = stamp_of(asked.path)
    except (OSError, ValueError):
        stamp = ""
    data = attempt(asked.path, lambda: read_bytes(asked.path))
    if isinstance(data, Failure):
        return Seen(Report(errors=(data,)))
    if not passes(data):
        return Seen(_NO_REPORT, stamp, CLEAN)
    digest = digest_of(data)
    if digest == asked.digest:
        return Seen(None, stamp, digest)
    report = check_bytes(asked.path, data, asked.demand)
    return Seen(report, stamp, "" if report.errors else digest)

"""Linting with a cache: what is known is not read, what was read is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from normlint.engine.cache import CLEAN, NOTHING, Cache, Known, digest_of, stamp_of
from normlint.engine.linter import Demand, attempt, check_bytes
from normlint.engine.report import Failure, Report
from normlint.engine.run import Task, each
from normlint.engine.sift import passes
from normlint.engine.stored import restored, stored
from normlint.text.raw import read_bytes


class Asked(NamedTuple):
    """A file that has to be read: `digest` is that of the content whose report is known, if there is one."""

    path: str
    demand: Demand
    digest: str = ""


class Seen(NamedTuple):
    """What a file held when it was read; `report` None: what is known. `known`: what is to be remembered."""

    report: Report | None
    known: Known | None = None
    stamp: str = ""
    digest: str = ""
    clean: bool = False


def check_cached(tasks: Sequence[Task], cache: Cache, jobs: int | None = None, *, norms: bool) -> Iterator[Report]:
    """A report on each task, in their order; on files that are known to be clean only if there is one to be given."""
    keys: dict[int, str] = {id(demand): demand.key for demand in {id(one): one for _, one in tasks}.values()}
    known: dict[str, Report] = {}
    unknown: list[Asked] = []
    for path, demand in tasks:
        report = _known(path, keys[id(demand)], cache, norms=norms)
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


_NO_REPORT = Report()


def _known(path: str, key: str, cache: Cache, *, norms: bool) -> Report | None:
    known = cache.says(path, key)
    if known is None:
        return None
    wanted = known.findings or (norms and known.norms)
    return restored(path, known, norms=norms) if wanted else _NO_REPORT


def _taken(asked: Asked, answer: Seen | Failure, key: str, cache: Cache, *, norms: bool) -> Report:
    if isinstance(answer, Failure):
        return Report(errors=(answer,))
    if answer.report is None:
        known = cache.still_holds(asked.path, key, answer.stamp)
        report = restored(asked.path, known, norms=norms) if known else None
        return report if report is not None else _again(asked, key, cache, norms=norms)
    if answer.known is not None:
        cache.learn(asked.path, answer.stamp, answer.digest, CLEAN if answer.clean else key, answer.known)
    return answer.report


def _again(asked: Asked, key: str, cache: Cache, *, norms: bool) -> Report:
    """What was stored is no report."""
    afresh = asked._replace(digest="")
    return _taken(afresh, look(afresh), key, cache, norms=norms)


def look(asked: Asked) -> Seen:
    """Read the file, and analyse it unless its content is the known one."""
    try:
        stamp = stamp_of(asked.path)
    except (OSError, ValueError):
        stamp = ""
    data = attempt(asked.path, lambda: read_bytes(asked.path))
    if isinstance(data, Failure):
        return Seen(Report(errors=(data,)))
    digest = digest_of(data)
    if digest == asked.digest:
        return Seen(None, None, stamp, digest)
    if not passes(data):
        return Seen(_NO_REPORT, NOTHING, stamp, digest, clean=True)
    report = check_bytes(asked.path, data, asked.demand)
    return Seen(report, None if report.errors else stored(report), stamp, digest)

"""`--fix`: one file mended in memory, all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from normlint.engine.linter import attempt, report_of, survey
from normlint.engine.report import Failure, Report
from normlint.engine.rounds import Rounds, rewritten
from normlint.engine.sift import passes
from normlint.engine.wish import Fixed, Wish
from normlint.norm.kept import kept
from normlint.text.raw import BadSourceError, read_bytes
from normlint.text.read import decode
from normlint.text.source import Source


def fix_path(path: str, wish: Wish) -> Fixed | Failure:
    """The file at `path`, fixed in memory: nothing is written here."""
    return _guarded(path, lambda wanted: _fixed(path, read_bytes(path), wanted), wish)


def fix_bytes(path: str, data: bytes, wish: Wish) -> Fixed | Failure:
    """The same for bytes that are already here."""
    return _guarded(path, lambda wanted: _fixed(path, data, wanted), wish)


def _fixed(path: str, data: bytes, wish: Wish) -> Fixed:
    """What can't hold a norm is not even decoded, as when it is linted."""
    if passes(data):
        return fix(decode(path, data), wish)
    unread = Source(path, "")
    return Fixed(unread, unread, Report(), Report())


def _guarded(path: str, work: Callable[[Wish], Fixed], wish: Wish) -> Fixed | Failure:
    """Where fixes can't be made, or norms not be prepared for running, the file is left alone, but still linted."""
    done = attempt(path, lambda: work(wish))
    if not isinstance(done, Failure) or not done.internal:
        return done
    linted = attempt(path, lambda: work(replace(wish, demand=wish.demand.plain)))
    if isinstance(linted, Failure):
        return linted
    told = replace(linted.report, errors=(*linted.report.errors, done))
    return replace(linted, unfixed=told, report=told)


def fix(source: Source, wish: Wish) -> Fixed:
    """The source with all fixes made, to a fixpoint; as it was, and told, where that can't be had."""
    with kept():
        return _fixed_in_rounds(source, wish)


def _fixed_in_rounds(source: Source, wish: Wish) -> Fixed:
    views = survey(source, wish.demand)
    rounds = Rounds(wish)
    before = rounds.report(views)
    settled = attempt(source.path, lambda: _writable(rounds.run(source, views)))
    if isinstance(settled, Failure):
        told = replace(before, errors=(replace(settled, message=f"not fixed: {settled.message}"),))
        return Fixed(source, source, told, told)
    return replace(settled, unfixed=before)


def _writable(fixed: Fixed) -> Fixed:
    if not fixed.changed:
        return fixed
    if not fixed.before.faithful:
        raise BadSourceError(f"{fixed.before.encoding} would not give the same bytes back")
    try:
        fixed.after.encode(fixed.after.text)
    except UnicodeEncodeError as error:
        raise BadSourceError(f"{fixed.before.encoding} has no {error.object[error.start]!r}") from None
    return fixed


def prepared(fixed: Fixed, wish: Wish) -> Fixed:
    """The same file with what the wish needs to run its norms, before and after; nothing is fixed anew."""
    demand = replace(wish.demand, fixes=False)
    old, new = survey(fixed.before, demand), survey(fixed.after, demand)
    before, after = (replace(r, norms=report_of(v).norms) for r, v in ((fixed.unfixed, old), (fixed.report, new)))
    gone = tuple(rewritten(wish, fixed.touched.keys(), fixed.after, old, new))
    return replace(fixed, unfixed=before, report=after, rewritten=gone)

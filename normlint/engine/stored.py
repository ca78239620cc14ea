"""A report as two lines of text and back. What comes back is checked: it may have been written by anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from normlint.engine.cache import Known
from normlint.engine.report import Diagnostic, Hunk, ListedNorm, PlacedEdit, PlacedFix, Report, Unread
from normlint.text.finding import Applicability
from normlint.text.source import Place

Item = TypeVar("Item")


def stored(report: Report) -> Known:
    """The findings and norms without their path; with the norms, what is too large to be read."""
    listed = (*map(_norm, report.norms), *([one.place, one.qualname] for one in report.unread))
    return Known(_line(map(_finding, report.findings)), _line(listed))


def restored(path: str, known: Known, *, norms: bool = True) -> Report | None:
    """The report on the file at `path`, its norms only if they are asked for; None if it isn't one."""
    try:
        findings = tuple(_read_finding(path, one) for one in _listed(_parsed(known.findings)))
        listed = _listed(_parsed(known.norms)) if norms else []
        read = tuple(_read_norm(path, one) for one in listed if len(one) != _OF_UNREAD)
        unread = tuple(_read_unread(path, one) for one in listed if len(one) == _OF_UNREAD)
    except (ValueError, TypeError, RecursionError):
        return None
    return Report(findings, read, unread=unread)


def _line(items: Iterable[Any]) -> str:
    every = list(items)
    if not every:
        return ""
    import json

    return json.dumps(every, separators=(",", ":"))


def _parsed(line: str) -> Any:
    if not line:
        return []
    import json

    return json.loads(line)


def _finding(one: Diagnostic) -> list[Any]:
    fix = None if one.fix is None else _fix(one.fix)
    plain = (one.code, one.name, one.message, one.start, one.end, one.norm, one.excerpt, one.excerpt_start)
    return [*plain, fix, one.norms, one.summary]


def _fix(fix: PlacedFix) -> list[Any]:
    edits = [(edit.start, edit.end, edit.text) for edit in fix.edits]
    hunks = [(hunk.cell, hunk.line, hunk.old, hunk.new) for hunk in fix.hunks]
    return [fix.applicability.value, fix.message, edits, hunks, fix.made]


def _norm(one: ListedNorm) -> list[Any]:
    return [one.place, one.kind, one.qualname, one.spine, one.number, one.unit]


def _read_finding(path: str, given: Any) -> Diagnostic:
    code, name, message, start, end, norm, excerpt, first, fix, norms, summary = _listed(given)
    told = (_text(code), _text(name), _text(message), path)
    repaired = None if fix is None else _read_fix(fix)
    seen = _each(_text, excerpt)
    numbers = _each(_number, norms)
    return Diagnostic(
        *told,
        _place(start),
        _place(end),
        _text(norm),
        seen,
        _number(first),
        repaired,
        norms=numbers,
        summary=_text(summary),
    )


def _read_fix(given: Any) -> PlacedFix:
    applicability, message, edits, hunks, made = _listed(given)
    if not isinstance(made, bool):
        raise TypeError
    trust = Applicability(_text(applicability))
    return PlacedFix(trust, _text(message), _each(_read_edit, edits), _each(_read_hunk, hunks), made)


def _read_edit(given: Any) -> PlacedEdit:
    start, end, text = _listed(given)
    return PlacedEdit(_place(start), _place(end), _text(text))


def _read_hunk(given: Any) -> Hunk:
    cell, line, old, new = _listed(given)
    return Hunk(_maybe_number(cell), _number(line), _each(_text, old), _each(_text, new))


def _read_norm(path: str, given: Any) -> ListedNorm:
    place, kind, qualname, spine, number, unit = _listed(given)
    return ListedNorm(
        path, _place(place), _text(kind), _text(qualname), _text(spine), number=_number(number), unit=_number(unit)
    )


_OF_UNREAD: Final = 2


def _read_unread(path: str, given: Any) -> Unread:
    place, qualname = _listed(given)
    return Unread(path, _place(place), _text(qualname))


_MOST: Final = 2**31


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError
    return given


def _each(read: Callable[[Any], Item], given: Any) -> tuple[Item, ...]:
    return tuple(read(one) for one in _listed(given))


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _number(given: Any) -> int:
    if type(given) is not int or not 0 <= given < _MOST:
        raise TypeError
    return given


def _maybe_number(given: Any) -> int | None:
    return None if given is None else _number(given)


def _place(given: Any) -> Place:
    cell, line, column = _listed(given)
    return Place(_maybe_number(cell), _number(line), _number(column))

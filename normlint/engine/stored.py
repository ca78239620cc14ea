"""Convert reports to JSON text for the cache and back; what is read is checked, since anybody may have written it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from normlint.engine.cache import SKIPPED, Known
from normlint.engine.report import Diagnostic, Hunk, ListedNorm, PlacedEdit, PlacedFix, Report, Unread
from normlint.text.finding import SEVERITIES, Applicability
from normlint.text.source import Place

# The type of a value: str, bool, int (from 0 to _MOST), Applicability or one of the classes below. [shape] is a tuple
# of values of that shape, (..., shape) is the shape or None, and a frozenset lists the allowed strings.
Shape: TypeAlias = "type[Any] | list[Any] | tuple[Any, Any] | frozenset[str]"
NUMBER_OR_NONE: Final = (..., int)
SEVERITY: Final = frozenset(SEVERITIES)
FIELDS: Final[dict[type[Any], dict[str, Shape]]] = {
    Place: {"cell": NUMBER_OR_NONE, "line": int, "column": int},
    PlacedEdit: {"start": Place, "end": Place, "text": str},
    Hunk: {"cell": NUMBER_OR_NONE, "line": int, "old": [str], "new": [str], "above": str},
    PlacedFix: {"applicability": Applicability, "message": str, "edits": [PlacedEdit], "hunks": [Hunk], "made": bool},
    Diagnostic: {
        "code": str, "name": str, "message": str, "start": Place, "end": Place, "norm": str,
        "excerpt": [str], "excerpt_start": int, "fix": (..., PlacedFix), "norms": [int],
        "severity": SEVERITY, "consequence": str, "evidence": str, "reads": str,
    },
    ListedNorm: {
        "place": Place, "kind": str, "qualname": str, "spine": str, "sentence": str, "number": int, "unit": int,
    },
    Unread: {"place": Place, "qualname": str},
}  # fmt: skip
_MOST: Final = 2**31


def stored(report: Report) -> Known:
    """Return the report as text for the cache, without its path; unread definitions are stored with the norms."""
    count = SKIPPED if report.skipped else str(report.norm_count or "")
    return Known(_line(report.findings), _line((*report.norms, *report.unread)), count)


def restored(path: str, known: Known, *, norms: bool = True) -> Report | None:
    """Return the stored report as one on `path`, with norms if asked for; None if the text is no valid report."""
    try:
        findings = tuple(_made(Diagnostic, one, path=path) for one in _listed(_parsed(known.findings)))
        listed = _listed(_parsed(known.norms)) if norms else []
        kinds = [(Unread if len(one) == len(FIELDS[Unread]) else ListedNorm, one) for one in listed]
        read = [_made(kind, one, path=path) for kind, one in kinds]
        skipped = (path,) if known.count == SKIPPED else ()
        unlisted = 0 if norms or skipped else int(known.count or 0)
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
    unread = tuple(one for one in read if isinstance(one, Unread))
    listed_norms = tuple(one for one in read if isinstance(one, ListedNorm))
    return Report(findings, listed_norms, unread=unread, unlisted=unlisted, skipped=skipped)


def _line(items: Iterable[Any]) -> str:
    every = [_values(one) for one in items]
    if not every:
        return ""
    import json

    return json.dumps(every, separators=(",", ":"))


def _parsed(line: str) -> Any:
    if not line:
        return []
    import json

    return json.loads(line)


def _values(value: Any) -> Any:
    """Return the value as lists, strings and numbers."""
    if type(value) in FIELDS:
        return [_values(getattr(value, name)) for name in FIELDS[type(value)]]
    if isinstance(value, Applicability):
        return value.value
    return [_values(one) for one in value] if isinstance(value, tuple) else value


def _read(shape: Shape, given: Any) -> Any:
    """Return the stored value; KeyError, TypeError or ValueError if it isn't of this shape."""
    if isinstance(shape, tuple):
        return None if given is None else _read(shape[1], given)
    if isinstance(shape, list):
        return tuple(_read(shape[0], one) for one in _listed(given))
    if isinstance(shape, frozenset):
        return {one: one for one in shape}[_read(str, given)]
    if shape in FIELDS:
        return _made(shape, given)
    if shape is Applicability:
        return Applicability(_read(str, given))
    if type(given) is not shape or (shape is int and not 0 <= given < _MOST):
        raise TypeError
    return given


def _made(kind: type[Any], given: Any, **more: str) -> Any:
    """Make an object of this class from a list of the values of its fields."""
    fields = FIELDS[kind]
    pairs = zip(fields.items(), _listed(given), strict=True)
    return kind(**more, **{name: _read(shape, value) for (name, shape), value in pairs})


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError
    return given

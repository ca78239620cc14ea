"""Separate a text's own findings and norms from those of what it borrows from other files."""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from normlint.norm.norm import Norm
from normlint.rules import Analysis
from normlint.rules.blocks import LightAnalysis, LightNorm
from normlint.text.finding import Finding, Span

_WRITTEN: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?=[.(])")  # names that are called, or whose attributes are read
_BUILTIN: Final = dir(builtins)


def own_part(found: Analysis | LightAnalysis, text: str) -> Analysis | LightAnalysis:
    """Return the findings in the text itself, and its norms, whose formula may be borrowed."""
    homes = sorted((home, number) for number, norm in enumerate(found.norms) for home in _homes(norm, text))
    place: dict[int, list[int]] = {}
    for at, (_, number) in enumerate(homes):
        place.setdefault(number, []).append(at)
    own = (one for one in found.findings if one.span.start < len(text))
    findings = tuple(replace(_fixable_here(one, text), norms=_placed(one, place)) for one in own)
    norms: Any = tuple(replace(found.norms[number], span=home) for home, number in homes)
    unread = tuple((name, span) for name, span in found.unread if span.start < len(text))
    elsewhere = (one for one in found.findings if one.span.start >= len(text) and not one.code.startswith("NRM6"))
    blamed = frozenset(number for one in elsewhere for number in _placed(one, place))
    return replace(found, findings=findings, norms=norms, unread=unread, blamed=blamed)


def _placed(one: Finding, place: dict[int, list[int]]) -> tuple[int, ...]:
    return tuple(sorted(at for number in one.norms for at in place.get(number, ())))


def _fixable_here(one: Finding, text: str) -> Finding:
    """Remove a fix that changes another file, or writes a name that only another file has."""
    edits = one.fix.edits if one.fix is not None else ()
    written = {name for edit in edits for name in _WRITTEN.findall(edit.text)}
    here = all(edit.span.end <= len(text) for edit in edits) and (not written or written <= _names(text))
    return one if here else replace(one, fix=None)


@lru_cache(maxsize=4)
def _names(text: str) -> frozenset[str]:
    """Return every name that a text assigns, imports or uses."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    named = {getattr(node, field) for node in nodes for field in ("id", "arg", "asname") if hasattr(node, field)}
    plain = {node.name.partition(".")[0] for node in nodes if isinstance(node, ast.alias) and not node.asname}
    return frozenset((*filter(None, named), *plain, *_BUILTIN))


def _homes(norm: Norm | LightNorm, text: str) -> list[Span]:
    """Return where a norm is in the text; for a borrowed formula, its callers, or else the name of its class."""
    if norm.span.start < len(text):
        return [norm.span]
    head = re.search(rf"^class[ \t]+({norm.qualname.partition('.')[0]})\b", text, re.MULTILINE)
    own = [span for span in norm.within if span.start < len(text)]
    return own or ([Span(*head.span(1))] if head else [])

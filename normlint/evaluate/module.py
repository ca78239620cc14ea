"""A unit of Python as named pieces: cut by its lines, each piece lowered only when somebody asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from normlint.evaluate import syntax as s
from normlint.evaluate.lower import lower
from normlint.evaluate.walk import blocks_of
from normlint.text.finding import Span

REDUCTION = re.compile(
    r"\b(?:mean|sum|nansum|nanmean|var|var_mean|std|std_mean|norm|vector_norm|normalize|einsum|reduce|average|vecdot)\s*\("
)
_START = re.compile(r'^(?=[^\s#)\]}])|"""|\'\'\'', re.MULTILINE)
_CONTINUES = re.compile(r"(else|elif|except|finally|case)\b")
_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:class|def)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_HEADER = re.compile(r"^(?:async[ \t]+)?(class|def)[ \t]+(\w+)", re.MULTILINE)
_KIND = re.compile(r"(import|from|if|try|with|for|while|async|match)\b")


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement at the top of the unit. `kind` is class, def, import, compound or plain."""

    kind: str
    span: Span
    names: tuple[str, ...]


def pieces(text: str) -> tuple[Piece, ...]:
    """The top-level statements of `text`, found without parsing it."""
    starts = [*_starts(text), len(text)]
    found: list[tuple[int, int]] = []
    decorated = False
    for start, end in pairwise(starts):
        if found and (decorated or _CONTINUES.match(text, start)):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
        decorated = text[start] == "@" and not _holds_definition(text, start, end)
    return tuple(_piece(text, a, b) for a, b in found)


def _holds_definition(text: str, start: int, end: int) -> bool:
    return bool(re.search(r"^(?:async[ \t]+)?(?:class|def)\b", text[start:end], re.MULTILINE))


def _starts(text: str) -> Iterator[int]:
    """Where lines begin at column 0, outside triple-quoted strings."""
    quote = ""
    at = -1
    for match in _START.finditer(text):
        mark = match.group()
        if mark:
            if not quote:
                quote = "" if _in_comment(text, match.start()) else mark
            elif quote == mark:
                quote = ""
        elif not quote and match.start() > at:
            at = match.start()
            yield at


def _in_comment(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return "#" in line and line.count('"') % 2 == 0 and line.count("'") % 2 == 0


def _piece(text: str, start: int, end: int) -> Piece:
    """What a top-level statement is, by its first words; a decorated one by what is decorated."""
    span = Span(start, end)
    find = _HEADER.search if text[start] == "@" else _HEADER.match
    match = find(text, start, end)
    if match:
        return Piece(match[1], span, (match[2],))
    word = _KIND.match(text, start)
    if word and word[1] in ("import", "from"):
        return Piece("import", span, ())
    names = tuple(a or b for a, b in _DEFINES.findall(text[start:end]))
    return Piece("compound" if word else "plain", span, names)


@dataclass
class Module:
    """The text with its pieces. `snippet`: names may be bound elsewhere."""

    text: str
    snippet: bool = False
    spent: int = 0  # expressions evaluated so far
    _lowered: dict[Span, s.Block] = field(default_factory=dict)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces; where cutting by lines went wrong, the statements that the parser finds."""
        found = pieces(self.text)
        try:
            for piece in found:
                if piece.kind in ("import", "compound"):
                    self.block(piece)
        except SyntaxError:
            return self._parsed()
        return found

    def _parsed(self) -> tuple[Piece, ...]:
        found = []
        for stmt in lower(self.text):
            piece = _piece(self.text, *stmt.span)
            self._lowered[piece.span] = (stmt,)
            found.append(piece)
        return tuple(found)

    def block(self, piece: Piece) -> s.Block:
        """The statements of one piece. Raises SyntaxError."""
        if piece.span not in self._lowered:
            start, end = piece.span
            self._lowered[piece.span] = lower(self.text[start:end], start)
        return self._lowered[piece.span]

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local name → dotted path, also of imports under `if` and `try`."""
        found: dict[str, str] = {}
        for piece in self.pieces:
            if piece.kind in ("import", "compound"):
                for stmt in self.block(piece):
                    found.update(_imports_in(stmt))
        return found

    @cached_property
    def index(self) -> dict[str, list[Piece]]:
        """Name → the pieces that define it, in order."""
        found: dict[str, list[Piece]] = {}
        for piece in self.pieces:
            for name in piece.names:
                found.setdefault(name, []).append(piece)
        return found

    def source(self, span: Span) -> str:
        return self.text[span.start : span.end]


def _imports_in(stmt: s.Stmt) -> Iterator[tuple[str, str]]:
    if isinstance(stmt, s.Import):
        yield from stmt.bindings
    for block in blocks_of(stmt):
        for inner in block:
            yield from _imports_in(inner)

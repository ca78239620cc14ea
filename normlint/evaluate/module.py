"""A unit of Python as named pieces: cut by its lines, each piece lowered only when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

from normlint.evaluate import syntax as s
from normlint.evaluate.lower import lower
from normlint.evaluate.walk import blocks_of
from normlint.text.finding import Span
from normlint.text.pieces import Piece, piece_of, pieces


@dataclass(frozen=True)
class Use:
    """How a class of the text is called: with how many axes, and which number given to its constructor is the last."""

    rank: int | None
    least: int
    wide: int | None = None


Uses: TypeAlias = tuple[tuple[str, Use], ...]  # by the class's name

Refilled = frozenset[tuple[str, str]]  # a class, and what its weight is filled with: ones, zeros, random (around 0)


@dataclass
class Module:
    """The text with its pieces. `snippet`: names may be bound elsewhere.

    `reinitialised`: the file that the text was cut from gives gains their values elsewhere, and which to the weights of
    which classes; None: not that the text tells. `begin`: where the statements start in which a norm may be, and in
    which of their functions that may come about; None: anywhere.
    """

    text: str
    snippet: bool = False
    reinitialised: Refilled | None = None
    begin: tuple[tuple[int, frozenset[str] | None], ...] | None = None
    exact: bool = False  # cut by the parser, not by the lines
    uses: Uses = ()  # how the file that the text was cut from calls classes
    read: frozenset[str] = frozenset()  # attributes that the rest of that file reads, and classes that it derives from
    spent: int = 0  # expressions evaluated so far
    broken: SyntaxError | None = None  # of a piece that was asked for
    deep: list[Span] = field(default_factory=list)  # nested too deeply to be followed
    unread: dict[str, Span] = field(default_factory=dict)  # too large to be read: functions by name, and where they are
    _lowered: dict[Span, s.Block] = field(default_factory=dict)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces; where cutting by lines went wrong, the parser's statements. May raise SyntaxError."""
        if self.exact:
            return self._parsed()
        found = pieces(self.text)
        try:
            for piece in found:
                self.bound(piece)
        except SyntaxError:
            return self._parsed()
        return found

    def _parsed(self) -> tuple[Piece, ...]:
        found = []
        for stmt in lower(self.text, deep=self.deep):
            piece = piece_of(self.text, *stmt.span)
            self._lowered[piece.span] = (stmt,)
            found.append(piece)
        return tuple(found)

    def block(self, piece: Piece) -> s.Block:
        """The statements of one piece. Raises SyntaxError."""
        if piece.span not in self._lowered:
            start, end = piece.span
            try:
                self._lowered[piece.span] = lower(self.text[start:end], start, later=True, deep=self.deep)
            except SyntaxError as error:
                self.broken = error
                raise
        return self._lowered[piece.span]

    def bound(self, piece: Piece) -> tuple[tuple[str, str], ...]:
        """What a piece imports. Raises SyntaxError."""
        if piece.kind == "compound":
            return tuple(one for stmt in self.block(piece) for one in _imports_in(stmt))
        try:
            return _bindings(self.source(piece.span)) if piece.kind == "import" else ()
        except SyntaxError as error:
            self.broken = error
            raise

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local name → dotted path, also of imports under `if` and `try`."""
        return {name: path for piece in self.pieces for name, path in self.bound(piece)}

    @cached_property
    def optional(self) -> frozenset[str]:
        """Dotted paths that are imported under `if` and `try`: the name may stand for None instead."""
        return frozenset(path for piece in self.pieces if piece.kind == "compound" for _, path in self.bound(piece))

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


@lru_cache(maxsize=512)
def _bindings(source: str) -> tuple[tuple[str, str], ...]:
    return tuple(one for stmt in lower(source) for one in _imports_in(stmt))


def _imports_in(stmt: s.Stmt) -> Iterator[tuple[str, str]]:
    if isinstance(stmt, s.Import):
        yield from stmt.bindings
    for block in blocks_of(stmt):
        for inner in block:
            yield from _imports_in(inner)

"""A Python module split into its top-level pieces, each of which is parsed when it is first used."""

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
    """How a class is called: the rank and minimum rank of its input, and the index of the parameter for its width."""

    rank: int | None
    least: int
    wide: int | None = None


Uses: TypeAlias = tuple[tuple[str, Use], ...]  # by class name

Refilled = frozenset[tuple[str, str]]  # a class, and how its weight is filled: ones, zeros or random (around 0)


@dataclass
class Module:
    """A text with its pieces; in a `snippet`, names may be bound elsewhere.

    `reinitialised`: how the file from which the text was cut initialises weights of classes elsewhere; None if only
    the text itself tells. `begin`: the offsets of statements that may contain a norm, each with the names of the
    functions in which it may be (None: any); None for all statements.
    """

    text: str
    snippet: bool = False
    reinitialised: Refilled | None = None
    begin: tuple[tuple[int, frozenset[str] | None], ...] | None = None
    exact: bool = False  # pieces are split by the parser, not by lines
    uses: Uses = ()  # how the file from which the text was cut calls classes
    read: frozenset[str] = frozenset()  # attributes and base classes that the rest of that file uses
    spent: int = 0  # expressions evaluated so far
    broken: SyntaxError | None = None  # the error of a piece that was used
    deep: list[Span] = field(default_factory=list)  # code that is nested too deeply
    unread: dict[str, Span] = field(default_factory=dict)  # functions that are too large, with their spans
    _lowered: dict[Span, s.Block] = field(default_factory=dict)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces, split by lines or, if that fails, by the parser; may raise SyntaxError."""
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
        """Return the statements of a piece; raise SyntaxError."""
        if piece.span not in self._lowered:
            start, end = piece.span
            try:
                self._lowered[piece.span] = lower(self.text[start:end], start, later=True, deep=self.deep)
            except SyntaxError as error:
                self.broken = error
                raise
        return self._lowered[piece.span]

    def bound(self, piece: Piece) -> tuple[tuple[str, str], ...]:
        """Return the (local name, dotted path) pairs that a piece imports; raise SyntaxError."""
        if piece.kind == "compound":
            return tuple(one for stmt in self.block(piece) for one in _imports_in(stmt))
        try:
            return _bindings(self.source(piece.span)) if piece.kind == "import" else ()
        except SyntaxError as error:
            self.broken = error
            raise

    @cached_property
    def imports(self) -> dict[str, str]:
        """Map local names to dotted paths, also of imports under `if` and `try`."""
        return {name: path for piece in self.pieces for name, path in self.bound(piece)}

    @cached_property
    def optional(self) -> frozenset[str]:
        """The dotted paths imported under `if` and `try`, so that the name may be None instead."""
        return frozenset(path for piece in self.pieces if piece.kind == "compound" for _, path in self.bound(piece))

    @cached_property
    def index(self) -> dict[str, list[Piece]]:
        """Map each name to the pieces that define it, in order."""
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

"""Can a statistic get to a root, and from there to a product? Asked of a piece's text before anything is evaluated.

The order of statements is forgotten, and all attributes of one name are one, so the answer errs to the side of yes.
Functions are read as the statistic gets to them: most of a class never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from normlint.norm.facts import Fact, Facts, facts
from normlint.norm.radicands import STATISTIC
from normlint.norm.worthy import bases_of, naming
from normlint.text.finding import Span
from normlint.text.marks import Marks
from normlint.text.pieces import Method, Piece, methods

_SMALL: Final = 12_000  # characters: in a piece that is no longer, one place where a norm may be is as good as all
_HANDED_ON: Final = re.compile(r"sqrt\b(?<=\.sqrt|rsqrt)(?!\s*\()")  # a root under another name
_SQUARED: Final = re.compile(r"pow\b|square|\*\*\s*2|(\b[\w.]+)\s*\*\s*\1\b")
_NEVER: Final = frozenset(("self", "cls", "config", "torch", "nn", "F", "np", "math"))
# What a name may hold, as bits: a statistic, a root of one, a square, a mean of squares or the like.
_STATISTIC, _ROOTED, _SQUARE, _OF_SQUARES = 1, 2, 4, 8
_Holds = dict[str, int]


def arrivals(
    text: str, piece: Piece, defined: Mapping[str, Piece], marks: Marks, *, rootless: bool
) -> frozenset[str] | None:
    """The functions of a piece in which a norm may come about, by name; None: it can't be told.

    `defined`: the functions and classes of the text. `rootless`: also a norm that takes no root.
    """
    if piece.kind not in ("def", "class"):
        return None
    flow = _Flow(text, piece, defined, marks, rootless)
    try:
        return flow.arrivals()
    except _Unreadable:
        return None


class _Unreadable(Exception):  # noqa: N818  (a doubt, no error)
    """A function's text isn't one by itself."""


class _Flow:
    """What names may hold: locals by function, attributes and results of functions for all of them."""

    def __init__(self, text: str, piece: Piece, defined: Mapping[str, Piece], marks: Marks, rootless: bool) -> None:
        self._text = text
        self._marks = marks
        self._rootless = rootless or _HANDED_ON.search(text, *piece.span) is not None
        self._piece = piece
        self._defined = defined
        self._locals: dict[Span, _Holds] = {}
        self._facts: dict[Span, Facts] = {}
        self._held: dict[tuple[Span, int], int] = {}  # by function and fact: what it has handed on
        self._shared: _Holds = {}
        self._news: list[tuple[Span | None, str]] = []  # names that hold more than before; None: everywhere
        self._arrived: set[str] = set()

    @cached_property
    def _functions(self) -> dict[Span, str]:
        found: dict[Span, str] = {}
        for one in (self._piece, *self._named()):
            own = methods(self._text, one.span) if one.kind == "class" else [Method(one.names[0], one.span)]
            found.update((method.span, method.name) for method in own)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Span]]:
        """The functions by their names, and by these as attributes."""
        found: dict[str, list[Span]] = {}
        for span, name in self._functions.items():
            for form in (name, f".{name}"):
                found.setdefault(form, []).append(span)
        return found

    @cached_property
    def _squares(self) -> bool:
        """Where it matters, a square is as good in another statement of a function that reduces."""
        reducing = (span for span in self._functions if self._marks.reduces(span))
        return self._rootless and any(_SQUARED.search(self._text, *span) for span in reducing)

    def _named(self) -> Iterator[Piece]:
        """The functions of the text that the piece names, and the classes it derives from; and what these name."""
        waiting, found = [self._piece], {self._piece}
        while waiting:
            one = waiting.pop()
            bases = bases_of(self._text, one.span)
            for name in self._defined.keys() & self._marks.words(one.span):
                other = self._defined[name]
                if other not in found and (
                    other.kind == "def" or name in bases or self._text.find(f"{name}.", *one.span) >= 0
                ):
                    found.add(other)
                    waiting.append(other)
                    yield other

    def arrivals(self) -> frozenset[str] | None:
        """Raises _Unreadable."""
        if self._marks.reduces(self._head()):
            return None
        for span in self._functions:
            if self._marks.reduces(span):
                for fact in self._read(span).marked():
                    self._see(span, fact, 0)
        few = self._piece.span.end - self._piece.span.start < _SMALL
        while self._news and not (few and self._arrived):
            where, word = self._news.pop()
            holds = (self._shared if where is None else self._locals[where])[word]
            for span in self._naming.get(word.lstrip("."), ()) if where is None else (where,):
                for fact in self._read(span).naming(word):
                    self._see(span, fact, holds)
        return None if few and self._arrived else self._callers(self._arrived)

    @cached_property
    def _naming(self) -> dict[str, list[Span]]:
        """Where a word stands, by function."""
        found: dict[str, list[Span]] = {}
        for span in self._functions:
            for word in self._marks.words(span):
                found.setdefault(word, []).append(span)
        return found

    def _callers(self, found: set[str]) -> frozenset[str]:
        """With the functions that name one of them, and those that name these."""
        named: dict[str, set[str]] = {}
        for span, name in self._functions.items():
            named.setdefault(name, set()).update(self._marks.words(span))
        return frozenset(naming(found, named))

    def _head(self) -> Span:
        """What of a class stands above its methods."""
        starts = [span.start for span in self._functions if span.start >= self._piece.span.start]
        end = min((s for s in starts if s < self._piece.span.end), default=self._piece.span.end)
        return Span(self._piece.span.start, end)

    def _see(self, span: Span, fact: Fact, more: int) -> None:
        """What a statement makes of what it gets: of all that it has got so far, and of what now came."""
        own = self._locals.setdefault(span, {})
        before = self._held.get((span, id(fact)), 0)
        holds = self._made(fact, before | more)
        if not holds:
            return
        if self._functions[span] not in self._arrived and self._arrives(fact, own, holds):
            self._arrived.add(self._functions[span])
        if holds == before:
            return
        self._held[span, id(fact)] = holds
        for bound in fact.binds:
            if bound[:1] == "." or bound == self._functions[span]:
                self._learn(None, self._shared, bound, holds)
            else:
                self._learn(span, own, bound, holds)
        self._hand_over(span, fact, holds)

    def _learn(self, where: Span | None, known: _Holds, name: str, holds: int) -> None:
        before = known.get(name, 0)
        if holds & ~before:
            known[name] = before | holds
            self._news.append((where, name))

    def _read(self, span: Span) -> Facts:
        if span not in self._facts:
            read = facts(self._text[slice(*span)])
            if read is None:
                raise _Unreadable
            self._facts[span] = read
        return self._facts[span]

    def _made(self, fact: Fact, holds: int) -> int:
        """What a statement makes, where its words hold that."""
        holds |= _STATISTIC * fact.reduces | _ROOTED * fact.rooted | _SQUARE * fact.squares
        return holds | _OF_SQUARES if fact.reduces and (holds & _SQUARE or self._squares) else holds

    def _arrives(self, fact: Fact, own: _Holds, holds: int) -> bool:
        for under in fact.roots:
            known = [where[word] for where in (own, self._shared) for word in under & where.keys()]
            if STATISTIC in under or any(one & _STATISTIC for one in known):
                return True
        return fact.scales and bool(holds & (_ROOTED | (_OF_SQUARES if self._rootless else 0)))

    def _hand_over(self, where: Span, fact: Fact, holds: int) -> None:
        """Functions of the text that the statement names get all of it, and so do those within its own."""
        for name, params in self._read(where).params.items():
            if name in fact.words or f".{name}" in fact.words:
                for param in params - _NEVER:
                    self._learn(where, self._locals[where], param, holds)
        for name in self._by_name.keys() & fact.words:
            for span in self._by_name[name]:
                known = self._locals.setdefault(span, {})
                for param in self._read(span).params.get(self._functions[span], frozenset()) - _NEVER:
                    self._learn(span, known, param, holds)

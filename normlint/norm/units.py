"""The functions of a text, each walked by itself in the light domain, and an index of its names."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from normlint.evaluate import light, origins
from normlint.evaluate.origins import Seen
from normlint.text.depth import too_deep
from normlint.text.finding import Span
from normlint.text.pieces import Piece

_BASES: Final = re.compile(r"class[ \t]+\w+\(([^)]*)\)")
_BARE: Final = re.compile(r"(?<![\w.])\w+")
_DERIVED: Final = re.compile(r"^[ \t]*class[ \t]+\w+\((.*)", re.MULTILINE)
_MANY: Final = 300  # lookups in one text after which an index of all its words is cheaper
_WORD: Final = re.compile(r"\w+")
_TAIL: Final = re.compile(r"\n[ \t]+@\w[^@]*\Z")


def mentions(text: str, name: str, span: Span) -> Iterator[int]:
    """Yield the offsets in `span` at which a name stands as a whole word, outside quotes."""
    for at in _words(text).places(name, span):
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_is_part(before) or _is_part(after)):
            yield at


class _Words:
    """The offsets of a text's words: searched one by one at first, indexed once many have been asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._asked = 0

    def places(self, word: str, span: Span) -> Iterator[int]:
        """Yield the offsets of a word in `span`; it may be part of a longer word there."""
        self._asked += 1
        if self._asked > _MANY:
            every = self._index.get(word, [])
            yield from every[bisect_left(every, span.start) : bisect_right(every, span.end - len(word))]
            return
        at = self._text.find(word, *span)
        while at >= 0:
            yield at
            at = self._text.find(word, at + len(word), span.end)

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for match in _WORD.finditer(self._text):
            found.setdefault(match[0], []).append(match.start())
        return found


@lru_cache(maxsize=4)
def _words(text: str) -> _Words:
    return _Words(text)


def bases_of(text: str, span: Span) -> set[str]:
    """Return the words in the base lists of the class statements in `span`."""
    return {word for match in _BASES.finditer(text, *span) for word in _WORD.findall(match[1])}


def is_base(text: str, name: str) -> bool:
    """Return whether another class of the text derives from this one."""
    return name in _bases(text)


@lru_cache(maxsize=4)
def _bases(text: str) -> frozenset[str]:
    return frozenset(word for line in _DERIVED.findall(text) for word in _BARE.findall(line))


def _is_part(char: str) -> bool:
    return bool(char) and (char.isalnum() or char == "_" or char in "\"'")


class Unit(NamedTuple):
    """A top-level function, a method, or all other top-level statements as one."""

    span: Span
    name: str
    piece: Piece

    @property
    def qualname(self) -> str:
        """Return the function's name, with the class's name before it."""
        return f"{self.piece.names[0]}.{self.name}" if self.piece.kind == "class" else self.name


class Read(NamedTuple):
    """The statements of a unit, and what the light walk shows of them without the rest of the text."""

    body: list[ast.stmt]
    seen: Seen


@lru_cache(maxsize=256)
def read_of(text: str) -> Read | None:
    """Return the statements of a unit's text, walked, or None if the text isn't valid Python by itself."""
    try:
        body = None if too_deep(text) else _parsed(text)
        return None if body is None else Read(body, light.seen(body, origins.Text(), binds=":=" in text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parsed(text: str) -> list[ast.stmt]:
    """Return the statements; decorators of the next definition at the end of the text are dropped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            try:
                return ast.parse(f"if 1:\n{text}" if text[:1] in " \t" else text).body
            except SyntaxError:
                text = _TAIL.sub("\n", text)
        return ast.parse(f"if 1:\n{text}").body


def reached(found: set[str], named: Mapping[str, set[str]]) -> set[str]:
    """Return the transitive closure of `found` under `named`."""
    every, waiting = set(found), list(found)
    while waiting:
        new = named.get(waiting.pop(), set()) - every
        every |= new
        waiting += new
    return every

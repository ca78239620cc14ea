"""Which statements at the top of a unit may hold a norm, by their text: those that reach a reduction and a root.

They show both themselves, or through a function that they name or a class they derive from. A doubt is a yes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final

from normlint.norm.names import intent
from normlint.text.finding import Span
from normlint.text.marks import Marks
from normlint.text.pieces import Piece

_GAIN: Final = re.compile(r"\b(?:weights?|gamma|gain|scale|g|w)\b")
_BASES: Final = re.compile(r"class[ \t]+\w+\(([^)]*)\)")
_FUNCTION: Final = re.compile(r"\n[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\((?!self|cls)")  # that is no method
_WORD: Final = re.compile(r"\w+")
_LOOSE: Final = ("plain", "compound")
_QUOTES: Final = "\"'"


def is_named(name: str) -> bool:
    """Does the name say that it is a norm?"""
    return bool(intent(name)) or "norm" in name.lower()


def worthy(text: str, pieces: tuple[Piece, ...], marks: Marks) -> list[Piece]:
    """Pieces that reach a reduction and a root, in the order of the text; loose statements are taken together."""
    return _Search(text, pieces, marks).worthy() if marks.reductions else []


def is_gained(text: str, piece: Piece, marks: Marks) -> bool:
    """Do parameters of its own say that a piece may be a norm, whatever it lacks?"""
    if piece.kind == "def":
        own = _GAIN.search(text, *piece.span) is not None
    else:
        own = text.find("Parameter(", *piece.span) >= 0
    return own and marks.may_root(piece.span)


def mentions(text: str, name: str, span: Span) -> Iterator[int]:
    """Where a name stands in a stretch of text, alone and not as a string."""
    at = text.find(name, *span)
    while at >= 0:
        end = at + len(name)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (_is_part(before) or _is_part(after)):
            yield at
        at = text.find(name, end, span.end)


def functions_in(text: str, piece: Piece) -> list[str]:
    """The functions in a compound statement that are no methods."""
    return _FUNCTION.findall(text, *piece.span)


def bases_of(text: str, span: Span) -> set[str]:
    """The words in the brackets of class statements."""
    return {word for match in _BASES.finditer(text, *span) for word in _WORD.findall(match[1])}


def naming(found: AbstractSet[str], named: Mapping[str, AbstractSet[str]]) -> set[str]:
    """With the names whose words name one of them, and those whose words name these; `named`: words by name."""
    known = named.keys() | found
    by: dict[str, list[str]] = {}
    for name, words in named.items():
        for word in words & known:
            by.setdefault(word, []).append(name)
    reached, waiting = set(found), list(found)
    while waiting:
        new = [name for name in by.get(waiting.pop(), ()) if name not in reached]
        reached.update(new)
        waiting += new
    return reached


def is_base(text: str, name: str) -> bool:
    """Another class of the text derives from this one."""
    if text.count(name) < 2:
        return False
    return re.search(rf"^[ \t]*class[ \t]+\w+\(.*\b{re.escape(name)}\b", text, re.MULTILINE) is not None


def _is_part(char: str) -> bool:
    return bool(char) and (char.isalnum() or char == "_" or char in _QUOTES)


class _Search:
    def __init__(self, text: str, pieces: tuple[Piece, ...], marks: Marks) -> None:
        self._text = text
        self._pieces = pieces
        self._marks = marks
        self._starts = [piece.span.start for piece in pieces]
        self._rooted: dict[Piece, bool] = {}
        self._based: dict[Piece, set[str]] = {}

    def worthy(self) -> list[Piece]:
        numbers = {bisect_right(self._starts, at) - 1 for at in self._marks.reductions}
        direct = [self._pieces[number] for number in sorted(numbers) if number >= 0]
        reducing = {*direct, *self._naming(direct)}
        loose = {p for p in self._pieces if p.kind in _LOOSE}
        found = {p for p in reducing if self._meant(p) or self._reaches_root(p)}
        if loose & reducing and (loose & found or any(map(self._reaches_root, loose))):
            found |= loose
        return [p for p in self._pieces if p in found and p.kind != "import"]

    def _meant(self, piece: Piece) -> bool:
        return any(map(is_named, piece.names)) or is_gained(self._text, piece, self._marks)

    def _naming(self, marked: list[Piece]) -> Iterator[Piece]:
        """Pieces that name a function among the marked ones, or derive from a class among them."""
        every = Span(0, len(self._text))
        kinds = {name: one.kind for one in marked if one.kind in ("def", "class") for name in one.names}
        kinds |= {name: "def" for one in marked if one.kind == "compound" for name in functions_in(self._text, one)}
        for name, kind in kinds.items():
            for at in mentions(self._text, name, every):
                one = self._pieces[max(bisect_right(self._starts, at) - 1, 0)]
                if kind == "def" or self._text[at + len(name) : at + len(name) + 1] == "." or name in self._bases(one):
                    yield one

    def _bases(self, piece: Piece) -> set[str]:
        if piece not in self._based:
            self._based[piece] = bases_of(self._text, piece.span)
        return self._based[piece]

    def _reaches_root(self, piece: Piece) -> bool:
        if self._roots(piece):
            return True
        for name, definition in self._rooted_functions.items():
            if definition is not piece and any(True for _ in mentions(self._text, name, piece.span)):
                return True
        return not self._rooted_classes.isdisjoint(self._bases(piece)) or any(
            f"{name}." in self._text[slice(*piece.span)] for name in self._rooted_classes if name not in piece.names
        )

    @cached_property
    def _rooted_functions(self) -> dict[str, Piece]:
        """Those with a root, those that name one of them, and so on."""
        found = {p.names[0]: p for p in self._pieces if p.kind == "def" and self._roots(p)}
        compound = (p for p in self._pieces if p.kind == "compound" and self._roots(p))
        found |= {name: p for p in compound for name in functions_in(self._text, p)}
        functions = {p.names[0]: p for p in self._pieces if p.kind == "def"}
        words = {name: self._marks.words(p.span) for name, p in functions.items()} if found else {}
        return found | {name: functions[name] for name in naming(set(found), words) - found.keys()}

    @cached_property
    def _rooted_classes(self) -> set[str]:
        """Those with a root, those that derive from one of them, and so on."""
        classes = [p for p in self._pieces if p.kind == "class"]
        found = {p.names[0] for p in classes if self._roots(p)}
        return naming(found, {p.names[0]: self._bases(p) for p in classes}) if found else found

    def _roots(self, piece: Piece) -> bool:
        if piece not in self._rooted:
            self._rooted[piece] = self._marks.roots(piece.span)
        return self._rooted[piece]

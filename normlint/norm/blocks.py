"""Cut a module into blocks: the statements that related norms need, and no more.

The result for a block depends on its text alone, so a norm that is copied from file to file is evaluated once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, TypeVar

from normlint.evaluate.module import Refilled
from normlint.evaluate.monomial import NOWHERE
from normlint.norm.candidates import Candidates, Found, candidates
from normlint.norm.refilled import applied, refilled
from normlint.norm.units import bases_of, mentions
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, kept_each, replace
from normlint.text.marks import Marks
from normlint.text.pieces import COMMENT, WORD, Piece, pieces

_IMPORT: Final = re.compile(r"\n[ \t]+(?:from|import)\b[^\n(]*(?:\([^)]*\))?")
_LOOSE: Final = ("plain", "compound")
_OF_IMPORTS: Final = {"from", "import", "as"}
_TORCHS: Final = re.compile(r"torch(?<=\btorch)\.(\w+)")
OTHERS: Final = ("numpy", "jax", "tensorflow", "keras", "mlx", "paddle", "cupy", "flax")  # array libraries
STORING: Final = {"load", "save"}  # used from torch by files whose arrays are another library's
_REINITIALISED: Final = ("_init_weights", "quant_mode", "weight_loader", "def load_weights")


@dataclass(frozen=True, slots=True)
class Block:
    """Some statements of a module in their order, with the mapping of offsets back to the module."""

    text: str
    reinitialised: Refilled | None
    begin: Candidates  # offsets in the block
    _starts: tuple[int, ...]  # of the statements, in the block
    origins: tuple[int, ...]  # of the same statements, in the module

    def home(self, span: Span) -> Span:
        """Return the module's span for a span of the block."""
        number = max(bisect_right(self._starts, span.start) - 1, 0)
        return span.shift(self.origins[number] - self._starts[number])

    def here(self, span: Span, unit: str) -> Span | None:
        """Return the block's span for a span of the module, or None if the block lacks that text."""
        number = bisect_right(self.origins, span.start) - 1
        if number < 0:
            return None
        part = self.text[slice(*(*self._starts, len(self.text))[number : number + 2])].rstrip("\n")
        origin = self.origins[number]
        if span.end > origin + len(part) or not unit.startswith(part, origin):
            return None
        return span.shift(self._starts[number] - origin)


T = TypeVar("T")


def homed(value: T, block: Block) -> T:
    """Return `value` with every span in it mapped from the block to the module."""
    done: dict[int, Any] = {}

    def moved(one: Any) -> Any:
        if isinstance(one, Span):
            return one if one == NOWHERE else block.home(one)
        if isinstance(one, (tuple, frozenset)):
            several = [moved(part) for part in one]
            return type(one)(several) if any(a is not b for a, b in zip(one, several, strict=True)) else one
        if not is_dataclass(one) or isinstance(one, type):
            return one
        if id(one) not in done:
            parts = ((part.name, getattr(one, part.name)) for part in fields(one))
            new = {name: there for name, here in parts if (there := moved(here)) is not here}
            done[id(one)] = replace(one, **new) if new else one
        return done[id(one)]

    found: T = moved(value)
    return found


@lru_cache(maxsize=4)
def reinitialises(text: str) -> Refilled | None:
    """Return the classes whose weights the text fills later, each with its value (ones, zeros, random); None if none.

    Quantised copies and inference servers, for example, take their weights over from a trained model.
    """
    said = any(mark in text for mark in _REINITIALISED)
    if not (said and any(mark in COMMENT.sub("", text) for mark in _REINITIALISED)) and not applied(text):
        return None
    return refilled(text)


def whole(text: str) -> Block:
    """Return the whole module as one block."""
    return Block(text, reinitialises(text), None, (0,), (0,))


def blocks(text: str, own: int | None = None) -> Iterator[Block]:
    """Yield the blocks that may hold norms, in text order; the text from offset `own` on is from other files."""
    foreign = all(used[1] in STORING for used in _TORCHS.finditer(text)) and "from torch" not in text
    if foreign and any(map(text.__contains__, OTHERS)):  # all imports are needed to tell whose arrays they are
        yield whole(text)
        return
    found = pieces(text)
    marks = Marks(text)
    begin = candidates(text, found, marks)
    if own is not None:
        begin = {piece: where for piece, where in begin.items() if piece.span.start < own}
    if begin:
        cutter = _Cutter(text, found, marks, begin)
        reinitialised = reinitialises(text)
        for group in cutter.groups():
            yield cutter.block(group, reinitialised)


class _Cutter:
    def __init__(self, text: str, found: Sequence[Piece], marks: Marks, begin: Found) -> None:
        self._text = text
        self._begin = begin
        self._marks = marks
        self._importing = [piece for piece in found if piece.kind in ("import", "compound")]
        self._index: dict[str, list[Piece]] = {}
        for piece in found:
            for name in piece.names:
                self._index.setdefault(name, []).append(piece)
        self._classes = {piece.names[0]: piece for piece in found if piece.kind == "class"}  # the last one of each name

    def groups(self) -> list[set[Piece]]:
        """Return the pieces of each block: candidates that need one another, or the same reduction, share one."""
        groups: list[set[Piece]] = []
        loose = [piece for piece in self._begin if piece.kind in _LOOSE]
        others = [[piece] for piece in self._begin if piece.kind not in _LOOSE]
        for begin in [loose] * bool(loose) + others[::-1]:  # later definitions need more
            if any(begin[0] in group for group in groups):  # then all that it needs is there, too
                continue
            needed = self._needed(begin)
            shared = {one for one in needed if one in self._begin or self._marks.reduces(one.span)}
            apart = []
            for group in groups:
                if group & shared:
                    needed |= group
                else:
                    apart.append(group)
            groups = [*apart, needed]
        return sorted(groups, key=lambda group: min(piece.span for piece in group))

    def _needed(self, begin: Sequence[Piece]) -> set[Piece]:
        """Return the pieces with all definitions that evaluating them needs."""
        found = set(begin)
        waiting = list(begin)
        known: set[str] = set()  # names whose definitions have all been added
        while waiting:
            one = waiting.pop()
            for word in (self._words_of(one) & self._index.keys()) - known:
                every = self._index[word]
                kept = every if self._asks(one, word) else [other for other in every if other.kind != "class"]
                new = [other for other in kept if other not in found]
                found.update(new)
                waiting += new
                if found.issuperset(every):
                    known.add(word)
        return found

    def _asks(self, one: Piece, name: str) -> bool:
        """Return whether a piece needs the body of a class: as a base, for an attribute or in an annotation."""
        if one.kind not in ("class", "def") or all(other.kind != "class" for other in self._index[name]):
            return True
        return name in bases_of(self._text, one.span) or any(
            self._text[at + len(name) : at + len(name) + 1] == "."
            or self._text[max(at - 4, 0) : at].rstrip(" ")[-1:] == ":"
            for at in mentions(self._text, name, one.span)
        )

    @kept_each
    def _words_of(self, piece: Piece) -> frozenset[str]:
        return self._marks.words(piece.span) - _OF_IMPORTS

    def _imported(self, piece: Piece) -> set[str]:
        """Return the words of the imports under an `if` or a `try`."""
        every = " ".join(match.group() for match in _IMPORT.finditer(self._text, *piece.span))
        return set(WORD.findall(every)) - _OF_IMPORTS

    def block(self, group: set[Piece], reinitialised: Refilled | None) -> Block:
        """Return the block of a group: its statements and the imports that they use."""
        words: frozenset[str] = frozenset().union(*map(self._words_of, group))
        made = (self._classes[name] for name in words & self._classes.keys())
        several = sorted({*group, *self._importing, *made}, key=lambda piece: piece.span)
        kept = [(piece, source) for piece in several if (source := self._kept(piece, group, words))]
        parts = [source for _, source in kept]
        starts = tuple(accumulate((len(part) for part in parts), initial=0))[:-1]
        begin = {at: self._begin[one] for at, (one, _) in zip(starts, kept, strict=True) if one in self._begin}
        origins = tuple(piece.span.start for piece, _ in kept)
        return Block("".join(parts), reinitialised, tuple(begin.items()), starts, origins)

    def _kept(self, piece: Piece, group: set[Piece], words: frozenset[str]) -> str:
        """Return what a block holds of a statement: all of it, `class A: ...` for a class outside the group, or ""."""
        if piece.kind == "class" and piece not in group:
            return f"class {piece.names[0]}: ...\n"
        imported = {"import": self._words_of, "compound": self._imported}.get(piece.kind)
        used = imported is not None and not words.isdisjoint(imported(piece))
        return _trimmed(self._text[slice(*piece.span)]) if piece in group or used else ""


def _trimmed(source: str) -> str:
    """Return a statement without the comments and blank lines that follow it."""
    end = len(source)
    while (line := source.rfind("\n", 0, end - 1) + 1) and source[line:end].strip()[:1] in ("", "#"):
        if source[line:end][:1] in " \t" and source[line:end].strip():
            break
        end = line
    kept = source[:end]
    return kept if kept.endswith("\n") else f"{kept}\n"

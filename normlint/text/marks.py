"""The sieve: find reductions in a text by regular expressions, which decides how much of it is parsed at all.

A false match costs time, a missed one a norm. Each pattern that runs over whole texts begins with a literal, since
`re` finds a literal at the speed of memchr: the word before a bracket is matched from the bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property, lru_cache

from normlint.text.making import may_make
from normlint.text.operations import CONSTANTS, CONTRACTIONS, DISTANCES, FUSED, LENGTHS, MEANS, PRODUCTS, SUMMING
from normlint.text.taking import may_take

TYPE_CHECKING = False  # `typing` costs a fifth of what starting Python does, and this module stands first in line
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from normlint.text.finding import Span

REDUCING: Final = (*MEANS.split(), *SUMMING.split(), *LENGTHS.split(), *FUSED.split())
_BLANK: Final = ("", r"[ \t]")  # between a word and its bracket


def _called(words: tuple[str, ...], more: str) -> str:
    """Return a pattern for the opening bracket of a call of one of the words, or for what `more` matches behind one."""
    ends = "|".join(sorted({word[-2:] for word in words}))
    gate = "|".join(rf"(?<=(?:{ends}){blank}\()" for blank in _BLANK)
    ways = [rf"(?<={word}{blank}\()(?<!\w{word}{blank}\()" for word in words for blank in _BLANK]
    return rf"\((?:(?:{gate})(?:{'|'.join(ways)})|{more})"


_SQUARED: Final = "".join(  # torch.dot(x, x)
    (
        "(?:" + "|".join(rf"(?<={word}\()" for word in PRODUCTS.split()),
        r")(?=\s*(?P<one>\w[\w.]{0,40})[^,\n]{0,40},\s*(?P=one)\b)",
    )
)
_REDUCTION: Final = re.compile(_called(REDUCING, _SQUARED))
_WORDS: Final = "|".join(sorted(REDUCING, key=len, reverse=True))
# What contracts or compares two tensors is a sum or a mean where one of them is constant, or both are the same.
_JOINERS: Final = (*CONTRACTIONS.split(), *DISTANCES.split())
_ENDS: Final = "|".join(sorted({word[-3:] for word in _JOINERS if len(word) > 2}))
_EACH: Final = "|".join(rf"(?<={word}\()(?<!\w{word}\()" for word in _JOINERS)
_JOINING: Final = re.compile(rf"\((?<=(?:{_ENDS}|.mm|.mv)\()(?:{_EACH})")
_CONSTANT: Final = re.compile(rf"\b(?:{'|'.join(CONSTANTS.split())})\(")
_TWICE: Final = re.compile(r"\s*(?!self\b|torch\b)(\w+)\b[^\n]{0,120}?[,(]\s*\1\b")
_RIGHT: Final = re.compile(r"\(?(?!self\b|torch\b)(\w+)")
_NEAR: Final = 200  # characters
# `from torch import mean as m`, `m = torch.mean`, `getattr(x, "std")`: named, and not called there.
RENAMED: Final = re.compile(rf" as (?:{'|'.join(rf'(?<=[ ,(]{word} as )' for word in REDUCING)})(\w+)")
# A subclass of one of torch's norms, which calls what it derives from.
_DERIVED: Final = re.compile(r"nn\.(?:Layer|RMS)Norm\s*[,)]")
_ABOVE: Final = re.compile(r"super\([^()]*\)\.forward\(")
# A class that owns one of torch's norms, perhaps in place of another, and no other layer, and calls it.
_CLASS: Final = re.compile(r"class\b[^\n]*\n(?:(?!\w)[^\n]*\n?)*")
_OWNED: Final = re.compile(r"self\.(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*(?:\w+\.)*([A-Z]\w*)\(")
_NORMS: Final = ("LayerNorm", "RMSNorm")
_MADE: Final = re.compile(r"Norm\(")
_WEIGHTLESS: Final = ("Dropout", "Identity", "Parameter")
_UNCALLED: Final = re.compile(rf"\.(?:{_WORDS})\b(?![ \t]*\()")
_LIBRARY: Final = re.compile(r"\b(?:torch|aten|linalg|functional|F|np|numpy)\.\w+$")
_BY_NAME: Final = re.compile(rf"getattr\([^\n]{{0,120}}?,\s*[\"'](?:{_WORDS})[\"']")
_SELF: Final = re.compile(r"self\.(\w+)[ \t]?\($")
_ESCAPE: Final = re.compile(r"\\(?:u00([2-7][0-9a-fA-F])|.)")  # of ASCII, in a notebook's file


def may_concern(data: bytes | str) -> bool:
    """Return whether the text may hold a norm, construct one in a way that a rule checks, or import one."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    return may_hold_norm(text) or may_make(text) or may_take(text)


def may_hold_norm(text: str) -> bool:
    """Return whether the text may reduce a tensor; a wrong yes costs time, a wrong no a finding."""
    if text.lstrip("\ufeff \t\r\n")[:1] == "{":  # a notebook's file
        text = _ESCAPE.sub(_unescaped, text)
        if any(f"nn.{norm}(" in text for norm in _NORMS):
            return True
    if _reduces(text):
        return True
    return bool(RENAMED.search(text) or any(_handed_on(text)) or any(_joined(text)) or any(_wrapped(text)))


def _handed_on(text: str) -> Iterator[int]:
    """Yield the offsets at which a reduction is named without being called."""
    for match in _UNCALLED.finditer(text):
        if _LIBRARY.search(text, max(match.start() - 12, 0), match.end()):
            yield match.start()
    if _DERIVED.search(text):
        yield from (match.start() for match in _ABOVE.finditer(text))
    if "getattr(" in text:
        yield from (match.start() for match in _BY_NAME.finditer(text))


def _wrapped(text: str) -> Iterator[int]:
    """Yield the offsets at which a class calls the norm of torch that is its only layer."""
    made = _MADE.finditer(text) if any(f"nn.{norm}(" in text for norm in _NORMS) else ()
    for start in sorted({text.rfind("\nclass", 0, one.start()) + 1 for one in made}):
        match = _CLASS.match(text, start)
        if match is None:
            continue
        owned = [(name, of) for name, of in _OWNED.findall(match.group()) if of not in _WEIGHTLESS]
        names, kinds = {name for name, _ in owned}, {of for _, of in owned}
        if len(names) == 1 and not kinds.isdisjoint(_NORMS):
            calls = re.compile(rf"self\.{owned[0][0]}\(")
            yield from (call.start() for call in calls.finditer(text, *match.span()))


def _joined(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the offsets at which a tensor is contracted or compared with itself or with a constant."""
    end = len(text) if end is None else end
    for match in _JOINING.finditer(text, start, end):
        if _TWICE.match(text, match.end()) or _near_constant(text, match.start()):
            yield match.start()
    at = text.find(" @ ", start, end)
    while at >= 0:
        right = _RIGHT.match(text, at + 3)
        left = text[max(text.rfind("\n", 0, at), at - _NEAR, 0) : at]
        if (right and re.search(rf"\b{right[1]}\b", left)) or _near_constant(text, at):
            yield at
        at = text.find(" @ ", at + 3, end)


def _near_constant(text: str, at: int) -> bool:
    return _CONSTANT.search(text, max(at - _NEAR, 0), at + _NEAR) is not None


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else " "


def any_reduction(text: str, span: Span) -> bool:
    """Return whether a span has a reduction; methods of `self` count, too."""
    return _REDUCTION.search(text, *span) is not None or any(_joined(text, *span))


def reductions(text: str, span: Span) -> list[int]:
    """Return the offsets of the opening brackets of the reductions in a span."""
    return [*(match.start() for match in _REDUCTION.finditer(text, *span)), *_joined(text, *span)]


def _reduces(text: str) -> bool:
    """Return whether there is a reduction; `self.norm(x)` counts only if the text defines `self.norm`."""
    own = set()
    for match in _REDUCTION.finditer(text):
        word = _on_self(text, match)
        if word is None:
            return True
        own.add(word)
    return any(_defines(text, word) for word in own)


def _on_self(text: str, bracket: re.Match[str]) -> str | None:
    """Return the method of `self` that is called there."""
    word = _SELF.search(text, max(bracket.start() - 20, 0), bracket.end())
    return word and word[1]


@lru_cache(maxsize=1024)
def _definition(word: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns by which a text defines `self.word` itself."""
    return re.compile(rf"def[ \t]+{word}\b"), re.compile(rf"self\.{word}[ \t]*=(?![ \t]*(?:nn\.|[A-Z=]))")


def _defines(text: str, word: str) -> bool:
    return any(pattern.search(text) for pattern in _definition(word))


def _reductions(text: str) -> list[int]:
    own: dict[str, bool] = {}
    found = []
    for match in _REDUCTION.finditer(text):
        word = _on_self(text, match)
        if word and word not in own:
            own[word] = _defines(text, word)
        if not word or own[word]:
            found.append(match.start())
    return sorted({*found, *_joined(text)})


class Marks:
    """The reductions of a text, by offset; those in triple-quoted strings are left out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words: dict[Span, frozenset[str]] = {}
        self.reductions = list(self._outside(at for at in _reductions(text) if not _of_unicode(text, at)))

    @cached_property
    def _docs(self) -> list[int]:
        """Return the start and end offsets of the closed triple-quoted strings, alternating."""
        from normlint.text.pieces import quoted

        return [at for opened, closed in quoted(self.text) if closed < len(self.text) for at in (opened, closed)]

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Return the local names of reductions that are imported under another name."""
        found = RENAMED.finditer(self.text)
        return {match[1]: self.text[: match.start()].rpartition(" ")[2].strip("(,") for match in found}

    @cached_property
    def seeds(self) -> list[int]:
        """Return the offsets at which reductions are called or named."""
        every = [*self.reductions, *self._outside(_handed_on(self.text))]
        for name in self.renamed:
            every += [match.start() for match in re.finditer(rf"\b{name}\(", self.text)]
        return sorted(every)

    @cached_property
    def wrapped(self) -> list[int]:
        """Return the offsets at which classes call the one norm of torch that they own."""
        return list(self._outside(_wrapped(self.text)))

    def reduces(self, span: Span) -> bool:
        """Return whether the span has a reduction."""
        at = bisect_left(self.reductions, span[0])
        return at < len(self.reductions) and self.reductions[at] < span[1]

    def words(self, span: Span) -> frozenset[str]:
        """Return all names in a span, also those in strings and comments."""
        from normlint.text.pieces import WORD

        if span not in self._words:
            self._words[span] = frozenset(WORD.findall(self.text, *span))
        return self._words[span]

    def _outside(self, positions: Iterable[int]) -> Iterator[int]:
        return (at for at in positions if bisect_left(self._docs, at) % 2 == 0)


def _of_unicode(text: str, at: int) -> bool:
    return text[max(at - 21, 0) : at - 9] == "unicodedata."

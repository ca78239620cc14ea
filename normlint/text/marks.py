"""Where a text shows a reduction or a root by its spelling alone: what decides how much of it is read at all.

A mark too many costs time, one too few a norm. Each pattern that runs over whole texts begins with a literal, since
`re` finds a literal at the speed of memchr: a word before a bracket is looked at from the bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property, lru_cache

from normlint.text.operations import FUSED, LENGTHS, MEANS, POWERS, PRODUCTS, ROOTS

TYPE_CHECKING = False  # `typing` costs a fifth of what starting Python does, and this module stands first in line
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Final

    from normlint.text.finding import Span

_ROOTED: Final = (*LENGTHS.split(), *FUSED.split())
REDUCING: Final = (*MEANS.split(), *_ROOTED)
_BLANK: Final = ("", r"[ \t]")  # between a word and its bracket
# Each run of blanks follows something of its own: two that meet cost the square of their length.
_FRACTION: Final = r"(?:[-+(]\s*)*(?:\d*\.\d*[1-9]|\d+[eE]|1\s*/|[^\W\d])"
_RECKONED: Final = r"(?:[-+(]\s*)*\d+\s*[-+*/]"  # 2/4, 1 - 1.5
_POWER: Final = r"\*\*(?:(?<=[\w)\]}]\*\*)|(?<=[\w)\]}]\s\*\*)|(?<=\s\s\*\*)(?=[ =.\d(+-]))=?\s*"


def _called(words: Iterable[str], *, whole: bool = True, bare: bool = False, more: str = "(?!)") -> str:
    """A bracket after one of the words; `whole`: and not after a longer one; `bare`: nor after `self.`; or `more`."""
    words = tuple(words)
    ends = "|".join(sorted({word[-2:] for word in words}))
    gate = "|".join(rf"(?<=(?:{ends}){blank}\()" for blank in _BLANK)
    ways = [
        rf"(?<={word}{blank}\()"
        + (rf"(?<!\w{word}{blank}\()" if whole else "")
        + (rf"(?<!self\.{word}{blank}\()" if bare else "")
        for word in words
        for blank in _BLANK
    ]
    return rf"\((?:(?:{gate})(?:{'|'.join(ways)})|{more})"


_SQUARED: Final = "".join(  # torch.dot(x, x)
    (
        "(?:" + "|".join(rf"(?<={word}\()" for word in PRODUCTS.split()),
        r")(?=\s*(?P<one>\w[\w.]{0,40})[^,\n]{0,40},\s*(?P=one)\b)",
    )
)
_REDUCTION: Final = _called(REDUCING, more=_SQUARED)
_BARE_REDUCTION: Final = _called(REDUCING, bare=True, more=_SQUARED)
_ROOTS: Final = (
    "sqrt",
    "reciprocal",
    r"std(?<!\wstd)",
    _called((word for word in _ROOTED if word.endswith("norm")), bare=True),
    _called(("normalize",), whole=False),
    rf"{_POWER}(?:{_FRACTION}|(?:[-+]\s*)*\(\s*{_RECKONED})",
    rf"pow_?\s*\(\s*(?:[^()]*,\s*)?(?:{_FRACTION}|{_RECKONED})",
    r"float_power_?\s*\(",
)
_POSSIBLE_ROOTS: Final = (
    r"sqrt\s*\(",
    _POWER + r"[-+]*[\w.(]",
    _called(
        (f"{word}{end}" for word in (*_ROOTED, *POWERS.split()) for end in ("", "_")),
        whole=False,
    ),
)

_BY_NAME: Final = (*REDUCING, *ROOTS.split(), "pow")
_RENAMING: Final = rf" as (?:{'|'.join(rf'(?<=[ ,(]{word} as )' for word in _BY_NAME)})"
RENAMED: Final = re.compile(rf"{_RENAMING}(\w+)")  # `from torch import rsqrt as r`
_EITHER_ROOT: Final = ("sqrt", *_POSSIBLE_ROOTS, *_ROOTS[1:])
_SELF: Final = re.compile(r"self\.(\w+)[ \t]?\($")
_ESCAPE: Final = re.compile(rb"\\(?:u00([2-7][0-9a-fA-F])|.)")  # of ASCII, in a notebook's file
_WORD_CHAR: Final = re.compile(r"(\[?)\\w")


def may_hold_norm(data: bytes | str) -> bool:
    """Is there a mark of a reduction, and one of a root? It may say yes wrongly; it must never say no wrongly."""
    if isinstance(data, str) and data[:1] == "{":
        data = data.encode("utf-8", "surrogatepass")
    if isinstance(data, bytes) and data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":  # a notebook's file
        data = _ESCAPE.sub(_unescaped, data)
    if _reduces(data):
        return any(_search(root, data) for root in _EITHER_ROOT) or _search(_RENAMING, data)
    return _search(_RENAMING, data)


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match[1].decode()) if match[1] else b" "


def any_reduction(text: str, span: Span) -> bool:
    """Is there a reduction in a stretch of the text, be it a method of `self`?"""
    return _compiled(_REDUCTION).search(text, *span) is not None


def reductions(text: str, span: Span) -> list[int]:
    """Where the reductions in a stretch of the text are: their brackets."""
    return [match.start() for match in _compiled(_REDUCTION).finditer(text, *span)]


def reduces(text: str) -> bool:
    """Is there a reduction that isn't a method of `self`?"""
    return _search(_BARE_REDUCTION, text)


def _reduces(data: bytes | str) -> bool:
    """`self.norm(x)` is a reduction only where the text says what `self.norm` is."""
    if _search(_BARE_REDUCTION, data):
        return True
    if not _search(_REDUCTION, data):
        return False
    text = data.decode("latin-1") if isinstance(data, bytes) else data
    return bool(_reductions(text))


def _search(pattern: str, data: bytes | str) -> bool:
    return _compiled(pattern, isinstance(data, bytes)).search(data) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str, binary: bool = False) -> re.Pattern[Any]:
    if not binary:
        return re.compile(pattern)
    # In UTF-8 what is no ASCII is part of a name, as far as this matters.
    wide = _WORD_CHAR.sub(lambda found: r"[\w\x80-\xff" if found[1] else r"[\w\x80-\xff]", pattern)
    return re.compile(wide.encode("latin-1"))


@lru_cache(maxsize=1024)
def _definition(word: str) -> tuple[re.Pattern[str], ...]:
    """What makes `self.word` something of the text's own."""
    return re.compile(rf"def[ \t]+{word}\b"), re.compile(rf"self\.{word}[ \t]*=(?![ \t]*(?:nn\.|[A-Z=]))")


def _reductions(text: str) -> list[int]:
    own: dict[str, bool] = {}
    found = []
    for match in _compiled(_REDUCTION).finditer(text):
        word = _SELF.search(text, max(match.start() - 20, 0), match.end())
        if word and word[1] not in own:
            own[word[1]] = any(pattern.search(text) for pattern in _definition(word[1]))
        if not word or own[word[1]]:
            found.append(match.start())
    return found


class Marks:
    """What each stretch of a text shows; its docstrings show nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: dict[Span, frozenset[str]] = {}
        self.reductions = list(self._outside(at for at in _reductions(text) if not _of_unicode(text, at)))

    @cached_property
    def _docs(self) -> list[int]:
        """Where triple-quoted strings begin and end, in turn; one that is left open is none."""
        from normlint.text.pieces import quoted

        return [at for opened, closed in quoted(self._text) if closed < len(self._text) for at in (opened, closed)]

    def reduces(self, span: Span) -> bool:
        """A reduction."""
        at = bisect_left(self.reductions, span[0])
        return at < len(self.reductions) and self.reductions[at] < span[1]

    def roots(self, span: Span) -> bool:
        """A root, an inverse, a fractional power."""
        from normlint.text.spared import is_spared

        return any(not is_spared(self._text, at) for at in self._all(_ROOTS, span))

    def may_root(self, span: Span) -> bool:
        """A root, or what stands for one in a norm that takes none."""
        return any(True for _ in self._all(_POSSIBLE_ROOTS, span))

    def words(self, span: Span) -> frozenset[str]:
        """All names in a stretch, also those in strings and comments."""
        from normlint.text.pieces import WORD

        if span not in self._words:
            self._words[span] = frozenset(WORD.findall(self._text, *span))
        return self._words[span]

    def _all(self, patterns: Iterable[str], span: Span) -> Iterator[int]:
        every = (match.start() for pattern in patterns for match in _compiled(pattern).finditer(self._text, *span))
        return self._outside(every)

    def _outside(self, positions: Iterable[int]) -> Iterator[int]:
        return (at for at in positions if bisect_left(self._docs, at) % 2 == 0)


def _of_unicode(text: str, at: int) -> bool:
    return text[max(at - 21, 0) : at - 9] == "unicodedata."

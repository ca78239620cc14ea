"""Cut a module into top-level statements, and a class into methods, by line starts: nothing is parsed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from normlint.text.finding import Span

# Each pattern that runs over whole texts begins with a literal: then `re` goes at the speed of memchr.
_LINE: Final = re.compile(r"\n(?=[^\s#)\]}])")
_DOUBLE: Final = re.compile('"""')
_EITHER: Final = re.compile("\"\"\"|'''")
_LONE_CR: Final = re.compile(r"\r(?!\n)")
_PAGE: Final = re.compile(r"(?<=\n)\f+")  # a form feed, behind which a line begins anew
_SHORT: Final = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")  # a string within a line
_FIRST: Final = re.compile(r"[^\s#)\]}]")
_CONTINUES: Final = re.compile(r"(else|elif|except|finally|case)\b")
_DEFINES: Final = re.compile(
    r"^[ \t]*(?:async[ \t]+)?(?:class|def)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE
)
_HEADER: Final = re.compile(r"(?:async[ \t]+)?(class|def)[ \t]+(\w+)")
_DECORATED: Final = re.compile(r"^(?:async[ \t]+)?(class|def)[ \t]+(\w+)", re.MULTILINE)
_KIND: Final = re.compile(r"(import|from|if|try|with|for|while|async|match)\b")
_METHOD: Final = re.compile(r"\n([ \t]+)(?:async[ \t]+)?def[ \t]+(\w+)")


WORD: Final = re.compile(r"[^\W\d]\w*")  # a name, wherever it stands


class Piece(NamedTuple):
    """A top-level statement. `kind` is class, def, import, compound or plain."""

    kind: str
    span: Span
    names: tuple[str, ...]


class Method(NamedTuple):
    """A method, from its `def` to the next one."""

    name: str
    span: Span


def with_line_feeds(text: str) -> str:
    """Return the text with lone CRs and form feeds at line starts as LF, as Python reads it; its length stays."""
    text = _LONE_CR.sub("\n", text) if "\r" in text else text
    return _PAGE.sub(lambda match: "\n" * len(match[0]), text) if "\f" in text else text


def pieces(text: str) -> tuple[Piece, ...]:
    """Return the top-level statements of `text`."""
    starts = [*_starts(text), len(text)]
    found: list[tuple[int, int]] = []
    decorated = False
    for start, end in pairwise(starts):
        if found and (decorated or (text[start] in "efc" and _CONTINUES.match(text, start))):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
        decorated = text[start] == "@" and not _DECORATED.search(text[start:end])
    return tuple(piece_of(text, a, b) for a, b in found)


def _starts(text: str) -> Iterator[int]:
    """Yield the offsets of unindented lines outside triple-quoted strings."""
    starts = [match.start() + 1 for match in _LINE.finditer(text)]
    if _FIRST.match(text):
        starts.insert(0, 0)
    at = 0
    for opened, closed in quoted(text):
        until = bisect_right(starts, opened)
        yield from starts[at:until]
        at = max(bisect_right(starts, closed), until)
    yield from starts[at:]


COMMENT: Final = re.compile(r"#[^\n]*")  # or the rest of a line behind a `#` in a string
_FORWARD: Final = re.compile(r"^([ \t]*)def forward\(.*\n(?:(?:\1[ \t].*|[ \t]*)\n)*", re.MULTILINE)


def without_forward(text: str) -> str:
    """Return the text of a class without its methods named `forward`."""
    return _FORWARD.sub("", text)


@lru_cache(maxsize=4)
def quoted(text: str) -> tuple[tuple[int, int], ...]:
    """Return the offsets of the quotes of each triple-quoted string; one that isn't closed ends with the text."""
    return tuple(_quoted(text))


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    quote, opened, closed, commented = "", 0, 0, -1
    for match in (_EITHER if "'''" in text else _DOUBLE).finditer(text):
        mark = match.group()
        if quote == mark:
            yield opened, match.start()
            quote, closed = "", match.end()
        elif quote or match.start() < commented:
            continue
        elif _in_comment(text, closed, match.start()):
            commented = text.find("\n", match.start()) % (len(text) + 1)  # no line feed: to the end
        elif not _is_quoted(text, match):
            quote, opened = mark, match.start()
    if quote:
        yield opened, len(text)


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Return whether the three quotes are part of a one-line string in quotes of the other kind."""
    around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
    return around in ("''", '""') and around[0] != match.group()[0]


def _in_comment(text: str, since: int, at: int) -> bool:
    """Return whether an offset is in a comment; `since`: the end of the last string before it."""
    line = text[max(text.rfind("\n", 0, at) + 1, since) : at]
    return "#" in line and "#" in _SHORT.sub("", line)


def piece_of(text: str, start: int, end: int) -> Piece:
    """Return the piece of a top-level statement; its kind is told by its first words, behind any decorators."""
    match = _DECORATED.search(text[start:end]) if text[start] == "@" else _HEADER.match(text, start)
    if match:
        return Piece(match[1], Span(start, end), (match[2],))
    word = _KIND.match(text, start)
    if word and word[1] in ("import", "from"):
        return Piece("import", Span(start, end), ())
    names = tuple(a or b for a, b in _DEFINES.findall(text[start:end]))
    return Piece("compound" if word else "plain", Span(start, end), names)


def methods(text: str, span: Span) -> Iterator[Method]:
    """Yield the functions with the smallest indentation in a class's body; code in strings counts, too."""
    heads = list(_METHOD.finditer(text, *span))
    if heads:
        indent = min(len(head[1]) for head in heads)
        heads = [head for head in heads if len(head[1]) == indent]
    for head, after in zip(heads, [*heads[1:], None], strict=False):
        end = span.end if after is None else _before_decorators(text, after.start())
        yield Method(head[2], Span(head.start() + 1, end))


def _before_decorators(text: str, end: int) -> int:
    """Return the end of the line above the decorators of a `def`."""
    while text[(above := text.rfind("\n", 0, end)) + 1 : end].lstrip(" \t").startswith("@"):
        end = above
    return end

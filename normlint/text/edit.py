"""Apply edits to a text, and compare edits with each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from normlint.text.finding import Edit
from normlint.text.source import split_lines

_WORD: Final = re.compile(r"[^\W\d]\w*")
_BINDING: Final = re.compile(r"^\s*([\w, ]+?) = ", re.MULTILINE)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the edited text; ValueError if edits overlap. Insertions at one place keep their order."""
    done, at = [], 0
    for edit in checked(edits):
        done += [text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*done, text[at:]])


def checked(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits in order of place; ValueError if two of them overlap."""
    ordered = sorted(edits, key=lambda one: one.span)
    at = 0
    for edit in ordered:
        if edit.span.start < at:
            raise ValueError(f"edits overlap at {edit.span.start}")
        at = edit.span.end
    return ordered


def overlap(one: Iterable[Edit], two: Iterable[Edit]) -> bool:
    """Return whether edits of both touch the same characters or insert at the same place."""
    others = [edit.span for edit in two]
    return any(_touch(edit.span.start, edit.span.end, o.start, o.end) for edit in one for o in others)


def _touch(start: int, end: int, other: int, last: int) -> bool:
    """Return whether two spans share a character, start at the same place, or one is empty at the other's end."""
    return (start < last and other < end) or start == other or (start == end == last) or (other == last == end)


def entangled(text: str, one: Sequence[Edit], two: Sequence[Edit]) -> bool:
    """Return whether one adds or takes away an assignment to a name that the other writes."""
    pairs = ((one, two), (two, one))
    return any(_bound(text, a) & {word for edit in b for word in _WORD.findall(edit.text)} for a, b in pairs)


def _bound(text: str, edits: Sequence[Edit]) -> set[str]:
    before, after = (Counter(_BINDING.findall(one)) for one in (text, apply(text, edits)))
    return {name for line in (before - after) + (after - before) for name in _WORD.findall(line)}


def loses_comment(text: str, edits: Sequence[Edit]) -> bool:
    """Return whether a comment of the text is gone once the edits are made."""
    if not any("#" in text[edit.span.start : edit.span.end] for edit in edits):
        return False
    before, after = comments(text), comments(apply(text, edits))
    return before is None or after is None or bool(_counted(before) - _counted(after))


def _counted(found: Iterable[tuple[str, int]]) -> Counter[str]:
    return Counter(comment for comment, _ in found)


def comments(text: str) -> list[tuple[str, int]] | None:
    """Return each comment with its line, counted from 1; None if the text can't be split into tokens."""
    import tokenize

    lines = iter(split_lines(text))
    try:
        tokens = tokenize.generate_tokens(lambda: next(lines, ""))
        return [(token.string.rstrip(), token.start[0]) for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return None

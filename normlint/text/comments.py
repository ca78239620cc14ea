"""Comments, as people wrote them: an edit that takes one away is told apart."""

from __future__ import annotations

import tokenize
from collections import Counter
from collections.abc import Sequence

from normlint.text.edit import apply
from normlint.text.finding import Edit
from normlint.text.source import split_lines


def loses_comment(text: str, edits: Sequence[Edit]) -> bool:
    """Is a comment of the text gone once the edits are made?"""
    if not any("#" in text[edit.span.start : edit.span.end] for edit in edits):
        return False
    before, after = _comments(text), _comments(apply(text, edits))
    return before is None or after is None or bool(before - after)


def _comments(text: str) -> Counter[str] | None:
    """Each comment, and how often it stands there; None if the text can't be told apart into tokens."""
    lines = iter(split_lines(text))
    try:
        tokens = tokenize.generate_tokens(lambda: next(lines, ""))
        return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
    except (tokenize.TokenError, SyntaxError):
        return None

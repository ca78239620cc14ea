"""Marks of a root that are of no statistic's: in a comment, of a size or a number, or something else by that name."""

from __future__ import annotations

import re
from typing import Final

_SIZE: Final = (
    r"(?:[\w.]*\b(?:\w*_)?(?:dim|dims|size|heads?|channels|features|width|n_embd|d_model|d_k|d_v|d_kv|d_head|dim_head)"
    r"|[\w.]+\.(?:shape\[-?\d\]|size\(-?\d\)))"
)
_NUMBER: Final = r"\d+(?:\.\d*)?"
_BASE: Final = re.compile(rf"(?:\b{_SIZE}|(?<![\w.]){_NUMBER})\s*\Z")  # what stands before `**`
_OF_SIZE: Final = re.compile(rf"(?<=math\.)sqrt\(\s*(?:{_NUMBER}\s*/\s*)?{_SIZE}\s*\)")
_STD: Final = re.compile(r"std(?=_mean|\s*\(|[\"'])|(?<=torch\.)std\b")
_OWN: Final = re.compile(r"(?:\bself\.|\bdef\s+|_and_)normalize\s*\Z")
_BEFORE: Final = 64  # characters


def is_spared(text: str, at: int) -> bool:
    """Is the mark at this place of no root that matters?"""
    if text[at] == "*":
        found = _BASE.search(text[max(at - _BEFORE, 0) : at]) is not None
    elif text[at] == "(":  # after a word
        found = _OWN.search(text[max(at - _BEFORE, 0) : at]) is not None
    elif text.startswith("std", at):
        found = _STD.match(text, at) is None
    else:
        found = _OF_SIZE.match(text, at) is not None
    return found or _in_comment(text, at)


def _in_comment(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    said = line.partition("#")[0]
    return len(said) < len(line) and said.count('"') % 2 == 0 and said.count("'") % 2 == 0

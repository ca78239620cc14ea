"""Marks of a root that are of no statistic's: in a comment, of a size or a number, or something else by that name."""

from __future__ import annotations

import re
from typing import Final

_NAMED: Final = (  # bare names: those that nobody gives to anything else
    "dim|head_dim|hidden_dim|embed_dim|embedding_dim|inner_dim|key_dim|hidden_size|head_size|attention_head_size|d_model|"
    "d_k|d_v|d_kv|d_head|dim_head|n_embd|embed_size"
)
_SIZE: Final = (
    rf"(?:(?<![\w.])(?:{_NAMED})|(?:self|module|\w*config|cfg)\.[\w.]*(?:dim|dims|size|heads?|channels|features|d_model)"
    r"|[\w.]+\.(?:shape\[-?\d\]|size\(-?\d\)))"
)
_NUMBER: Final = r"\d+(?:\.\d*)?"
_BASE: Final = re.compile(rf"(?:{_SIZE}|(?<![\w.]){_NUMBER})\s*\Z")  # what stands before `**`
_OF_SIZE: Final = re.compile(rf"(?<=math\.)sqrt\(\s*(?:{_NUMBER}\s*/\s*)?{_SIZE}\s*\)")
_STD: Final = re.compile(r"std(?=_mean|\s*\(|[\"'])|(?<=torch\.)std\b")
_OWN: Final = re.compile(r"(?:\bself\.|\bdef\s+)(?:\w+_and_)?normalize\s*\Z")
_GIVEN: Final = re.compile(r"self\.(?:\w+_and_)?normalize\s*=(?!=)")
_BEFORE: Final = 64  # characters


def is_spared(text: str, at: int) -> bool:
    """Is the mark at this place of no root that matters?"""
    if text[at] == "*":
        found = _BASE.search(text[max(at - _BEFORE, 0) : at]) is not None
    elif text[at] == "(":  # after a word
        found = _OWN.search(text[max(at - _BEFORE, 0) : at]) is not None and not _GIVEN.search(text)
    elif text.startswith("std", at):
        found = _STD.match(text, at) is None
    else:
        found = _OF_SIZE.match(text, at) is not None
    return found or _in_comment(text, at)


def _in_comment(text: str, at: int) -> bool:
    """Where the line has quotes, the `#` may be one of a string."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return "#" in line and "'" not in line and '"' not in line

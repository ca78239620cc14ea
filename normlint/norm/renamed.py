"""Names that a unit gives to reductions, to roots and to functions with both: where these stand, no mark does."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from normlint.norm.worthy import mentions
from normlint.text.marks import RENAMED, reduces
from normlint.text.pieces import Piece

_HANDED_ON: Final = re.compile(r"(?:\.sqrt|rsqrt)\b(?!\s*\()")
_ROOT: Final = re.compile(r"sqrt|reciprocal|pow|\*\*|norm|std")
_NESTED: Final = re.compile(r"\n[ \t]+(?:async[ \t]+)?def\b|\blambda\b|^(?:async[ \t]+)?class\b")


def renamed(text: str, pieces: Sequence[Piece], found: Collection[Piece]) -> frozenset[str]:
    """`from torch import rsqrt as r`, `root = torch.sqrt`, `rms = lambda x: ...`, `norm = partial(a_norm, eps=eps)`."""
    names = {match[1] for match in RENAMED.finditer(text)}
    plain = [piece for piece in pieces if piece.kind == "plain" and piece.names]
    names.update(name for piece in plain if _computes(text[slice(*piece.span)]) for name in piece.names)
    waiting = [*names, *(name for piece in found if piece.kind == "def" for name in piece.names)]
    nested = {name for piece in found if _NESTED.search(text[slice(*piece.span)]) for name in piece.names}
    while waiting:
        name = waiting.pop()
        for piece in plain:
            if not names.issuperset(piece.names) and _hands_on(text, piece, name, made=name in nested):
                waiting += set(piece.names) - names
                names.update(piece.names)
    return frozenset(names)


def _computes(source: str) -> bool:
    """A root that is handed on, or a lambda with a root or a reduction."""
    return _HANDED_ON.search(source) is not None or (
        "lambda" in source and (reduces(source) or _ROOT.search(source) is not None)
    )


def _hands_on(text: str, piece: Piece, name: str, *, made: bool) -> bool:
    """The piece has the name and doesn't call it, unless what it returns may be a function."""
    ends = (at + len(name) for at in mentions(text, name, piece.span))
    return any(name not in piece.names and (made or text[end : end + 1] != "(") for end in ends)

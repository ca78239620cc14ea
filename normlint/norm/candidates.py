"""Which statements at the top of a unit are worth evaluating, and in which of their functions that may begin."""

from __future__ import annotations

from normlint.norm.reach import arrivals
from normlint.norm.worthy import is_gained, is_named, worthy
from normlint.text.marks import Marks
from normlint.text.pieces import Piece

Functions = frozenset[str] | None  # by name; None: any
Candidates = tuple[tuple[int, Functions], ...] | None  # by where a piece starts; None: not looked for yet


def candidates(text: str, pieces: tuple[Piece, ...], marks: Marks) -> dict[Piece, Functions]:
    """Pieces that hold a reduction and a root, in the order of the text, and where in them the two may meet."""
    some = worthy(text, pieces, marks)
    defined = {piece.names[0]: piece for piece in pieces if piece.kind in ("def", "class")} if some else {}
    found = {piece: _functions(text, piece, defined, marks) for piece in some}
    return {piece: functions for piece, functions in found.items() if functions is None or functions}


def _functions(text: str, piece: Piece, defined: dict[str, Piece], marks: Marks) -> Functions:
    if any(map(is_named, piece.names)):
        return None
    return arrivals(text, piece, defined, marks, rootless=is_gained(text, piece, marks))

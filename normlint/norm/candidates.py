"""Which statements at the top of a unit are worth evaluating, and in which of their functions that may begin."""

from __future__ import annotations

from normlint.norm.arrivals import arrivals
from normlint.norm.renamed import renamed
from normlint.norm.worthy import functions_in, is_gained, is_named, mentions, worthy
from normlint.text.marks import Marks
from normlint.text.pieces import Piece

_LOOSE = ("plain", "compound")
Functions = frozenset[str] | None  # by name; None: any
Candidates = tuple[tuple[int, Functions], ...] | None  # by where a piece starts; None: not looked for yet


def candidates(text: str, pieces: tuple[Piece, ...], marks: Marks) -> dict[Piece, Functions]:
    """Pieces that hold a reduction and a root, in the order of the text, and where in them the two may meet."""
    some = worthy(text, pieces, marks)
    defined = {piece.names[0]: piece for piece in pieces if piece.kind in ("def", "class")} if some else {}
    hidden = {name for p in pieces if some and p.kind == "compound" for name in _computing(text, p, marks)}
    found = {piece: _functions(text, piece, defined, hidden, marks) for piece in some}
    kept = {piece: functions for piece, functions in found.items() if functions is None or functions}
    others = renamed(text, pieces, kept)
    if others:
        using = (p for p in pieces if any(True for name in others for _ in mentions(text, name, p.span)))
        kept.update(dict.fromkeys((p for p in using if p.kind != "import" and p not in kept), None))
    for piece in _callers(text, pieces, kept):
        functions = None if others or piece.kind == "def" else _functions(text, piece, defined, hidden, marks)
        if functions is None or functions:
            kept[piece] = functions
    return {piece: kept[piece] for piece in pieces if piece in kept}


def _callers(text: str, pieces: tuple[Piece, ...], known: dict[Piece, Functions]) -> list[Piece]:
    """Functions that name one of those known, and those that name these; all loose statements if one does."""
    found: list[Piece] = []
    names = {name for piece in known for name in _functions_of(text, piece)}
    others = [piece for piece in pieces if piece.kind != "import" and piece not in known]
    while names:
        new = [p for p in others if any(True for name in names for _ in mentions(text, name, p.span))]
        found += new
        others = [piece for piece in others if piece not in new]
        names = {name for piece in new for name in _functions_of(text, piece)}
    if any(piece.kind in _LOOSE for piece in found):
        found += [piece for piece in others if piece.kind in _LOOSE]
    return found


def _functions_of(text: str, piece: Piece) -> tuple[str, ...] | list[str]:
    return piece.names if piece.kind == "def" else functions_in(text, piece) if piece.kind == "compound" else ()


def _computing(text: str, piece: Piece, marks: Marks) -> list[str]:
    """The functions under an `if` or a `try` that may hold a reduction or a root."""
    return functions_in(text, piece) if marks.reduces(piece.span) or marks.roots(piece.span) else []


def _functions(text: str, piece: Piece, defined: dict[str, Piece], hidden: set[str], marks: Marks) -> Functions:
    if any(map(is_named, piece.names)) or not hidden.isdisjoint(marks.words(piece.span)):
        return None
    return arrivals(text, piece, defined, marks, rootless=is_gained(text, piece, marks))

"""A line above each norm: how it reads, what running it has shown, and the offer to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from normlint.engine.report import ListedNorm
from normlint.faces.render.verdicts import told
from normlint.faces.server.analysis import Checked

VERIFY: Final = "normlint.verify"
EXPLAIN: Final = "normlint.showNorm"


def lenses_of(checked: Checked, uri: str) -> list[types.CodeLens]:
    """Two over each norm that stands in this text."""
    return [lens for norm in checked.report.norms if _home(checked, norm) == uri for lens in _lenses(checked, norm)]


def verify_command(title: str, checked: Checked, norm: ListedNorm) -> types.Command:
    """Run this norm."""
    return types.Command(title, VERIFY, arguments=[checked.document.uri, norm.number])


def _lenses(checked: Checked, norm: ListedNorm) -> Iterator[types.CodeLens]:
    at = checked.document.position(norm.place)
    where = types.Range(at, at)
    yield types.CodeLens(
        where, types.Command(f"{norm.kind}: {norm.spine}", EXPLAIN, arguments=[checked.document.uri, norm.number])
    )
    title = told(norm.verdict) if norm.verdict is not None else "Verify this norm"
    yield types.CodeLens(where, verify_command(title, checked, norm))


def _home(checked: Checked, norm: ListedNorm) -> str:
    return checked.document.home(norm.place.cell)

"""How much work the repairs of one file may take: counted, so that it is the same each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

from normlint.norm.kept import of_file

MOST: Final = 300_000  # nodes that are looked at for all repairs of a file; real files take 220,000 at most
STEP: Final = 20  # nodes that a step of evaluation counts as, where a text is read again; a letter of it as one
CALL: Final = 60  # and a question that takes some thought
_SHARED: Final = 10  # nodes of a list that has been made before count as one
_SMALL: Final = 40


class LimitReached(Exception):  # noqa: N818  (it is how the repairs of a file end, no error)
    """The repairs have taken as much as they may; the findings that are left go without."""


class Work:
    """What is left to do for a file, and the lists of a unit's nodes that have been made."""

    def __init__(self) -> None:
        self.file = of_file()
        self.known: dict[ast.AST, list[ast.AST]] = {}

    def took(self, nodes: int) -> None:
        """Raises LimitReached where it is too much."""
        self.file.spent += nodes
        if self.file.spent > MOST:
            raise LimitReached

    def walk(self, node: ast.AST) -> list[ast.AST]:
        """The node and all below it; a long list is made once."""
        found = self.known.get(node)
        if found is not None:
            self.took(len(found) // _SHARED)
            return found
        found = list(ast.walk(node))
        if len(found) > _SMALL:
            self.known[node] = found
        self.took(len(found))
        return found


NOW: Final[ContextVar[Work]] = ContextVar("NOW")


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """As ast.walk, counted."""
    work = NOW.get(None)
    return iter(ast.walk(node) if work is None else work.walk(node))


def took(nodes: int) -> None:
    """So many nodes have been looked at."""
    work = NOW.get(None)
    if work is not None:
        work.took(nodes)

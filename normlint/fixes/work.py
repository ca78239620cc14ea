"""How much work the repairs of one file may take: counted, so that it is the same each time."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from normlint.norm.kept import of_file

MOST: Final = 300_000  # nodes that are looked at for all repairs of a file; real files take 220,000 at most
STEP: Final = 20  # nodes that a step of evaluation counts as, where a text is read again; a letter of it as one
CALL: Final = 60  # and a question that takes some thought


class LimitReached(Exception):  # noqa: N818  (it is how the repairs of a file end, no error)
    """The repairs have taken as much as they may; the findings that are left go without."""


class Work:
    """What is left to do for a file."""

    def __init__(self) -> None:
        self.file = of_file()

    def took(self, nodes: int) -> None:
        """Raises LimitReached where it is too much."""
        self.file.spent += nodes
        if self.file.spent > MOST:
            raise LimitReached


NOW: Final[ContextVar[Work]] = ContextVar("NOW")


def took(nodes: int) -> None:
    """So many nodes have been looked at."""
    work = NOW.get(None)
    if work is not None:
        work.took(nodes)

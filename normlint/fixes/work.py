"""How much work the repairs of one file may take: counted, so that it is the same each time."""

from __future__ import annotations

from typing import Final

from normlint.norm.kept import of_file

MOST: Final = 300_000  # nodes that are looked at for all repairs of a file; real files take 220,000 at most
STEP: Final = 20  # nodes that a step of evaluation counts as, where a text is read again; a letter of it as one
CALL: Final = 60  # and a question that takes some thought


class LimitReached(Exception):  # noqa: N818  (it is how the repairs of a file end, no error)
    """The repairs have taken as much as they may; the findings that are left go without."""


def took(nodes: int) -> None:
    """Count nodes that were visited; LimitReached if they are too many."""
    file = of_file()
    file.spent += nodes
    if file.spent > MOST:
        raise LimitReached

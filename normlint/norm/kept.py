"""Keep the norms that were read while a file is being fixed, and count the work of its fixes.

Counting work instead of time makes the outcome the same on every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from normlint.evaluate.module import Module
from normlint.norm import collect
from normlint.norm.norm import Norm

MOST: Final = 300_000  # nodes visited in one round of a file's fixes; real files take 220,000 at most
STEP: Final = 20  # nodes that a step of evaluation counts as when a text is read again; a character counts as one
CALL: Final = 60  # nodes that an expensive query counts as
_Read = tuple[tuple[Norm, ...], dict[str, Any]]


class LimitReached(Exception):  # noqa: N818  (it is how the fixes of a file end, no error)
    """Raised when the fixes have used up their allowance; the remaining findings get no fix."""


class Kept:
    """The norms that were read while a file is being fixed, and the work of its fixes."""

    def __init__(self) -> None:
        self.read: dict[object, _Read] = {}
        self.spent = 0


_KEPT: Final[ContextVar[Kept]] = ContextVar("_KEPT")


@contextmanager
def kept() -> Iterator[None]:
    """Within this block, find the norms of each unit only once."""
    before = _KEPT.set(of_file())
    try:
        yield
    finally:
        _KEPT.reset(before)


def of_file() -> Kept:
    """Return the record of the file that is being fixed; a new one outside of `kept`."""
    return _KEPT.get(None) or Kept()


def norms(module: Module) -> tuple[Norm, ...]:
    """Return the norms of a unit, from the record if they were read before."""
    known = _KEPT.get(None)
    if known is None:
        return collect.norms(module)
    key = (module.text, module.snippet, module.reinitialised, module.begin, module.exact, module.uses, module.read)
    if key not in known.read:
        found = collect.norms(module)
        known.read[key] = found, {"unread": module.unread, "broken": module.broken}
    found, state = known.read[key]
    vars(module).update(state)
    return found


def start_round() -> None:
    """Give the next round of a file's fixes an allowance of its own, so that a second run finds nothing more to fix."""
    of_file().spent = 0


def is_used_up() -> bool:
    """Return whether the allowance of this round is used up, so that some findings have no fix yet."""
    return of_file().spent > MOST


def took(nodes: int) -> None:
    """Count nodes that were visited; LimitReached if they are too many."""
    file = of_file()
    file.spent += nodes
    if file.spent > MOST:
        raise LimitReached

"""Norms that are read once while a file is being fixed: what is tried in one round is what the next one reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from normlint.evaluate.module import Module
from normlint.norm import collect
from normlint.norm.norm import Norm

_Read = tuple[tuple[Norm, ...], dict[str, Any]]


class Kept:
    """What is known of a file while it is being fixed: norms that were read, and how much work its fixes took."""

    def __init__(self) -> None:
        self.read: dict[object, _Read] = {}
        self.spent = 0


_KEPT: Final[ContextVar[Kept]] = ContextVar("_KEPT")


@contextmanager
def kept() -> Iterator[None]:
    """Within this block, the norms of each unit are found only once."""
    before = _KEPT.set(of_file())
    try:
        yield
    finally:
        _KEPT.reset(before)


def of_file() -> Kept:
    """What is kept here; something new outside."""
    return _KEPT.get(None) or Kept()


def norms(module: Module) -> tuple[Norm, ...]:
    """The norms of a unit, perhaps as they were read before."""
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

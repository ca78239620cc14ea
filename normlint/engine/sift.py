"""The first look at a file's bytes. Imported at each start, like the sieve itself."""

from __future__ import annotations

from normlint.engine.sieve import may_hold_norm
from normlint.text.raw import read_bytes


def passes(data: bytes) -> bool:
    """May there be a norm? A file without one is neither decoded nor parsed: its other mistakes are others' to tell."""
    return may_hold_norm(data.decode("latin-1"))


def is_clean(path: str) -> bool:
    """Is it known without analysis that nothing is to be said of this file? BadSourceError if it can't be read."""
    return not passes(read_bytes(path))

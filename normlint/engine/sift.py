"""The first look at a file's bytes, or at its text. Imported at each start, like the marks it looks for."""

from __future__ import annotations

from normlint.text.marks import may_hold_norm


def passes(data: bytes | str) -> bool:
    """May there be a norm? A file without one is neither decoded nor parsed: its other mistakes are others' to tell."""
    return may_hold_norm(data)

"""What `--diff` shows: a unified diff a file, of a notebook one a cell."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Final

from normlint.text.raw import NOTEBOOK
from normlint.text.source import Source, split_lines

_NO_END: Final = "\n\\ No newline at end of file\n"


def diff(before: Source, after: Source) -> str:
    """How one becomes the other, as `patch -p0` reads it; of a notebook, as people read it."""
    if before.kind != NOTEBOOK:
        return "".join(_unified(before.path, before.text, after.text))
    changed = zip(before.cells, after.cells, strict=True)
    return "".join(
        line for (number, old), (_, new) in changed for line in _unified(f"{before.path}:cell {number}", old, new)
    )


def _unified(name: str, old: str, new: str) -> Iterator[str]:
    for line in unified_diff(split_lines(old), split_lines(new), name, name):
        yield line if line.endswith(("\n", "\r")) else line + _NO_END

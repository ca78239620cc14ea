"""The other files of a package, found by the imports in one of them. They are read, never run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from normlint.evaluate.concrete import Found
from normlint.text.raw import BadSourceError
from normlint.text.read import read

LARGEST: Final = 2_000_000  # bytes of a file
MOST: Final = 20  # files of one norm


def finder(path: str) -> Callable[[str], Found | None] | None:
    """What finds the files of the package that the file at `path` belongs to; None for a text without a file."""
    return _Finder(path, [MOST]).find if path else None


@dataclass(frozen=True, slots=True)
class _Finder:
    path: str
    left: list[int]  # how many files may still be read: one number for all

    def find(self, dotted: str) -> Found | None:
        """The file that an import means, by its path with the dots before it."""
        for file in _places(self.path, dotted):
            text = self._text(file)
            if text is not None:
                return Found(file, text, _Finder(file, self.left).find)
        return None

    def _text(self, file: str) -> str | None:
        try:
            if not self.left[0] or not os.path.isfile(file) or os.path.getsize(file) > LARGEST:
                return None
            self.left[0] -= 1
            return read(file).text
        except (OSError, ValueError, BadSourceError):
            return None


def _places(path: str, dotted: str) -> Iterator[str]:
    """Files that an import in the file at `path` may mean."""
    name = dotted.lstrip(".")
    level, parts = len(dotted) - len(name), [part for part in name.split(".") if part]
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(level - 1):
        folder = os.path.dirname(folder)
    if not level:
        folder = root_of(folder)
        if not parts or not _beside(folder, path, parts[0]):
            return
    base = os.path.join(folder, *parts)
    if parts:
        yield f"{base}.py"
    yield os.path.join(base, "__init__.py")


def root_of(folder: str) -> str:
    """The directory from which the file's package, or a script beside others, is imported."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _beside(root: str, path: str, first: str) -> bool:
    """Whether an absolute import stays in the file's own package, or among the scripts of its directory."""
    inside = os.path.relpath(os.path.abspath(path), root).split(os.sep)
    return len(inside) == 1 or inside[0] == first

"""Look up names that a file imports from other files of its package, where they are defined.

Nothing is imported or run. A file is read only when a name is asked for that it may define. Which files were read or
found missing is recorded, since the answers depend on them.
"""

from __future__ import annotations

import ast
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from normlint.text.pieces import COMMENT, Piece, pieces, quoted
from normlint.text.raw import BadSourceError, digest_of, read_bytes
from normlint.text.syntax import parsed_part

_FROM: Final = re.compile(r"\bfrom[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]{0,4000}\)|[^\n#;]*)")
_IMPORT: Final = re.compile(r"^import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?$", re.MULTILINE)
_COMMENTED: Final = re.compile(r"#[^\n]*\Z")
_MOST_BYTES: Final = 2 * 2**20
_FARTHEST: Final = 6  # most files from the import to the definition


class Definition(NamedTuple):
    """A class and the file that it is in."""

    node: ast.ClassDef
    file: File


class Place(NamedTuple):
    """A statement that gives a name its value, and the file that it is in."""

    piece: Piece
    file: File


class Import(NamedTuple):
    """The name that a statement imports from a module, `*` for all; `sure`: at the top level and under no condition."""

    module: str
    name: str
    sure: bool


class File:
    """A text and its path; `path` is empty where that isn't known."""

    def __init__(self, text: str, path: str) -> None:
        self.text, self.path = text, path
        self._pieces: tuple[Piece, ...] | None = None
        self._classes: dict[str, ast.ClassDef | None] = {}

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Return the top-level statements."""
        if self._pieces is None:
            self._pieces = pieces(self.text)
        return self._pieces

    def piece_named(self, name: str) -> Piece | None:
        """Return the last top-level statement that defines this name and no other."""
        if f" {name}" not in self.text and f"\n{name}" not in self.text and not self.text.startswith(name):
            return None
        found = (p for p in reversed(self.pieces) if p.names == (name,) and p.kind in ("class", "def", "plain"))
        return next(found, None)

    def class_named(self, name: str) -> ast.ClassDef | None:
        """Return the last top-level class of this name."""
        if name not in self._classes:
            piece = self.piece_named(name) if f"class {name}" in self.text else None
            nodes = parsed_part(self.text, piece.span).body if piece and piece.kind == "class" else []
            self._classes[name] = next((node for node in nodes if isinstance(node, ast.ClassDef)), None)
        return self._classes[name]

    def value_of(self, name: str) -> ast.expr | None:
        """Return the value that the last top-level statement assigns to a name."""
        piece = self.piece_named(name)
        stmt = next(iter(parsed_part(self.text, piece.span).body), None) if piece is not None else None
        return stmt.value if isinstance(stmt, ast.Assign | ast.AnnAssign) else None

    def modules(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the paths of modules that a dotted name may begin with, each with the rest: `import a.b as c`."""
        for match in _IMPORT.finditer(self.text):
            given = match[2] or match[1]
            if name.startswith(f"{given}.") and not self._is_prose(match.start()):
                yield match[1], name[len(given) + 1 :]

    def imports(self, name: str) -> Iterator[Import]:
        """Return the imports that may give the name its value, the last of the text first."""
        return (one for words, one in reversed(self._imports) if words[-1] in (name, "*"))

    @cached_property
    def _imports(self) -> list[tuple[list[str], Import]]:
        """Return the imports in the order of the text, each with its words: `a` or `a as b`."""
        lines = [m for m in _FROM.finditer(self.text) if not self._is_prose(m.start())]
        sure = {m: self.text[m.start() - 1 : m.start()] in ("", "\n") for m in lines}
        parts = ((m, one.split()) for m in lines for one in COMMENT.sub("", m[2]).strip("()").split(","))
        return [(words, Import(m[1], words[0], sure[m])) for m, words in parts if words]

    def _is_prose(self, at: int) -> bool:
        """Return whether the offset is in a comment or a docstring."""
        strings = quoted(self.text)
        before = bisect_right(strings, (at, at))
        return (before > 0 and at < strings[before - 1][1]) or _COMMENTED.search(self.text, at - 200, at) is not None

    def exports(self, name: str) -> bool:
        """Return whether `from module import *` imports this name."""
        return name in self._all if self._all is not None else not name.startswith("_")

    @cached_property
    def _all(self) -> frozenset[str] | None:
        """Return the names in `__all__`, if that is assigned once as a literal."""
        value = self.value_of("__all__") if self.text.count("__all__") == 1 else None
        try:
            return frozenset(ast.literal_eval(value)) if value is not None else None
        except (ValueError, TypeError):
            return None

    def defines_conditionally(self, name: str) -> bool:
        """Return whether the name is defined under a compound statement such as `if` or `try`."""
        return any(name in piece.names for piece in self.pieces if piece.kind == "compound")


class Elsewhere:
    """The definitions in the files around one file. `asked`: path → digest of each file that was looked for."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self._files: dict[str, File | None] = {}
        self._known: dict[tuple[File, str], Place | None] = {}

    def definition(self, name: str, file: File) -> Definition | None:
        """Return the class that a name in a file refers to; None if it isn't found in the package."""
        place = self.place(name, file)
        node = place.file.class_named(place.piece.names[0]) if place is not None else None
        return Definition(node, place.file) if place is not None and node is not None else None

    def place(self, name: str, file: File, far: int = 0) -> Place | None:
        """Return the statement that defines what a name in a file refers to; None if it isn't found in the package."""
        if (file, name) not in self._known:
            self._known[file, name] = None  # stops circular imports
            self._known[file, name] = self._found(name, file, far)
        return self._known[file, name]

    def _found(self, name: str, file: File, far: int) -> Place | None:
        first, _, below = name.partition(".")
        if below:
            there = self.module(first, file)
            for path, rest in file.modules(name) if there is None else ():
                there, below = self._module(path, file.path), rest
            return self.place(below, there, far + 1) if there is not None and far < _FARTHEST else None
        piece = file.piece_named(name)
        if piece is not None:
            return Place(piece, file)
        return self._imported(name, file, far) if far < _FARTHEST and not file.defines_conditionally(name) else None

    def _imported(self, name: str, file: File, far: int) -> Place | None:
        """Return what the last import of a name refers to; None if a conditional import may make it something else."""
        found: set[Place | None] = set()
        for one in file.imports(name):
            there, every = self._module(one.module, file.path), one.name == "*"
            given = there is not None and (not every or there.exports(name))
            place = self.place(name if every else one.name, there, far + 1) if there is not None and given else None
            last = one.sure and (place is not None or not every)
            found |= {place} if last or place is not None else set()
            if last:
                break
        return found.pop() if len(found) == 1 else None

    def module(self, name: str, file: File) -> File | None:
        """Return the file that a name is, where it is imported as a module: `from . import config`."""
        paths = (
            f"{one.module.rstrip('.')}.{one.name}" if one.module.strip(".") else f"{one.module}{one.name}"
            for one in file.imports(name)
            if one.name != "*"
        )
        return next((found for path in paths if (found := self._module(path, file.path)) is not None), None)

    def _module(self, module: str, path: str) -> File | None:
        for candidate in places(module, path) if path else ():
            file = self._file(candidate)
            if file is not None:
                return file
        return None

    def _file(self, path: str) -> File | None:
        if path not in self._files:
            data = _read(path)
            self.asked[path] = digest_of(data)
            self._files[path] = None if data is None else _shared(data, path)
        return self._files[path]


@lru_cache(maxsize=16)  # the files of a folder import from the same ones
def _shared(data: bytes, path: str) -> File:
    return File(data.decode("utf-8", "replace"), path)


def current(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return these paths with the digests of the files as they are now."""
    return tuple((path, digest_of(_read(path))) for path in paths)


def _read(path: str) -> bytes | None:
    try:
        return read_bytes(path) if os.path.getsize(path) <= _MOST_BYTES else None
    except (BadSourceError, OSError):
        return None


def places(module: str, path: str) -> Iterator[str]:
    """Yield the paths where a module imported by the file at `path` may be: beside it, or in its package's folder."""
    name = module.lstrip(".")
    folder, parts = os.path.dirname(path), name.split(".") if name else []
    if len(module) > len(name):
        for _ in range(len(module) - len(name) - 1):
            folder = os.path.dirname(folder)
    else:
        folder = _above(folder, parts[0])
    base = os.path.join(folder, *parts)
    if name:
        yield f"{base}.py"
    yield os.path.join(base, "__init__.py")


def _above(folder: str, name: str) -> str:
    """Return the folder that holds the nearest folder of this name around `folder`; else `folder` itself."""
    at = folder
    while os.path.basename(at) != name:
        at, below = os.path.dirname(at), at
        if at == below:
            return folder
    return os.path.dirname(at)

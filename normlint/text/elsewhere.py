"""The other files of a package: what a name that one of them imports is, in the file that defines it.

Nothing is imported and nothing is run. A file is read only when a name is asked for that it may define; which files
were read, and which were looked for in vain, is kept, since the answers hang on them.
"""

from __future__ import annotations

import ast
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from normlint.text.pieces import Piece, pieces, quoted
from normlint.text.raw import BadSourceError, digest_of, read_bytes
from normlint.text.syntax import parsed_part

_FROM: Final = re.compile(r"\bfrom[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]{0,4000}\)|[^\n#;]*)")
_COMMENTED: Final = re.compile(r"#[^\n]*\Z")
_COMMENT: Final = re.compile(r"#[^\n]*")
_MOST_BYTES: Final = 2 * 2**20
_FARTHEST: Final = 6  # files from the import to the definition


class Definition(NamedTuple):
    """A class, and the file that it stands in."""

    node: ast.ClassDef
    file: File


class Place(NamedTuple):
    """A statement that gives a name its value, and the file that it stands in."""

    piece: Piece
    file: File


class Import(NamedTuple):
    """What a statement takes from which module, `*` for all of it; `sure`: under no `if`, and in no function."""

    module: str
    name: str
    sure: bool


class File:
    """A text and where it lies; `path` is empty where that isn't known."""

    def __init__(self, text: str, path: str) -> None:
        self.text, self.path = text, path
        self._pieces: tuple[Piece, ...] | None = None
        self._classes: dict[str, ast.ClassDef | None] = {}

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The statements at its top."""
        if self._pieces is None:
            self._pieces = pieces(self.text)
        return self._pieces

    def piece_named(self, name: str) -> Piece | None:
        """The last statement at its top that defines the name alone."""
        if f" {name}" not in self.text and f"\n{name}" not in self.text and not self.text.startswith(name):
            return None
        found = (p for p in reversed(self.pieces) if p.names == (name,) and p.kind in ("class", "def", "plain"))
        return next(found, None)

    def class_named(self, name: str) -> ast.ClassDef | None:
        """The class of this name at its top, the last one."""
        if name not in self._classes:
            piece = self.piece_named(name) if f"class {name}" in self.text else None
            nodes = parsed_part(self.text, piece.span).body if piece and piece.kind == "class" else []
            self._classes[name] = next((node for node in nodes if isinstance(node, ast.ClassDef)), None)
        return self._classes[name]

    def value_of(self, name: str) -> ast.expr | None:
        """What the last statement at its top gives a name."""
        piece = self.piece_named(name)
        stmt = next(iter(parsed_part(self.text, piece.span).body), None) if piece is not None else None
        return stmt.value if isinstance(stmt, ast.Assign | ast.AnnAssign) else None

    def imports(self, name: str) -> Iterator[Import]:
        """The imports that may give the name its value, the last of the text first."""
        return (one for words, one in reversed(self._imports) if words[-1] in (name, "*"))

    @cached_property
    def _imports(self) -> list[tuple[list[str], Import]]:
        """What its import statements take, in the order of the text, each with the words that say so."""
        lines = [m for m in _FROM.finditer(self.text) if not self._is_prose(m.start())]
        sure = {m: self.text[m.start() - 1 : m.start()] in ("", "\n") for m in lines}
        parts = ((m, one.split()) for m in lines for one in _COMMENT.sub("", m[2]).strip("()").split(","))
        return [(words, Import(m[1], words[0], sure[m])) for m, words in parts if words]

    def _is_prose(self, at: int) -> bool:
        """Is the place in a comment or a docstring?"""
        strings = quoted(self.text)
        before = bisect_right(strings, (at, at))
        return (before > 0 and at < strings[before - 1][1]) or _COMMENTED.search(self.text, at - 200, at) is not None

    def hands_on(self, name: str) -> bool:
        """Does `from module import *` import this name?"""
        return name in self._all if self._all is not None else not name.startswith("_")

    @cached_property
    def _all(self) -> frozenset[str] | None:
        """The names in its `__all__`, where that is written out once."""
        value = self.value_of("__all__") if self.text.count("__all__") == 1 else None
        try:
            return frozenset(ast.literal_eval(value)) if value is not None else None
        except (ValueError, TypeError):
            return None

    def is_chosen(self, name: str) -> bool:
        """Is it defined under an `if` or a `try`?"""
        return any(name in piece.names for piece in self.pieces if piece.kind == "compound")


class Elsewhere:
    """What the files around one file say. `asked`: the digest of each that was looked for."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self._files: dict[str, File | None] = {}
        self._known: dict[tuple[File, str], Place | None] = {}

    def definition(self, name: str, file: File) -> Definition | None:
        """The class that a name in a file stands for; None where that isn't found in the package."""
        place = self.place(name, file)
        node = place.file.class_named(place.piece.names[0]) if place is not None else None
        return Definition(node, place.file) if place is not None and node is not None else None

    def place(self, name: str, file: File, far: int = 0) -> Place | None:
        """The statement that defines what a name in a file stands for; None where that isn't found in the package."""
        if (file, name) not in self._known:
            self._known[file, name] = None  # while it is looked for
            self._known[file, name] = self._found(name, file, far)
        return self._known[file, name]

    def _found(self, name: str, file: File, far: int) -> Place | None:
        piece = file.piece_named(name)
        if piece is not None:
            return Place(piece, file)
        return self._imported(name, file, far) if far < _FARTHEST and not file.is_chosen(name) else None

    def _imported(self, name: str, file: File, far: int) -> Place | None:
        """What the last import of a name refers to; None if a conditional import may make it something else."""
        found: set[Place | None] = set()
        for one in file.imports(name):
            there, every = self._module(one.module, file.path), one.name == "*"
            given = there is not None and (not every or there.hands_on(name))
            place = self.place(name if every else one.name, there, far + 1) if there is not None and given else None
            last = one.sure and (place is not None or not every)
            found |= {place} if last or place is not None else set()
            if last:
                break
        return found.pop() if len(found) == 1 else None

    def _module(self, module: str, path: str) -> File | None:
        for candidate in _places(module, path) if path else ():
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


@lru_cache(maxsize=16)  # the files of a folder take from the same ones
def _shared(data: bytes, path: str) -> File:
    return File(data.decode("utf-8", "replace"), path)


def current(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """These files with the digests of what they hold now."""
    return tuple((path, digest_of(_read(path))) for path in paths)


def _read(path: str) -> bytes | None:
    try:
        return read_bytes(path) if os.path.getsize(path) <= _MOST_BYTES else None
    except (BadSourceError, OSError):
        return None


def _places(module: str, path: str) -> Iterator[str]:
    """Where a module may lie that the file at `path` imports: beside it, or below the folder of its package."""
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
    """The folder that holds the nearest one of this name around `folder`; else `folder` itself."""
    at = folder
    while os.path.basename(at) != name:
        at, below = os.path.dirname(at), at
        if at == below:
            return folder
    return os.path.dirname(at)

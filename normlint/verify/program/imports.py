"""What a name stands for, followed through the imports of the user's own files. Reads files, never runs them."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from normlint.verify.program.scope import ALLOWED, Bound, Scope, scope_of

LARGEST: Final = 2_000_000  # bytes of a file
MOST: Final = 20  # files of one norm
DEEPEST: Final = 4  # imports from the norm's file to the definition
CUSTOMS: Final = {  # what a snippet's names stand for when nothing binds them
    "torch": ("torch", ""),
    "nn": ("torch", "nn"),
    "F": ("torch.nn", "functional"),
    "Tensor": ("torch", "Tensor"),
    "math": ("math", ""),
    "np": ("numpy", ""),
}


@dataclass(frozen=True)
class Definition:
    """Statements of a file that define the name."""

    scope: Scope
    name: str
    nodes: tuple[ast.stmt, ...]


@dataclass(frozen=True)
class Outside:
    """`name` of a module that is imported as it stands; "" for the module itself."""

    module: str
    name: str = ""


@dataclass(frozen=True)
class Part:
    """A module among the user's own files."""

    scope: Scope


Thing: TypeAlias = "Definition | Outside | Part | None"


def parse(text: str | bytes) -> ast.Module | None:
    """The syntax tree, without the parser's warnings about the user's code; None where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=24)
def _tree(path: str, size: int, changed: int) -> ast.Module | None:  # noqa: ARG001 - a changed file is read anew
    try:
        with open(path, "rb") as file:
            return parse(file.read(LARGEST + 1)) if size <= LARGEST else None
    except OSError:
        return None


def _stamped(path: str) -> ast.Module | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return _tree(path, status.st_size, status.st_mtime_ns)


@dataclass(eq=False)
class Finder:
    """Follows names for one norm; the files it has read stay the same ones."""

    scopes: dict[str, Scope | None] = field(default_factory=dict)

    def resolve(self, scope: Scope, name: str, steps: int = 0) -> Thing:
        """What a name stands for in `scope`; None where nobody in reach binds it."""
        found = scope.find(name)
        if found is None:
            return self._unbound(_top(scope), name, steps)
        owner, bound = found
        if bound[-1].alias is None:
            return Definition(owner, name, tuple(b.node for b in bound if b.alias is None))
        return self._imported(_top(owner), bound[-1], steps) if steps <= DEEPEST else None

    def _unbound(self, scope: Scope, name: str, steps: int) -> Thing:
        if name in scope.hidden and steps <= DEEPEST:
            return self._imported(scope, scope.hidden[name][-1], steps)
        for star in scope.stars if steps <= DEEPEST else ():
            found = self._through(scope, star, name, steps)
            if found is not None:
                return found
        return Outside(*CUSTOMS[name]) if scope.snippet and name in CUSTOMS else None

    def _through(self, scope: Scope, star: ast.ImportFrom, name: str, steps: int) -> Thing:
        """What `from m import *` brings."""
        module = star.module or ""
        if not star.level and module.split(".")[0] in ALLOWED:
            return Outside(module, name)
        part = self._module(scope, star.level, module)
        return self.resolve(part, name, steps + 1) if part else None

    def _imported(self, scope: Scope, bound: Bound, steps: int) -> Thing:
        node, alias = bound.node, bound.alias
        if alias is None:
            return None
        if isinstance(node, ast.ImportFrom):
            return self._from(scope, node, alias.name, steps)
        module = alias.name if alias.asname else alias.name.split(".")[0]
        if module.split(".")[0] in ALLOWED:
            return Outside(*module.rsplit(".", 1)) if "." in module else Outside(module)
        part = self._module(scope, 0, module)
        return Part(part) if part else None

    def _from(self, scope: Scope, node: ast.ImportFrom, name: str, steps: int) -> Thing:
        module = node.module or ""
        if not node.level and module.split(".")[0] in ALLOWED:
            return Outside(module, name)
        part = self._module(scope, node.level, module)
        found = self.resolve(part, name, steps + 1) if part else None
        if found is not None:
            return found
        below = self._module(scope, node.level, f"{module}.{name}".strip("."))
        return Part(below) if below else None

    def _module(self, scope: Scope, level: int, module: str) -> Scope | None:
        """The scope of a module as an import in `scope` names it, if its file is there."""
        if not scope.path or scope.depth >= DEEPEST:
            return None
        for path in _places(scope.path, level, module):
            if path not in self.scopes and len(self.scopes) < MOST:
                tree = _stamped(path)
                self.scopes[path] = scope_of(tree.body, path, depth=scope.depth + 1) if tree else None
            found = self.scopes.get(path)
            if found is not None:
                return found
        return None


def _top(scope: Scope) -> Scope:
    while scope.parent is not None:
        scope = scope.parent
    return scope


def _places(path: str, level: int, module: str) -> Iterator[str]:
    """Files that an import in the file at `path` may mean."""
    folder = os.path.dirname(os.path.abspath(path))
    parts = [part for part in module.split(".") if part]
    if level:
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
    else:
        folder = _root(folder)
        if not parts or not _beside(folder, path, parts[0]):
            return
    base = os.path.join(folder, *parts)
    if parts:
        yield f"{base}.py"
    yield os.path.join(base, "__init__.py")


def _root(folder: str) -> str:
    """The directory from which the file's package, or a script beside others, is imported."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _beside(root: str, path: str, first: str) -> bool:
    """Whether an absolute import stays in the file's own package, or among the scripts of its directory."""
    inside = os.path.relpath(os.path.abspath(path), root).split(os.sep)
    return len(inside) == 1 or inside[0] == first

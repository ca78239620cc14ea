"""A definition and all that it reaches, as a program of its own: the same text wherever the same code stands."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from normlint.verify.program import stubs
from normlint.verify.program.bases import Lineage, pruned
from normlint.verify.program.imports import Definition, Finder, Outside, Part
from normlint.verify.program.scope import Scope, loads, stored
from normlint.verify.program.tidy import attributes_of, renamed, tidied

LARGEST: Final = 80  # definitions
CLASS: Final = "Norm"
FUNCTION: Final = "norm"


class TooMuchError(Exception):
    """The norm reaches more of its surroundings than is worth running."""


@dataclass(eq=False)
class _Chunk:
    """One statement of the program, with what the names in it are called there."""

    node: ast.stmt
    names: dict[str, str] = field(default_factory=dict)
    modules: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(eq=False)
class Program:
    """Grows by the definitions it is asked for, those first that the others need at once."""

    finder: Finder
    missing: list[str] = field(default_factory=list)  # names that nobody in reach binds
    lost: str = ""  # a base class that nobody in reach defines
    _chunks: list[_Chunk] = field(default_factory=list)
    _names: dict[tuple[int, str], str] = field(default_factory=dict)
    _imports: dict[Outside, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _pruned: dict[int, ast.ClassDef] = field(default_factory=dict)

    def add_class(self, scope: Scope, lineage: Lineage, kept: frozenset[str]) -> None:
        """The entry, with only those of its and its bases' members that are `kept`."""
        self._taken.add(CLASS)
        for _, node in lineage:
            self._pruned[id(node)] = pruned(node, kept)
        self._define(scope, lineage[0][1].name, (lineage[0][1],), CLASS)

    def add_function(self, scope: Scope, node: ast.stmt, name: str) -> None:
        """The entry, called `norm` in the program."""
        self._taken.add(FUNCTION)
        self._define(scope, name, (node,), FUNCTION)

    def text(self) -> str:
        """The program: imports, then definitions."""
        body = [ast.unparse(ast.fix_missing_locations(renamed(c.node, c.names, c.modules))) for c in self._chunks]
        code = "\n\n".join(body)
        lines = {stubs.import_line(thing, name) for thing, name in self._imports.items()}
        lines |= {f"import {path}" for path in stubs.submodules(code) if "torch" in self._imports.values()}
        return "\n".join(["from __future__ import annotations", *sorted(lines), "", code, ""])

    # --- definitions

    def _define(self, scope: Scope, name: str, nodes: tuple[ast.stmt, ...], called: str = "") -> str:
        key = (id(scope), name)
        if key in self._names:
            return self._names[key]
        for other in {name}.union(*(stored(n) for n in nodes if not _is_definition(n))):
            self._names[id(scope), other] = called or self._free(other)
        for node in nodes:
            self._emit(scope, node, self._names[key])
        return self._names[key]

    def _free(self, name: str) -> str:
        for number in itertools.count(2):
            if name not in self._taken:
                break
            name = f"{name.rstrip('0123456789').rstrip('_')}_{number}"
        self._taken.add(name)
        return name

    def _emit(self, scope: Scope, node: ast.stmt, name: str) -> None:
        if len(self._chunks) > LARGEST:
            raise TooMuchError
        copy, imports = tidied(self._pruned.get(id(node), node), scope)
        inner = Scope(imports, scope, scope.path, scope.depth, scope.snippet) if imports else scope
        if isinstance(copy, ast.ClassDef):
            copy.bases = self._bases(inner, copy.bases)
        if isinstance(copy, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            copy.name = name
        chunk = _Chunk(copy)
        needs = loads(copy)
        self._link(chunk, inner, [n for n, at_once in needs.items() if at_once])
        self._chunks.append(chunk)
        self._link(chunk, inner, [n for n, at_once in needs.items() if not at_once])

    def _link(self, chunk: _Chunk, scope: Scope, names: Iterable[str]) -> None:
        """Bring in what the statement names, and note what it is called."""
        for name in [*names, *(n for n in stored(chunk.node) if not _is_definition(chunk.node))]:
            called = self._need(scope, name, chunk)
            if called:
                chunk.names[name] = called

    def _need(self, scope: Scope, name: str, chunk: _Chunk) -> str:
        """What `name` is called in the program; "" where it stays as it is."""
        found = self.finder.resolve(scope, name)
        stub = stubs.stub(name, found, chunk.node)
        if stub is not None:
            return self._stub(name, stub)
        match found:
            case Outside():
                return self._import(found, name)
            case Definition(scope=owner, name=original, nodes=nodes):
                return self._define(owner, original, nodes)
            case Part(scope=part):
                attributes = attributes_of(chunk.node, name)
                called = {a: self._need(part, a, chunk) for a in attributes}
                chunk.modules[name] = {a: c for a, c in called.items() if c}
            case None if not hasattr(builtins, name) and name not in self.missing:
                self.missing.append(name)
        return ""

    def _stub(self, name: str, text: str) -> str:
        key = (0, name)
        if key not in self._names:
            self._names[key] = self._free(name)
            called: dict[str, str] = {}
            for stmt in ast.parse(text.format(name=self._names[key])).body:
                if isinstance(stmt, ast.ImportFrom):
                    called = {"nn": self._import(Outside("torch", "nn"), "nn")}
                else:
                    self._chunks.append(_Chunk(stmt, called))
        return self._names[key]

    def _import(self, thing: Outside, name: str) -> str:
        if thing not in self._imports:
            self._imports[thing] = self._free(name)
        return self._imports[thing]

    def _bases(self, scope: Scope, bases: list[ast.expr]) -> list[ast.expr]:
        """Those that are within reach, stand-ins for the well-known ones; mixins from elsewhere are left out."""
        kept: list[ast.expr] = []
        for base in bases:
            root = stubs.root_name(base)
            found = self.finder.resolve(scope, root) if root else None
            stand_in = stubs.base(base, found)
            if stand_in:
                kept.append(ast.Name(self._stub(stubs.BASE, stand_in), ast.Load()))
            elif found is not None or hasattr(builtins, root):
                kept.append(base)
            elif stand_in is None:
                self.lost = self.lost or ast.unparse(base)
        return kept


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)

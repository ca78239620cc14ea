"""A class and its bases, and which of their members a method reaches."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Final, TypeAlias

from normlint.verify.program.imports import Definition, Finder
from normlint.verify.program.scope import FUNCTIONS, Scope, parameters, stored
from normlint.verify.program.tidy import last_name

Lineage: TypeAlias = "tuple[tuple[Scope, ast.ClassDef], ...]"
_DEEPEST: Final = 12


def lineage(finder: Finder, scope: Scope, cls: ast.ClassDef) -> Lineage:
    """The class and its bases within reach, nearest first."""
    found: list[tuple[Scope, ast.ClassDef]] = []
    todo = [(scope, cls)]
    while todo and len(found) < _DEEPEST:
        where, node = todo.pop(0)
        if any(node is known for _, known in found):
            continue
        found.append((where, node))
        for base in node.bases:
            thing = finder.resolve(where, base.id) if isinstance(base, ast.Name) else None
            if isinstance(thing, Definition) and isinstance(thing.nodes[-1], ast.ClassDef):
                todo.append((thing.scope, thing.nodes[-1]))
    return tuple(found)


def reached(family: Lineage, method: str) -> frozenset[str]:
    """The members that construction and `method` come by."""
    members: dict[str, list[ast.stmt]] = {}
    names = {cls.name for _, cls in family}
    for _, cls in family:
        for stmt in cls.body:
            for name in _bound(stmt):
                members.setdefault(name, []).append(stmt)
    todo = ["__init__", "__new__", "__post_init__", "reset_parameters", method]
    todo += ["backward", "setup_context"]  # of an autograd.Function
    if any(_is_data(cls) for _, cls in family):
        todo += [name for name, stmts in members.items() if isinstance(stmts[0], ast.AnnAssign)]
    kept: set[str] = set()
    while todo:
        name = todo.pop()
        if name in members and name not in kept:
            kept.add(name)
            todo.extend(n for stmt in members[name] for n in _members_named(stmt, names))
    return frozenset(kept)


def _bound(stmt: ast.stmt) -> set[str]:
    if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
        return {stmt.target.id}
    return stored(stmt)


def _is_data(cls: ast.ClassDef) -> bool:
    return any(last_name(d) == "dataclass" for d in cls.decorator_list)


def _members_named(stmt: ast.stmt, classes: set[str]) -> Iterator[str]:
    """Names taken of self, cls, super() or one of the classes; of the class's own names, too, in its body."""
    first = parameters(stmt.args)[:1] if isinstance(stmt, FUNCTIONS) else []
    selves = {"self", "cls", *classes, *(a.arg for a in first)}
    for node in ast.walk(stmt):
        if isinstance(node, ast.Attribute) and _is_self(node.value, selves):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value  # getattr(self, "name")
        elif isinstance(node, ast.Name) and not isinstance(stmt, FUNCTIONS):
            yield node.id
    for decorator in getattr(stmt, "decorator_list", ()):
        yield from (n.id for n in ast.walk(decorator) if isinstance(n, ast.Name))


def _is_self(node: ast.expr, selves: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node) in ("super", "type")
    return (isinstance(node, ast.Name) and node.id in selves) or last_name(node) == "__class__"


def pruned(cls: ast.ClassDef, kept: frozenset[str]) -> ast.ClassDef:
    """The class with only the members in `kept`; also its overridden ones, which a property's setter may be."""
    result = copy.copy(cls)
    result.body = [stmt for stmt in cls.body if _bound(stmt) & kept and not _is_bare(cls, stmt)] or [ast.Pass()]
    return result


def _is_bare(cls: ast.ClassDef, stmt: ast.stmt) -> bool:
    """An annotation that assigns nothing; a dataclass's field it is only in a dataclass."""
    return isinstance(stmt, ast.AnnAssign) and stmt.value is None and not _is_data(cls)


def inherits_all(cls: ast.ClassDef, kept: frozenset[str]) -> bool:
    """Nothing of its own that matters: the base will do in its place."""
    return len(cls.bases) == 1 and not any(_bound(stmt) & kept for stmt in cls.body)

"""Who knows an eps at a place of the text, where its value stands, and who calls what takes one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

import libcst as cst

from normlint.fixes.calls import Scope, argument_of, parameters
from normlint.fixes.document import Document
from normlint.fixes.flow import Value, given, stored
from normlint.fixes.spelling import called, is_none, last_name, number
from normlint.fixes.tree import Tree
from normlint.norm.norm import LARGE
from normlint.norm.owner import is_eps
from normlint.text.frozen import dataclass

_DEEP: Final = 6
_KEEP_EPS: Final = {"LayerNorm", "RMSNorm", "GroupNorm"}  # as an attribute, in torch.nn


# --- scopes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Self:
    """What a method calls its object, and the class it stands in."""

    name: str
    cls: cst.ClassDef


def scopes(document: Document, node: cst.CSTNode) -> Iterator[Scope]:
    """The functions whose names can be seen, from the inside out: up to a method or a function of the module."""
    below = node
    for above in document.above(node):
        if isinstance(above, cst.ClassDef):
            return
        if isinstance(above, cst.FunctionDef | cst.Lambda) and above.body is below:  # no default and no decorator
            yield above
        below = above


def outermost(document: Document, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The method, or function of the module, that holds the node."""
    found = [scope for scope in scopes(document, node) if isinstance(scope, cst.FunctionDef)]
    return found[-1] if found else None


def class_of(document: Document, function: cst.FunctionDef | None) -> cst.ClassDef | None:
    """The class whose method it is."""
    holder = document.around(function, cst.FunctionDef | cst.ClassDef)
    return holder if isinstance(holder, cst.ClassDef) else None


def default(scope: Scope, name: str) -> Value:
    """The default of a parameter."""
    params = scope.params
    several = (*params.posonly_params, *params.params, *params.kwonly_params)
    return next((p.default for p in several if p.name.value == name), None)


def decorators(function: cst.FunctionDef) -> set[str]:
    """The last parts of the decorators' names."""
    return {last_name(d.decorator) for d in function.decorators}


def self_at(document: Document, node: cst.CSTNode) -> Self | None:
    """The object whose attributes can be seen from the node."""
    method = outermost(document, node)
    cls = class_of(document, method)
    if method is None or cls is None or decorators(method) & {"staticmethod", "classmethod"}:
        return None
    names = parameters(method)
    inner = [scope for scope in scopes(document, node) if scope is not method]
    if not names or any(names[0] in parameters(scope) for scope in inner):
        return None
    return Self(names[0], cls)


# --- classes ---------------------------------------------------------------------------------------------------------


def lineage(document: Document, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """The class and its bases in the text."""
    found: list[cst.ClassDef] = []
    waiting = [cls]
    while waiting:
        one = waiting.pop(0)
        if one not in found:
            found.append(one)
            bases = [b.value.value for b in one.bases if isinstance(b.value, cst.Name)]
            waiting += [c for base in bases for c in _classes(document, base)[-1:]]
    return found


def _classes(document: Document, name: str) -> list[cst.ClassDef]:
    return [c for c in document.everywhere(cst.ClassDef, f"class {name}") if c.name.value == name]


def _heirs(document: Document, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """The classes that derive from it, themselves or by others."""
    found = [cls]
    for one in found:
        name = one.name.value
        own = (c for c in document.everywhere(cst.ClassDef, name) if name in {last_name(b.value) for b in c.bases})
        found += [c for c in own if c not in found]
    return found[1:]


def constructor(cls: cst.ClassDef) -> cst.FunctionDef | None:
    """The class's own `__init__`, if there is one and no more."""
    found = [n for n in cls.body.body if isinstance(n, cst.FunctionDef) and n.name.value == "__init__"]
    return found[0] if len(found) == 1 else None


def stores(document: Document, cls: cst.ClassDef, name: str) -> list[Value]:
    """What the class and its bases assign to an attribute; None for a value that is no expression of its own."""
    found: list[Value] = []
    for one in lineage(document, cls):
        nodes = (n for n in document.below(one, cst.Attribute) if n.attr.value == name)
        found += [value for n in nodes for value in given(document, n)]
        found += [value for own, value in _constants(one) if own == name]
    return found or [a.value for a in _handed_up(document, cls) if a.keyword and a.keyword.value == name]


def _constants(cls: cst.ClassDef) -> Iterator[tuple[str, Value]]:
    """The names that stand in the class itself, with what they are given."""
    for stmt in (s for line in cls.body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body):
        target: Any = getattr(stmt, "target", None)
        if isinstance(stmt, cst.Assign) and len(stmt.targets) == 1:
            target = stmt.targets[0].target
        if isinstance(target, cst.Name) and isinstance(stmt, cst.Assign | cst.AnnAssign) and stmt.value is not None:
            yield target.value, stmt.value  # else only declared


def _handed_up(document: Document, cls: cst.ClassDef) -> list[cst.Arg]:
    """What a base class is given by name, and keeps by that name, as torch's do: `super().__init__(d, eps=eps)`."""
    init = constructor(cls)
    calls = [n for n in document.below(init, cst.Call) if called(n) == "__init__"]
    return [a for a in calls[0].args if a.keyword] if len(calls) == 1 else []


def has_attribute(document: Document, cls: cst.ClassDef, name: str) -> bool:
    """Does the class have an attribute or a method of this name?"""
    defined = (n.name.value for one in lineage(document, cls) for n in one.body.body if isinstance(n, cst.FunctionDef))
    return bool(stores(document, cls, name)) or name in defined


# --- an eps that is there --------------------------------------------------------------------------------------------


def known(tree: Tree, node: cst.CSTNode) -> str | None:
    """How an eps that the code has already is written at the node: a parameter, an attribute or a constant."""
    document = tree.document
    for scope in scopes(document, node):
        names = [name for name in parameters(scope) if is_eps(name) and _given_a_number(tree, scope, name)]
        if len(names) == 1:
            return names[0]
    me = self_at(document, node)
    names = sorted(_attributes(tree, me.cls)) if me else []
    if me and len(names) == 1:
        return f"{me.name}.{names[0]}"
    several = {name: _of_module(tree, name) for name in _named_eps(tree)}
    constants = [name for name, values in several.items() if len(values) == 1 and number(values[0]) is not None]
    return constants[0] if len(constants) == 1 and _usable(tree, several[constants[0]][0]) else None


def _given_a_number(tree: Tree, scope: Scope, name: str) -> bool:
    """Is the parameter a usable number where eps is added, also if its default is None?"""
    value = default(scope, name)
    if is_none(value):
        return bool(_bound(tree.document, scope, name))
    return _usable(tree, value)


def _attributes(tree: Tree, cls: cst.ClassDef) -> set[str]:
    document = tree.document
    family = lineage(document, cls)
    targets = (n for one in family for n in document.below(one, cst.Attribute) if is_eps(n.attr.value))
    names = {n.attr.value for n in targets if given(document, n)} | {n for one in family for n, _ in _constants(one)}
    names |= {a.keyword.value for a in _handed_up(document, cls) if a.keyword}
    bases = {last_name(b.value) for one in family for b in one.bases} - {one.name.value for one in family}
    own = {n for n in names if is_eps(n) and all(v is not None and _usable(tree, v) for v in stores(document, cls, n))}
    return own | ({"eps"} if bases & _KEEP_EPS else set())


def _named_eps(tree: Tree) -> list[str]:
    """The names that the module binds and that are an eps by their looks."""
    targets = (t for stmt in tree.root.body for t in _targets(stmt))
    return list(dict.fromkeys(t.id for t in targets if isinstance(t, ast.Name) and is_eps(t.id)))


def _targets(stmt: ast.stmt) -> list[ast.expr]:
    if isinstance(stmt, ast.Assign):
        return stmt.targets if len(stmt.targets) == 1 else []
    return [stmt.target] if isinstance(stmt, ast.AnnAssign) and stmt.value is not None else []


def _of_module(tree: Tree, name: str) -> list[Value]:
    """What the module gives to a name."""
    given = [s for s in tree.root.body if any(getattr(t, "id", "") == name for t in _targets(s))]
    return [tree.document.at(tree.span(s.value)) for s in given]  # type: ignore[attr-defined]


def _usable(tree: Tree, value: Value) -> bool:
    """May the value be used as eps? Not a number that is out of range, nor a call other than float or getattr."""
    origins = origin(tree, value) if value is not None else []
    if any(not 0 < (number(o) or 0) < LARGE for o in origins):
        return False
    return not isinstance(value, cst.Call) or called(value) in ("float", "getattr")


# --- where a value stands --------------------------------------------------------------------------------------------


def origin(tree: Tree, node: Value, depth: int = 0) -> list[cst.BaseExpression]:
    """The literal numbers that an expression may evaluate to; empty unless all of them are in the text."""
    if node is not None and number(node) is not None:
        return [node]
    found: list[cst.BaseExpression] = []
    for one in _sources(tree, node) if depth <= _DEEP else ():
        values = origin(tree, one, depth + 1)
        if not values:
            return []
        found += values
    return list(dict.fromkeys(found))


def _sources(tree: Tree, node: Value) -> list[Value]:
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        me = self_at(tree.document, node)
        return stores(tree.document, me.cls, node.attr.value) if me and node.value.value == me.name else []
    return _of_name(tree, node) if isinstance(node, cst.Name) else []


def _of_name(tree: Tree, node: cst.Name) -> list[Value]:
    for scope in scopes(tree.document, node):
        if node.value in parameters(scope):
            return list(arguments(tree.document, scope, node.value)) if isinstance(scope, cst.FunctionDef) else []
        bound = _bound(tree.document, scope, node.value)
        if bound:
            return bound if len(bound) == 1 else []
    bound = _of_module(tree, node.value)
    return bound if len(bound) == 1 else []


def _bound(document: Document, scope: Scope, name: str) -> list[Value]:
    """What a function gives to a name."""
    return [value for n in stored(document, scope.body, name) for value in given(document, n) or [None]]


def arguments(document: Document, function: cst.FunctionDef, name: str) -> Iterator[Value]:
    """What a parameter is given: by each call in the text, or by its default."""
    calls = [argument_of(function, call, name) for call in calls_of(document, function)]
    value = default(function, name)
    if value is not None and (None in calls or not calls):
        yield value
    yield from (value for value in calls if value is not None)


def calls_of(document: Document, function: cst.FunctionDef) -> list[cst.Call]:
    """The calls of a function in the text; of a constructor those by the classes that derive from its class."""
    cls, name = class_of(document, function), function.name.value
    if name == "__init__" and cls is not None:
        return [n for heir in _heirs(document, cls) for n in document.below(heir, cst.Call) if called(n) == name]
    kind = cst.Name if cls is None else cst.Attribute
    return [n for n in document.everywhere(cst.Call, name) if called(n) == name and isinstance(n.func, kind)]

"""Find the eps that is visible at a place of the text, where its value is written, and what callers pass for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

import libcst as cst

from normlint.fixes.calls import Scope, argument_of, parameters
from normlint.fixes.document import Document
from normlint.fixes.flow import Value, calls_of, class_of, given, names_of, stored
from normlint.fixes.spelling import is_none, last_name, number
from normlint.fixes.tree import Tree
from normlint.norm.norm import LARGE
from normlint.norm.owner import is_eps

_DEEP: Final = 6
_KEEP_EPS: Final = {"LayerNorm", "RMSNorm", "GroupNorm"}  # classes of torch.nn with an attribute `eps`


class Self(NamedTuple):
    """The name that a method has for its object, and the class around it."""

    name: str
    cls: cst.ClassDef


def scopes(document: Document, node: cst.CSTNode) -> Iterator[Scope]:
    """Yield the functions whose names are visible from the node, from the inside out up to the outermost one."""
    below = node
    for above in document.above(node):
        if isinstance(above, cst.ClassDef):
            return
        if isinstance(above, cst.FunctionDef | cst.Lambda) and above.body is below:  # no default and no decorator
            yield above
        below = above


def outermost(document: Document, node: cst.CSTNode) -> cst.FunctionDef | None:
    """Return the method or top-level function that holds the node."""
    found = [scope for scope in scopes(document, node) if isinstance(scope, cst.FunctionDef)]
    return found[-1] if found else None


def default(scope: Scope, name: str) -> Value:
    """Return the default of a parameter."""
    params = scope.params
    several = (*params.posonly_params, *params.params, *params.kwonly_params)
    return next((p.default for p in several if p.name.value == name), None)


def decorators(function: cst.FunctionDef) -> set[str]:
    """Return the last parts of the decorators' names."""
    return {last_name(d.decorator) for d in function.decorators}


def self_at(document: Document, node: cst.CSTNode) -> Self | None:
    """Return the object whose attributes are visible from the node."""
    method = outermost(document, node)
    cls, names = class_of(document, method), parameters(method) if method is not None else []
    if method is None or cls is None or not names or decorators(method) & {"staticmethod", "classmethod"}:
        return None
    return Self(names[0], cls)


def lineage(document: Document, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return the class and its bases in the text."""
    found = [cls]
    for one in found:
        for base in (b.value.value for b in one.bases if isinstance(b.value, cst.Name)):
            named = [c for c in document.everywhere(cst.ClassDef, f"class {base}") if c.name.value == base]
            found += [c for c in named[-1:] if c not in found]
    return found


def constructor(cls: cst.ClassDef) -> cst.FunctionDef | None:
    """Return the class's own `__init__`, if it has exactly one."""
    found = [n for n in cls.body.body if isinstance(n, cst.FunctionDef) and n.name.value == "__init__"]
    return found[0] if len(found) == 1 else None


def stores(document: Document, cls: cst.ClassDef, name: str) -> list[Value]:
    """Return what the class and its bases assign to an attribute; None for a value not written as one expression."""
    found: list[Value] = []
    for one in lineage(document, cls):
        nodes = (n for n in document.below(one, cst.Attribute) if n.attr.value == name)
        found += [value for n in nodes for value in given(document, n)]
        found += [value for own, value in _class_constants(one) if own == name]
    return found


def _class_constants(cls: cst.ClassDef) -> Iterator[tuple[str, Value]]:
    for stmt in (s for line in cls.body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body):
        if isinstance(stmt, cst.Assign | cst.AnnAssign) and stmt.value is not None:  # else only declared
            yield from ((name, stmt.value) for name in names_of(stmt))


def known(tree: Tree, node: cst.CSTNode) -> Iterator[str]:
    """Yield how to write an eps that the code has at the node: a parameter, else an attribute, else a constant."""
    document = tree.document
    for scope in scopes(document, node):
        names = [name for name in parameters(scope) if is_eps(name) and not optional(document, scope, name)]
        yield from names if len(names) == 1 else ()
    me = self_at(document, node)
    attributes = [f"{me.name}.{name}" for name in _attributes(tree, me.cls)] if me else []
    given_once = {name: document.at(tree.span(one)) for name, (one, *more) in _module_values(tree).items() if not more}
    constants = [n for n, value in given_once.items() if is_eps(n) and 0 < (number(value) or 0) < LARGE]
    for names in (attributes, constants):
        yield from names if len(names) == 1 else ()


def optional(document: Document, scope: Scope, name: str) -> bool:
    """Return whether the parameter is None by default and isn't set in the function."""
    return is_none(default(scope, name)) and not stored(document, scope.body, name)


def _attributes(tree: Tree, cls: cst.ClassDef) -> set[str]:
    document, family = tree.document, lineage(tree.document, cls)
    names = {n.attr.value for one in family for n in document.below(one, cst.Attribute) if given(document, n)}
    names |= {name for one in family for name, _ in _class_constants(one)}
    values = {name: stores(document, cls, name) for name in names if is_eps(name)}
    numbers = {name: [number(one) for v in several for one in origin(tree, v)] for name, several in values.items()}
    inherited = {"eps"} if any(last_name(b.value) in _KEEP_EPS for one in family for b in one.bases) else set()
    return inherited | {name for name, several in numbers.items() if all(0 < (one or 0) < LARGE for one in several)}


def _module_values(tree: Tree) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for stmt in tree.root.body:
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
        value = getattr(stmt, "value", None)
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and value is not None:
            found.setdefault(targets[0].id, []).append(value)
    return found


def origin(tree: Tree, node: Value, depth: int = 0) -> list[cst.BaseExpression]:
    """Return the literal numbers that an expression may evaluate to; empty unless all of them are in the text."""
    if node is not None and number(node) is not None:
        return [node]
    several = [origin(tree, one, depth + 1) for one in (_sources(tree, node) if depth <= _DEEP else ())]
    return list(dict.fromkeys(one for some in several for one in some)) if all(several) else []


def _sources(tree: Tree, node: Value) -> list[Value]:
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        me = self_at(tree.document, node)
        return stores(tree.document, me.cls, node.attr.value) if me and node.value.value == me.name else []
    return _values_of_name(tree, node) if isinstance(node, cst.Name) else []


def _values_of_name(tree: Tree, node: cst.Name) -> list[Value]:
    document = tree.document
    for scope in scopes(document, node):
        if node.value in parameters(scope):
            return list(arguments(document, scope, node.value)) if isinstance(scope, cst.FunctionDef) else []
        if stored(document, scope.body, node.value):
            return []
    bound = _module_values(tree).get(node.value, [])
    return [document.at(tree.span(bound[0]))] if len(bound) == 1 else []


def arguments(document: Document, function: cst.FunctionDef, name: str) -> Iterator[Value]:
    """Yield the values of a parameter: from each call in the text, or its default."""
    calls = [argument_of(function, call, name) for call in calls_of(document, function)]
    value = default(function, name)
    if value is not None and (None in calls or not calls):
        yield value
    yield from (value for value in calls if value is not None)

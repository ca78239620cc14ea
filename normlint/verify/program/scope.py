"""Which names a piece of Python binds, and which it needs from outside. Plain `ast`."""

from __future__ import annotations

import ast
from typing import Final, TypeAlias

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def stored(node: ast.AST) -> set[str]:
    """Names that the node binds, not counting what is inside nested functions and classes."""
    found: set[str] = set()
    todo = [node]
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            found.add(n.id)
        elif isinstance(n, ast.Import | ast.ImportFrom):
            found.update(_local(n, a) for a in n.names)
        elif isinstance(n, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and n.name:
            found.add(n.name)
        if isinstance(n, (*FUNCTIONS, ast.ClassDef)):
            found.add(n.name)
        elif not isinstance(n, ast.Lambda):
            todo.extend(ast.iter_child_nodes(n))
    return found


def _local(stmt: ast.stmt, alias: ast.alias) -> str:
    return alias.asname or (alias.name.split(".")[0] if isinstance(stmt, ast.Import) else alias.name)


def parameters(args: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, in order."""
    star = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *star]


def own_names(node: Function | ast.Lambda) -> set[str]:
    """The names that are local to a function."""
    found = {a.arg for a in parameters(node.args)}
    if isinstance(node, ast.Lambda):
        return found
    shared: set[str] = set()
    for stmt in node.body:
        found |= stored(stmt)
        shared.update(name for n in ast.walk(stmt) if isinstance(n, ast.Global) for name in n.names)
    return found - shared


def defaults(node: Function | ast.Lambda) -> list[ast.expr]:
    """The default values of parameters: evaluated where the function is defined."""
    return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


def loads(node: ast.AST) -> dict[str, bool]:
    """Names that the node takes from outside, in order; True where they are needed at once, not only in a call."""
    found: dict[str, bool] = {}
    _collect(node, frozenset(), False, found)
    return found


def _collect(node: ast.AST, local: frozenset[str], later: bool, found: dict[str, bool]) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in local:
            found[node.id] = found.get(node.id, False) or not later
        return
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        for part in (*getattr(node, "decorator_list", ()), *defaults(node)):
            _collect(part, local, later, found)
        inner = local | own_names(node)
        for part in node.body if isinstance(node.body, list) else (node.body,):
            _collect(part, inner, True, found)
        return
    if isinstance(node, ast.ClassDef):
        _collect_class(node, local, later, found)
        return
    inner = local | _targets(node) if isinstance(node, _COMPREHENSIONS) else local
    for child in ast.iter_child_nodes(node):
        if not _is_annotation(node, child):
            _collect(child, inner, later, found)


_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _targets(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and child is node.annotation


def _collect_class(node: ast.ClassDef, local: frozenset[str], later: bool, found: dict[str, bool]) -> None:
    for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
        _collect(part, local, later, found)
    members = frozenset().union(*(stored(stmt) for stmt in node.body)) if node.body else frozenset()
    for stmt in node.body:
        inner = local if isinstance(stmt, FUNCTIONS) else local | members  # methods don't see the class's names
        _collect(stmt, inner, later, found)

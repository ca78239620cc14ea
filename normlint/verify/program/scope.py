"""Which names a piece of Python binds, to what, and which it needs from outside. Plain `ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
# what can be imported as it stands; everything else is looked for in the user's own files
ALLOWED: Final = frozenset(
    "torch math typing typing_extensions functools dataclasses collections abc enum numbers itertools operator types"
    " warnings contextlib einops numpy".split()
)
CHECK: Final = re.compile(r"_?(?:is_\w*(?:available|enabled|compiling|tracing|exporting|scripting|proxy)|is_torch\w*)$")
FLAG: Final = re.compile(r"_?(?:HAS|HAVE|has|have)_\w+$|\w+_(?:AVAILABLE|available)$")


@dataclass(frozen=True)
class Bound:
    """A statement that binds a name; `alias` is its part of an import."""

    node: ast.stmt
    alias: ast.alias | None = None


Names: TypeAlias = "dict[str, tuple[Bound, ...]]"


@dataclass(eq=False)
class Scope:
    """The names of a file, or of a function in it; `path` is where its imports count from, "" if unknown."""

    names: Names
    parent: Scope | None = None
    path: str = ""
    depth: int = 0  # imports between the norm's file and this one
    snippet: bool = False
    stars: tuple[ast.ImportFrom, ...] = ()
    hidden: Names = field(default_factory=dict)  # imports for type checkers: good enough to follow a re-export

    def find(self, name: str) -> tuple[Scope, tuple[Bound, ...]] | None:
        """Who binds the name: the innermost scope, and its statements, the last of them in force."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope, scope.names[name]
            scope = scope.parent
        return None


def scope_of(body: Iterable[ast.stmt], path: str = "", *, depth: int = 0, snippet: bool = False) -> Scope:
    """The scope of a file's statements."""
    statements = list(body)
    stars = tuple(n for n in _flat(statements) if isinstance(n, ast.ImportFrom) and n.names[0].name == "*")
    hidden: Names = {}
    for stmt in statements:
        if isinstance(stmt, ast.If) and _outcome(stmt.test, {}) is False:
            hidden |= bindings(stmt.body)
    return Scope(bindings(statements), None, path, depth, snippet, stars, hidden)


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, ast.If | ast.Try):
            yield from _flat(child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.stmt))


# --- what is bound ---------------------------------------------------------------------------------------------------


def bindings(body: Iterable[ast.stmt]) -> Names:
    """What the statements bind; of branches that exclude each other the one that can run without the rest."""
    found: Names = {}
    for stmt in body:
        for name, bound in _bound_by(stmt, found).items():
            again = isinstance(stmt, ast.AugAssign) or (isinstance(stmt, ast.Assign) and name in loads(stmt))
            found[name] = (*found[name], *bound) if again and name in found else bound
    return found


def _bound_by(stmt: ast.stmt, before: Names) -> Names:
    match stmt:
        case ast.Import() | ast.ImportFrom():
            return {_local(stmt, a): (Bound(stmt, a),) for a in stmt.names if a.name != "*"}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name: (Bound(stmt),)}
        case ast.If(test=test, body=body, orelse=orelse):
            first, second = bindings(body), bindings(orelse)
            outcome = _outcome(test, before)
            return first | second if outcome is False else second | first
        case ast.Try():
            return _tried(stmt)
        case ast.With(body=body):
            return bindings(body)
        case ast.AnnAssign(value=None):
            return {}
    return {name: (Bound(stmt),) for name in stored(stmt)}


def _local(stmt: ast.stmt, alias: ast.alias) -> str:
    return alias.asname or (alias.name.split(".")[0] if isinstance(stmt, ast.Import) else alias.name)


def _tried(stmt: ast.Try) -> Names:
    """The handler's names where the body imports what isn't there for the program."""
    body = bindings([*stmt.body, *stmt.orelse])
    handled: Names = {}
    for handler in stmt.handlers:
        handled = bindings(handler.body) | handled
    missing = any(_is_foreign(n) for s in stmt.body for n in ast.walk(s))
    return (body | handled if missing else handled | body) | bindings(stmt.finalbody)


def _is_foreign(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(a.name.split(".")[0] not in ALLOWED for a in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] not in ALLOWED


def _outcome(test: ast.expr, names: Names) -> bool | None:
    """Whether a test at the top of a file holds for the program; None: it may."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _outcome(operand, names)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=values):
            outcomes = [_outcome(value, names) for value in values]
            decisive = isinstance(op, ast.Or)
            if decisive in outcomes:
                return decisive
            return None if None in outcomes else not decisive
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.Name(id=name):
            value = _constant(names.get(name, ()))
            return bool(value) if value is not None else (False if FLAG.match(name) else None)
        case ast.Call(func=ast.Name(id=name)) if CHECK.match(name):
            return False
    return None


def _constant(bound: tuple[Bound, ...]) -> object:
    node = bound[-1].node if bound else None
    return node.value.value if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) else None


# --- what is needed --------------------------------------------------------------------------------------------------


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

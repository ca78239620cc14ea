"""A copy of a definition without what only gets in the way: docstrings, decorators, logging, foreign imports."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping
from typing import Final, TypeVar

from normlint.verify.program.scope import ALLOWED, FUNCTIONS, Bound, Function, Names, Scope, own_names

_Node = TypeVar("_Node", bound=ast.AST)
MODES: Final = frozenset("no_grad inference_mode enable_grad autocast".split())
_KEPT: Final = MODES | frozenset(
    "staticmethod classmethod property cached_property setter getter deleter contextmanager wraps lru_cache cache"
    " dataclass".split()
)
_BOOKKEEPING: Final = re.compile(r"regist|deprecat|jit|compil|export|doc|hub|kernel|script|overload|abstract", re.I)
_LOGGER: Final = re.compile(r"_?(?:log|logger|logging)$", re.IGNORECASE)
_NOTICE: Final = re.compile(r"_?(?:deprecat\w*|warn_once|rank_zero_\w+|log_\w+|add_start_docstrings\w*)$")


def tidied(node: ast.stmt, scope: Scope) -> tuple[ast.stmt, Names]:
    """The copy, and what its inner imports bind that the program can't import itself."""
    work = _Tidy(scope)
    result = work.visit(copy.deepcopy(node))
    return result if isinstance(result, ast.stmt) else ast.Pass(), work.imports


class _Tidy(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.imports: Names = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        node.decorator_list = [d for d in node.decorator_list if keeps(d, self.scope)]
        node.returns = None
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [d for d in node.decorator_list if last_name(d) == "dataclass"]
        node.keywords = [k for k in node.keywords if k.arg != "metaclass"]
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _notice(node.value) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`torch.compile(f)` does what f does."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="compile"), args=[inner, *_]):
                return self.visit(inner)  # type: ignore[no-any-return]
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return self._import(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return self._import(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> ast.AST | None:
        own = isinstance(node, ast.ImportFrom)
        kept: list[ast.alias] = []
        for alias in node.names:
            module = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
            if module.split(".")[0] in ALLOWED and not getattr(node, "level", 0):
                kept.append(alias)
            else:
                name = alias.asname or (alias.name if own else alias.name.split(".")[0])
                self.imports[name] = (Bound(node, alias),)
        if not kept:
            return None
        return ast.copy_location(_with_names(node, kept), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(getattr(node, "body", None), list) and not node.body and not isinstance(node, ast.Module):  # type: ignore[attr-defined]
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _with_names(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    return ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `a.b.c(...)`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def keeps(decorator: ast.expr, scope: Scope) -> bool:
    """Decorators that change what the function computes: torch's modes, and functions of the same file."""
    name = last_name(decorator)
    if name in _KEPT:
        return True
    head = decorator.func if isinstance(decorator, ast.Call) else decorator
    found = scope.find(head.id) if isinstance(head, ast.Name) else None
    return found is not None and isinstance(found[1][-1].node, FUNCTIONS) and not _BOOKKEEPING.search(name)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if documented and first is not None else body


def _notice(value: ast.expr) -> bool:
    """A call that only tells somebody something; not print, which is a finding."""
    if not isinstance(value, ast.Call):
        return False
    func = value.func
    if isinstance(func, ast.Name):
        return bool(_NOTICE.match(func.id))
    return isinstance(func, ast.Attribute) and bool(_LOGGER.match(last_name(func.value)))


# --- renaming --------------------------------------------------------------------------------------------------------


def renamed(node: _Node, names: Mapping[str, str], modules: Mapping[str, Mapping[str, str]]) -> _Node:
    """`node`, changed in place: free names as in `names`, `module.name` as in `modules`."""
    result: _Node = _Rename(names, modules).visit(node)
    return result


class _Rename(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], modules: Mapping[str, Mapping[str, str]]) -> None:
        self.names = names
        self.modules = modules

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.attr in self.modules.get(node.value.id, {}):
            return ast.copy_location(ast.Name(self.modules[node.value.id][node.attr], node.ctx), node)
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.names.get(n, n) for n in node.names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function | ast.Lambda) -> ast.AST:
        """Defaults and decorators see the outer names, the body all but the function's own."""
        local = own_names(node)
        inner = _Rename({k: v for k, v in self.names.items() if k not in local}, self.modules)
        node.args = self.generic_visit(node.args)  # type: ignore[assignment]
        if isinstance(node, ast.Lambda):
            node.body = inner.visit(node.body)
            return node
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.body = [inner.visit(stmt) for stmt in node.body]
        return node


def attributes_of(node: ast.AST, name: str) -> dict[str, None]:
    """The attributes taken of a name, in order."""
    found = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name))
    return dict.fromkeys(n.attr for n in found if isinstance(n.value, ast.Name) and n.value.id == name)

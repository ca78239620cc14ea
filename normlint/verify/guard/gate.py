"""Reads a program before it runs: what may it reach? An accident must not leave the process; it is no sandbox."""

from __future__ import annotations

import ast
import sys
from types import ModuleType
from typing import Any, Final

from normlint.verify.guard import allowed
from normlint.verify.guard.guarded import attribute_refusal, member, refused_name

_SCOPES: Final = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_REFUSED_LIBRARIES: Final = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "normlint"}


def refusal(program: str) -> str:
    """What the program may not do, in words that follow "refused"; "" if it may run."""
    try:
        tree = ast.parse(program)
        reader = _Reader(tree)
        reader.visit(tree)
    except SyntaxError as error:
        return f"no valid Python: {error.msg}"
    except ValueError as error:
        return f"no valid Python: {error}"
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    return reader.refused


class _Reader(ast.NodeVisitor):
    """Visits what is executed; annotations aren't, where they are postponed."""

    def __init__(self, tree: ast.Module) -> None:
        self.refused = ""
        self._imported: dict[str, list[Any]] = {}
        self._local: list[frozenset[str]] = []  # the names of the functions around, innermost last
        self._postponed = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)

    def _refuse(self, what: str) -> None:
        self.refused = self.refused or what

    def _bind(self, name: str, value: Any) -> None:
        self._imported.setdefault(name, []).append(value)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not self._may_import(alias.name):
                continue
            module = allowed.imported(alias.name)
            top = module if alias.asname else allowed.imported(alias.name.partition(".")[0])
            if top is not None:
                self._bind(alias.asname or alias.name.partition(".")[0], top)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = None
        if node.module and not node.level and self._may_import(node.module):
            module = allowed.imported(node.module)
        for alias in node.names if module else ():
            if alias.name == "*":
                self._refuse(f"it imports everything from {node.module}")
                continue
            value = member(module, alias.name)
            if value is None:
                value = allowed.imported(f"{node.module}.{alias.name}")
            if value is None or module is None:
                continue  # whoever executes the program says that it isn't there
            if not allowed.member_allowed(module, alias.name, value):
                self._refuse(f"{node.module}.{alias.name}")
            self._bind(alias.asname or alias.name, value)

    def _may_import(self, name: str) -> bool:
        """What isn't known isn't there when the program is executed, and it may have another way."""
        if not allowed.known(name) and name.partition(".")[0] in _REFUSED_LIBRARIES:
            self._refuse(f"it imports {name}")
        return allowed.known(name)

    def _values(self, name: str) -> list[Any]:
        """What an imported name may stand for here."""
        return [] if any(name in names for names in self._local) else self._imported.get(name, [])

    def visit_Import(self, node: ast.Import) -> None:
        """Looked at beforehand."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Looked at beforehand."""

    def visit_Name(self, node: ast.Name) -> None:
        """A module is only good for what follows its dot; some functions for nothing."""
        if any(isinstance(value, ModuleType) for value in self._values(node.id)):
            self._refuse(f"it passes the module {node.id} on")
        if any(node.id in names for names in self._local):
            return
        if node.id == "__builtins__" or (isinstance(node.ctx, ast.Load) and refused_name(node.id)):
            self._refuse(f"it uses {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A path from an imported name is followed in the real modules."""
        refused = attribute_refusal(node.attr)
        if refused:
            self._refuse(refused)
        if not self._follow(node):
            self.visit(node.value)

    def _follow(self, node: ast.expr, *, whole: bool = False) -> bool:
        """Whether this is a path from an imported name; `whole`: it may end in a module."""
        root, path = _path(node)
        values = self._values(root)
        if values and isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._refuse(f"it changes {root}.{'.'.join(path)}")
        for value in values:
            refused = _path_refusal(root, value, path, whole=whole)
            if refused:
                self._refuse(refused)
        return bool(values)

    def visit_Call(self, node: ast.Call) -> None:
        """What is looked up by a computed name is looked at when it is; no class is made by `type`."""
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called == "type" and len(node.args) + len(node.keywords) > 1:
            self._refuse("it makes a class by type()")
        rest: list[ast.AST] = [node.func, *node.args, *node.keywords]
        if called in {"getattr", "hasattr"} and node.args and self._follow(node.args[0], whole=True):
            rest.remove(node.args[0])
        if called in {"setattr", "delattr"} and node.args and self._values(_path(node.args[0])[0]):
            self._refuse(f"it changes {ast.unparse(node.args[0])}")
        for part in rest:
            self.visit(part)

    def visit_Global(self, node: ast.Global) -> None:
        """Imported names stay what they are."""
        for name in node.names:
            if name in self._imported:
                self._refuse(f"it changes {name}")

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """A pattern looks at attributes, too."""
        for name in node.kwd_attrs:
            self._refuse(attribute_refusal(name))
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """A postponed annotation is a string."""
        self._visit(node.target, node.value, None if self._postponed else node.annotation)

    def visit_arg(self, node: ast.arg) -> None:
        """A postponed annotation is a string."""
        self._visit(None if self._postponed else node.annotation)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """What its body names by itself hides what is imported."""
        arguments = node.args
        self._visit(*node.decorator_list, *arguments.defaults, *arguments.kw_defaults)
        self._visit(arguments, None if self._postponed else node.returns)
        self._inside(_own_names(node), *node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Like a function."""
        self._visit(node.args)
        self._inside(_own_names(node), node.body)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        """Its variables are its own; the first thing it goes through isn't."""
        self._visit(node.generators[0].iter)
        names = frozenset(
            inner.id
            for one in node.generators
            for inner in ast.walk(one.target)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        )
        self._inside(names, *ast.iter_child_nodes(node))

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def _inside(self, names: frozenset[str], *parts: ast.AST) -> None:
        self._local.append(names)
        self._visit(*parts)
        self._local.pop()

    def _visit(self, *parts: ast.AST | None) -> None:
        for part in parts:
            if part is not None:
                self.visit(part)


def _own_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names a function binds by itself, other than by imports."""
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    names = {one.arg for one in every if one is not None}
    imported: set[str] = set()
    waiting: list[ast.AST] = list(function.body) if not isinstance(function, ast.Lambda) else [function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imported |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            imported |= set(node.names)
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    return frozenset(names - imported)


def _path_refusal(root: str, value: Any, path: list[str], *, whole: bool) -> str:
    """Why a path from an imported name may not be followed; "" if it may, or leads nowhere."""
    told = root
    for name in path:
        told = f"{told}.{name}"
        owner, value = value, member(value, name)
        if value is None:
            return ""
        module = isinstance(owner, ModuleType)
        if module and not allowed.member_allowed(owner, name, value):
            return told
        if attribute_refusal(name) or name == "__dict__" or (isinstance(value, ModuleType) and not module):
            return told
    return f"it passes the module {told} on" if isinstance(value, ModuleType) and not whole else ""


def _path(node: ast.expr) -> tuple[str, list[str]]:
    """The name that a dotted path starts with ("" for anything else), and the rest."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    return (node.id, path[::-1]) if isinstance(node, ast.Name) else ("", [])

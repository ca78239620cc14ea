"""Reads a program before it runs: what may it reach? An accident must not leave the process; it is no sandbox."""

from __future__ import annotations

import ast
import builtins
from types import ModuleType
from typing import Any, Final

from normlint.verify import allowed

_BUILTINS: Final = frozenset(
    "open exec eval compile __import__ input breakpoint globals locals vars exit quit help memoryview copyright "
    "credits license".split()
)
_DUNDERS: Final = frozenset(
    f"__{name}__"
    for name in "init call name qualname class doc version post_init new len getitem setitem delitem iter next "
    "contains enter exit eq ne lt le gt ge hash repr str add radd iadd sub rsub mul rmul imul matmul truediv rtruediv "
    "pow rpow neg pos abs bool int float index annotations setattr getattr delattr init_subclass set_name debug "
    "file".split()
)
# ways from an object to the frames, code and memory behind it, and from a tensor to a file or another process
_ATTRIBUTES: Final = frozenset(
    "gi_frame gi_code cr_frame cr_code ag_frame ag_code f_globals f_locals f_builtins f_back f_code tb_frame tb_next "
    "co_code mro ctypes tofile from_file dump share_memory_ share_memory untyped_storage".split()
)
_DEEPEST: Final = 400


class RefusedError(BaseException):
    """A program does what it may not do; no `except Exception` of its own keeps that from being said."""


def refusal(program: str) -> str:
    """What the program may not do, in words that follow "refused"; "" if it may run."""
    try:
        tree = ast.parse(program)
        reader = _Reader(tree)
        reader.visit(tree)
    except SyntaxError as error:
        return f"no valid Python: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return "it is nested too deeply"
    return reader.refused


class _Reader(ast.NodeVisitor):
    """Visits what is executed; annotations aren't, where they are postponed."""

    def __init__(self, tree: ast.Module) -> None:
        self.refused = ""
        self._imported: dict[str, list[Any]] = {}
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
            if not allowed.known(alias.name):
                self._refuse(f"it imports {alias.name}")
                continue
            module = allowed.imported(alias.name)
            top = module if alias.asname else allowed.imported(alias.name.partition(".")[0])
            if top is not None:
                self._bind(alias.asname or alias.name.partition(".")[0], top)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.module is None or node.level or not allowed.known(node.module):
            self._refuse(f"it imports {'.' * node.level}{node.module or ''}")
            return
        module = allowed.imported(node.module)
        for alias in node.names if module else ():
            if alias.name == "*":
                self._refuse(f"it imports everything from {node.module}")
                continue
            value = getattr(module, alias.name, None)
            if value is None:
                value = allowed.imported(f"{node.module}.{alias.name}")
            if value is None or module is None:
                continue  # whoever executes the program says that it isn't there
            if not allowed.member_allowed(module, alias.name, value):
                self._refuse(f"{node.module}.{alias.name}")
            self._bind(alias.asname or alias.name, value)

    def visit_Import(self, node: ast.Import) -> None:
        """Looked at beforehand."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Looked at beforehand."""

    def visit_Name(self, node: ast.Name) -> None:
        """A module is only good for what follows its dot; some functions for nothing."""
        if any(isinstance(value, ModuleType) for value in self._imported.get(node.id, ())):
            self._refuse(f"it passes the module {node.id} on")
        if node.id in _BUILTINS or (_is_dunder(node.id) and node.id not in _DUNDERS):
            self._refuse(f"it uses {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A path from an imported name is followed in the real modules."""
        refused = attribute_refusal(node.attr)
        if refused:
            self._refuse(refused)
        root, path = _path(node)
        if not path or root not in self._imported:
            self.visit(node.value)
            return
        if not isinstance(node.ctx, ast.Load):
            self._refuse(f"it changes {root}.{'.'.join(path)}")
        for value in self._imported[root]:
            self._follow(root, value, path)

    def _follow(self, root: str, value: Any, path: list[str]) -> None:
        told = root
        for name in path:
            told = f"{told}.{name}"
            owner, value = value, _member(value, name)
            if value is None:
                return
            module = isinstance(owner, ModuleType)
            if attribute_refusal(name) or (module and not allowed.member_allowed(owner, name, value)):
                self._refuse(told)
                return
            if isinstance(value, ModuleType) and not module:
                self._refuse(told)
                return
        if isinstance(value, ModuleType):
            self._refuse(f"it passes the module {told} on")

    def visit_Call(self, node: ast.Call) -> None:
        """The making of classes by `type`."""
        if isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) + len(node.keywords) > 1:
            self._refuse("it makes a class by type()")
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        """Imported names stay what they are."""
        for name in node.names:
            if name in self._imported:
                self._refuse(f"it changes {name}")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """A postponed annotation is a string."""
        for part in (node.target, node.value, None if self._postponed else node.annotation):
            if part is not None:
                self.visit(part)

    def visit_arg(self, node: ast.arg) -> None:
        """A postponed annotation is a string."""
        if node.annotation is not None and not self._postponed:
            self.visit(node.annotation)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """All but a postponed annotation."""
        parts = [*node.decorator_list, node.args, *node.body]
        if node.returns is not None and not self._postponed:
            parts.append(node.returns)
        for part in parts:
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815


def attribute_refusal(name: str) -> str:
    """Why an attribute of this name may not be looked at; "" if it may."""
    if name in _ATTRIBUTES or (_is_dunder(name) and name not in _DUNDERS):
        return f"it looks at {name}"
    return ""


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _path(node: ast.Attribute) -> tuple[str, list[str]]:
    """The name a dotted path starts with, and the rest; no rest where it starts with something else."""
    path: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        path.append(inner.attr)
        inner = inner.value
    return (inner.id, path[::-1]) if isinstance(inner, ast.Name) else ("", [])


def _member(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except (ImportError, RuntimeError, AssertionError):  # modules that load their parts on demand
        return None


def builtin_names() -> dict[str, Any]:
    """Python's own functions for a program, without those that reach out; computed names are looked at here."""
    names = {name: value for name, value in vars(builtins).items() if name not in _BUILTINS and not _is_dunder(name)}
    guarded: dict[str, Any] = {"getattr": _getattr, "setattr": _setattr, "delattr": _delattr, "hasattr": _hasattr}
    kept = {"__build_class__": builtins.__build_class__, "__name__": "builtins", "__debug__": __debug__}
    return {**names, **guarded, **kept, "__import__": _import}


def _import(name: str, globals_: Any = None, locals_: Any = None, from_: Any = (), level: int = 0) -> ModuleType:
    if level or not allowed.known(name):
        raise RefusedError(f"it imports {name}")
    return builtins.__import__(name, globals_, locals_, from_, level)


def _checked(value: Any, name: Any) -> None:
    refused = attribute_refusal(name) if isinstance(name, str) else ""
    if refused:
        raise RefusedError(refused)
    if isinstance(value, ModuleType):
        raise RefusedError(f"it looks {name!r} up in the module {value.__name__}")


def _getattr(value: Any, name: str, *default: Any) -> Any:
    _checked(value, name)
    return getattr(value, name, *default)


def _hasattr(value: Any, name: str) -> bool:
    _checked(value, name)
    return hasattr(value, name)


def _setattr(value: Any, name: str, new: Any) -> None:
    _checked(value, name)
    setattr(value, name, new)


def _delattr(value: Any, name: str) -> None:
    _checked(value, name)
    delattr(value, name)

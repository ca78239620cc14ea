"""Who calls the functions that a fix changes, and under which other names its values go."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from normlint.fixes.tree import Tree
from normlint.text.finding import Edit, Span
from normlint.text.operations import CLASSES

_OWN: Final = ("self", "cls")
_CALLED: Final = ("forward", "__call__")
_OF_TENSORS: Final = frozenset(" ".join(CLASSES.values()).split())
_Function: Final = ast.FunctionDef | ast.AsyncFunctionDef
_Given: Final = ast.Assign | ast.AnnAssign
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


def beside(tree: Tree, edits: tuple[Edit, ...], owners: Collection[str], norms: Collection[str]) -> str:
    """What would change with the edits besides the norms of the `owners`; nothing for most.

    `norms`: what is a norm by itself, which whoever calls it is glad of if it is fixed on its own.
    """
    users = users_in(tree)
    homes = {home for edit in edits if (home := users.home(edit.span)) is not None}
    for home in homes:
        name = users.name(home)
        alone = len(homes) == 1 and name in norms
        if not (_owned(name, owners) or alone) and (other := users.other(home, owners)):
            return other
    return next(filter(None, (_also_named(tree, edit.span) for edit in edits)), "")


def _owned(name: str, owners: Collection[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in owners)


def _also_named(tree: Tree, span: Span) -> str:
    """`b`, where the value of `a = b = …` is edited."""
    stmt = tree.around(span, ast.Assign)
    if stmt is None or len(stmt.targets) < 2 or span.start < tree.span(stmt.targets[-1]).end:
        return ""
    return tree.source(stmt.targets[-1])


def users_in(tree: Tree) -> Users:
    """The definitions of the text, looked up once."""
    return tree.once(Users, lambda: Users(tree))


class Users:
    """The definitions of a text and where they are used."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._classes: dict[str, ast.ClassDef] = {}
        self._names: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in tree.nodes:
            if isinstance(node, ast.ClassDef):
                self._classes[node.name] = node
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._names.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)

    def home(self, span: Span) -> _Definition | None:
        """The function that the place is in, or the statement that gives a constant or a lambda its name."""
        found = self._tree.around(span, _Function) or self._tree.around(span, _Given)
        return found if found is not None and _called(found) not in ("", "__init__") else None

    def name(self, node: ast.AST) -> str:
        """The dotted path of a definition."""
        above = [n.name for n in self._tree.above(node) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
        return ".".join((*above[::-1], _called(node)))

    def other(self, home: _Definition, owners: Collection[str], seen: frozenset[ast.AST] = frozenset()) -> str:
        """A user of the definition that is no part of the owners' norms."""
        for name, user in self._users_of(home):
            if _owned(name, owners) or user in seen:
                continue
            if user is None or not any(self._users_of(user)):
                return name
            if found := self.other(user, owners, seen | {home, user}):
                return found
        return ""

    def calls(self, home: _Definition) -> list[ast.Call]:
        """Where a definition of the text is called."""
        holder = self._tree.parent(home)
        named = (node for node in self._names.get(_called(home), ()) if self._means(node, holder))
        return [call for node in named if isinstance(call := self._tree.parent(node), ast.Call) and call.func is node]

    def _users_of(self, home: _Definition) -> Iterator[tuple[str, _Definition | None]]:
        """What calls a definition of the text or hands it on, by name: functions, and lines outside of them."""
        name, holder = _called(home), self._tree.parent(home)
        if isinstance(holder, ast.ClassDef) and name in _CALLED:
            for heir in self._classes.values():
                if heir is not holder and self._found(heir, name) is home:
                    yield f"{heir.name}.{name}", None
        for node in self._names.get(name, ()):
            if self._means(node, holder) and home not in (above := list(self._tree.above(node))):
                outer = next((n for n in above if isinstance(n, _Function)), None)
                yield (self.name(outer), outer) if outer else (f"line {node.lineno}", None)

    def _means(self, node: ast.Name | ast.Attribute, holder: ast.AST | None) -> bool:
        """May the name stand for the definition?"""
        if isinstance(node, ast.Name):
            return not isinstance(holder, ast.ClassDef) and not self._shadowed(node)
        if not isinstance(holder, ast.ClassDef):
            return False
        value, outer = node.value, self._tree.holder(node, ast.ClassDef)
        over = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
        if over or (isinstance(value, ast.Name) and value.id in _OWN):
            return outer is not None and (holder in self._lineage(outer) or outer in self._lineage(holder))
        return node.attr not in _OF_TENSORS and not (isinstance(value, ast.Name) and value.id in self._tree.imported)

    def _shadowed(self, node: ast.Name) -> bool:
        function = self._tree.holder(node, _Function)
        return function is not None and any(n.arg == node.id for n in ast.walk(function.args) if isinstance(n, ast.arg))

    def _lineage(self, cls: ast.ClassDef, depth: int = 8) -> list[ast.ClassDef]:
        bases = (getattr(base, "id", getattr(base, "attr", "")) for base in cls.bases)
        own = [self._classes[base] for base in bases if base in self._classes]
        return [cls, *(one for base in own if depth for one in self._lineage(base, depth - 1))]

    def _found(self, cls: ast.ClassDef, name: str) -> ast.AST | None:
        """What the class has under that name, of its own or from a base."""
        return next((stmt for one in self._lineage(cls) for stmt in one.body if _called(stmt) == name), None)


def _called(node: ast.AST) -> str:
    """The name that a definition binds."""
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return target.id if isinstance(target, ast.Name) else ""
    if isinstance(node, ast.AnnAssign):
        return getattr(node.target, "id", "")
    return getattr(node, "name", "") if isinstance(node, _Function) else ""

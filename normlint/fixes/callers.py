"""What else a text computes with the lines that a fix changes: other callers of a helper, other names of a value."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from normlint.fixes.tree import LOOKS, Tree
from normlint.fixes.work import took
from normlint.norm.norm import Computation, Norm
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
    users = tree.once("users", lambda: Users(tree))
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


def read_elsewhere(tree: Tree, edits: tuple[Edit, ...], norms: Collection[Norm]) -> str:
    """A name whose value a fix changes and that is more than the norm's; nothing for most.

    A fix changes what it edits, and all that is computed from it on the way to the norm. Whoever else reads that gets
    another value, or another dtype, than before: another output, an attribute, a line that has no step of the norm.
    """
    function = next((f for edit in edits if (f := tree.around(edit.span, _Function)) is not None), None)
    if function is None:
        return ""
    steps = [span for norm in norms for c in norm.computations for span in _steps(norm, c)]
    own = [*(edit.span for edit in edits), *steps]
    made = {span for norm in norms for c in norm.computations for span in (norm.span, c.span, c.joined)}
    changed: set[str] = set()
    events = tree.once(function, lambda: sorted(_events(tree, function), key=lambda event: event.at))
    took(len(events))
    for event in events:
        if event.span is None:
            if event.node.id in changed and not _is_norms(tree, event.node, own, steps):
                return event.node.id
            continue
        edited = any(_within(edit.span, event.span) for edit in edits)
        tracked = (edited or changed & event.names) and not any(_within(one, event.span) for one in made)
        (changed.add if tracked else changed.discard)(event.node.id)
    return ""


class _Event(NamedTuple):
    """A name is read, or given a value by a statement, which `span` and `names` are of."""

    at: int
    node: ast.Name
    span: Span | None = None
    names: frozenset[str] = frozenset()


def _events(tree: Tree, function: ast.AST) -> Iterator[_Event]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield _Event(tree.span(node).start, node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names = frozenset(n.id for n in ast.walk(node.value) if isinstance(n, ast.Name))
            span = tree.span(node)
            yield _Event(span.end, node.targets[0], span, names)


def _steps(norm: Norm, c: Computation) -> Iterator[Span]:
    """Where the norm is made."""
    yield from (norm.span, c.span, c.joined, c.statistic.span, *(step.span for step in (*c.trail, *c.input_steps)))
    yield from (e.span for e in c.eps)


def _within(one: Span, two: Span) -> bool:
    """It begins there."""
    return two.start <= one.start < two.end


def _is_norms(tree: Tree, node: ast.Name, own: Collection[Span], steps: Collection[Span]) -> bool:
    """The name is read in a line that is edited, has a step of the norm or names a value; or it is only looked at."""
    holder, stmt = tree.parent(node), tree.holder(node, ast.stmt)
    if stmt is None or (isinstance(holder, ast.Attribute) and holder.attr in LOOKS):
        return True
    if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name):
        return True  # who reads that name, counts
    if not any(_within(span, tree.span(stmt)) for span in own):
        return False
    part: ast.AST = node
    for above in tree.above(node):
        if isinstance(above, ast.Tuple | ast.List | ast.Dict) and isinstance(tree.parent(above), ast.Return):
            return any(_within(span, tree.span(part)) for span in steps)
        part = above
    return True


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

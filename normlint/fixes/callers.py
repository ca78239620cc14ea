"""Find what a fix changes besides the norm: other callers of a function and other readers of a changed value."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from normlint.fixes.tree import LOOKS, Tree
from normlint.norm.kept import took
from normlint.norm.norm import Norm
from normlint.text.finding import Edit, Span
from normlint.text.operations import CLASSES

_OWN: Final = ("self", "cls")
_OF_TENSORS: Final = frozenset(" ".join(CLASSES.values()).split())
_Function: Final = ast.FunctionDef | ast.AsyncFunctionDef
_Given: Final = ast.Assign | ast.AnnAssign
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


def beside_norm(tree: Tree, edits: tuple[Edit, ...], norms: Collection[Norm]) -> str:
    """Return the name of a value that a fix changes besides the norm's output; empty for most fixes.

    An edit changes all that is computed from it on the way to the norm, which must come out differently. Any other
    reader of these values gets another value or dtype than before.
    """
    return _Followed(tree, edits, norms).left()


class _Part(NamedTuple):
    """A value in a statement and its target, if it has one; `at` is its index in a returned tuple."""

    target: Any
    value: ast.AST
    at: int | None = None


class _Followed:
    """The values that change: from the edits on, through names, and to the callers of a function."""

    def __init__(self, tree: Tree, edits: tuple[Edit, ...], norms: Collection[Norm]) -> None:
        self._tree = tree
        several = [(norm, c) for norm in norms for c in norm.computations]
        steps = [step.span for _, c in several for step in (*c.trail, *c.input_steps)]
        lines = [e for e in edits if e.span.start == e.span.end and e.text.rstrip(" \t").endswith("\n")]  # new ones
        self._edits = [edit.span.start for edit in edits if edit not in lines]
        self._made = [span.start for norm, c in several for span in (norm.span, c.span, c.joined)]
        self._steps = [*self._made, *(span.start for span in steps), *(c.statistic.span.start for _, c in several)]
        self._returned: dict[ast.AST, set[int | None]] = {}  # call → the indices of its changed results

    def left(self) -> str:
        """Return the first changed value that is used elsewhere."""
        found = (self._tree.around(Span(at, at), _Function) for at in self._edits)
        waiting = list(dict.fromkeys(f for f in found if f is not None and self._has(f, self._steps)))
        for function in waiting:
            left, back = self._follow(function)
            calls = users_in(self._tree).calls(function) if back else []
            lost = next(filter(None, back.values()), "") if not calls else ""
            if left or lost:
                return left or lost
            self._returned |= {call: set(back) for call in calls}
            homes = (self._tree.holder(call, _Function) for call in calls)
            waiting += [home for home in dict.fromkeys(homes) if home is not None and home not in waiting]
        return ""

    def _follow(self, function: ast.AST) -> tuple[str, dict[int | None, str]]:
        """Return the changed value that leaves a function otherwise, and the names of those it returns, by index.

        The name of a returned value is empty if the value itself holds an edit or a step of the norm.
        """
        changed: set[str] = set()
        norms: set[str] = set()  # names of the norm's output and of what is computed from it
        back: dict[int | None, str] = {}
        statements = sorted((n for n in ast.walk(function) if isinstance(n, ast.stmt)), key=self._tree.span)
        took(len(statements))
        for stmt in statements[1:]:
            for part in _parts(stmt):
                of_norm = self._has(part.value, self._made) or self._read(part.value, norms)
                name = "" if self._has(part.value, self._made) else self._changed(part, changed, edited=not of_norm)
                own = self._has(part.value, self._steps) or self._has(part.value, self._edits)
                elsewhere = isinstance(part.target, ast.Name) and part.target.id in self._read_elsewhere(function, stmt)
                if isinstance(part.target, ast.Name) and not (elsewhere and name):
                    for names, held in ((changed, name), (norms, of_norm and not name)):
                        (names.add if held else names.discard)(part.target.id)
                elif name and isinstance(stmt, ast.Return):
                    back[part.at] = "" if own else name
                elif name and (part.target is not None or not own):
                    return self._tree.source(part.target) if part.target is not None else name, back
        return "", back

    def _read_elsewhere(self, function: ast.AST, stmt: ast.stmt) -> set[str]:
        """Return global and nonlocal names, and those read in inner functions defined above the statement."""
        found = {name for n in ast.walk(function) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        inner = (n for n in ast.walk(function) if isinstance(n, _Function | ast.Lambda) and n is not function)
        for one in inner:
            if self._tree.span(one).end <= self._tree.span(stmt).start:
                own = {n.arg for n in ast.walk(one.args) if isinstance(n, ast.arg)}
                found |= {n.id for n in ast.walk(one) if isinstance(n, ast.Name)} - own
        return found

    def _changed(self, part: _Part, changed: Collection[str], *, edited: bool) -> str:
        """Return the source of a changed value inside the part, or nothing."""
        for node in ast.walk(part.value):
            several = self._returned.get(node, ())
            if part.at in several or None in several or (several and node is not part.value):
                return self._tree.source(node)
        edited = edited and self._has(part.value, self._edits)
        return self._read(part.value, changed) or ("what is edited" if edited else "")

    def _read(self, value: ast.AST, names: Collection[str]) -> str:
        """Return the first of these names whose value is read in it, not only its dtype or shape."""
        for node in ast.walk(value):
            holder = self._tree.parent(node)
            looked = isinstance(holder, ast.Attribute) and holder.attr in LOOKS
            if isinstance(node, ast.Name) and node.id in names and not looked:
                return node.id
        return ""

    def _has(self, node: ast.AST, places: Collection[int]) -> bool:
        start, end = self._tree.span(node)
        return any(start <= place <= end for place in places)


def _parts(stmt: ast.stmt) -> Iterator[_Part]:
    """Yield the values in a statement with their targets, without those of nested statements."""
    match stmt:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _of_targets(target, value, stmt)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield _Part(target, stmt)
        case ast.Return(value=ast.Tuple(elts=values) | ast.List(elts=values) | ast.Dict(values=values)):
            yield from (_Part(None, value, at) for at, value in enumerate(values))
        case ast.Return(value=ast.Call(func=ast.Name(id=name), args=args, keywords=more)) if name[:1].isupper():
            values = [*args, *(keyword.value for keyword in more)]  # the fields of a class
            yield from (_Part(None, value, at) for at, value in enumerate(values))
        case _ if hasattr(stmt, "body"):
            yield from (_Part(None, one) for one in ast.iter_child_nodes(stmt) if isinstance(one, ast.expr))
        case _:
            yield _Part(None, stmt)


def _of_targets(target: ast.expr, value: ast.expr, stmt: ast.stmt) -> Iterator[_Part]:
    """Yield each name of a tuple with its value."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield _Part(target, stmt)
        return
    several = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else ()
    yield from (_Part(one, several[at] if several else value, at) for at, one in enumerate(target.elts))


def beside(tree: Tree, edits: tuple[Edit, ...], owners: Collection[str], norms: Collection[str]) -> str:
    """Return what the edits would change besides the norms of the `owners`; empty for most.

    `norms`: functions that are norms by themselves; their callers want them fixed.
    """
    users = users_in(tree)
    homes = {home for edit in edits if (home := users.home(edit.span)) is not None}
    for home in homes:
        name = users.name(home)
        alone = len(homes) == 1 and name in norms
        if not (_owned(name, owners) or alone) and (other := users.other(home, owners)):
            return other
    for stmt in (tree.around(edit.span, ast.Assign) for edit in edits):
        if stmt is not None and len(stmt.targets) > 1:  # a = b = …
            return tree.source(stmt.targets[-1])
    return ""


def _owned(name: str, owners: Collection[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in owners)


def users_in(tree: Tree) -> Users:
    """Return the definitions of the text, collected once."""
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
        """Return the function around the span, or the assignment that names a constant or a lambda there."""
        found = self._tree.around(span, _Function) or self._tree.around(span, _Given)
        return found if found is not None and _bound_name(found) not in ("", "__init__") else None

    def name(self, node: ast.AST) -> str:
        """Return the dotted path of a definition."""
        above = [n.name for n in self._tree.above(node) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
        return ".".join((*above[::-1], _bound_name(node)))

    def other(self, home: _Definition, owners: Collection[str], seen: frozenset[ast.AST] = frozenset()) -> str:
        """Return the name of a user of the definition that is no part of the owners' norms."""
        for name, user in self._users_of(home):
            if _owned(name, owners) or user in seen:
                continue
            if user is None or not any(self._users_of(user)):
                return name
            if found := self.other(user, owners, seen | {home, user}):
                return found
        return ""

    def calls(self, home: _Definition) -> list[ast.Call]:
        """Return the calls of a definition in the text."""
        holder = self._tree.parent(home)
        named = (node for node in self._names.get(_bound_name(home), ()) if self._refers_to(node, holder))
        return [call for node in named if isinstance(call := self._tree.parent(node), ast.Call) and call.func is node]

    def _users_of(self, home: _Definition) -> Iterator[tuple[str, _Definition | None]]:
        """Yield the functions and top-level lines that call the definition or pass it on, with their names."""
        name, holder = _bound_name(home), self._tree.parent(home)
        for node in self._names.get(name, ()):
            if self._refers_to(node, holder) and home not in (above := list(self._tree.above(node))):
                outer = next((n for n in above if isinstance(n, _Function)), None)
                yield (self.name(outer), outer) if outer else (f"line {node.lineno}", None)

    def _refers_to(self, node: ast.Name | ast.Attribute, holder: ast.AST | None) -> bool:
        """Return whether the name may refer to the definition that stands in `holder`."""
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


def _bound_name(node: ast.AST) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
    return getattr(target, "id", getattr(target, "name", ""))

"""What a fix changes beside the norm: values that others read, that are stored, or given back along with it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from normlint.fixes.callers import users_in
from normlint.fixes.tree import LOOKS, Tree
from normlint.fixes.work import took
from normlint.norm.norm import Norm
from normlint.text.finding import Edit, Span

_Function: Final = ast.FunctionDef | ast.AsyncFunctionDef


def beside_norm(tree: Tree, edits: tuple[Edit, ...], norms: Collection[Norm]) -> str:
    """What a fix changes that is more than the norm's, by name; nothing for most.

    It changes what it edits and all that is computed from that on the way to the norm, which must come out differently.
    Whoever else reads that gets another value, or another dtype, than before.
    """
    return _Followed(tree, edits, norms).left()


class _Part(NamedTuple):
    """What a target is given by a statement, or a value that goes elsewhere; `at`: its place in a tuple."""

    target: Any
    value: ast.AST
    at: int | None = None


class _Followed:
    """The values that change: from the edits on, through names, and to the callers of a function."""

    def __init__(self, tree: Tree, edits: tuple[Edit, ...], norms: Collection[Norm]) -> None:
        self._tree = tree
        several = [(norm, c) for norm in norms for c in norm.computations]
        steps = [step.span for _, c in several for step in (*c.trail, *c.input_steps)]
        self._edits = [edit.span.start for edit in edits]
        self._made = [span.start for norm, c in several for span in (norm.span, c.span, c.joined)]
        self._steps = [*self._made, *(span.start for span in steps), *(c.statistic.span.start for _, c in several)]
        self._back: dict[ast.AST, set[int | None]] = {}  # by call: which of the values that come back

    def left(self) -> str:
        """The first value that others have as well."""
        found = (self._tree.around(Span(at, at), _Function) for at in self._edits)
        waiting = list(dict.fromkeys(f for f in found if f is not None and self._has(f, self._steps)))
        for function in waiting:
            left, back = self._follow(function)
            calls = users_in(self._tree).calls(function) if back else []
            lost = next(filter(None, back.values()), "") if not calls else ""
            if left or lost:
                return left or lost
            self._back |= {call: set(back) for call in calls}
            homes = (self._tree.holder(call, _Function) for call in calls)
            waiting += [home for home in dict.fromkeys(homes) if home is not None and home not in waiting]
        return ""

    def _follow(self, function: ast.AST) -> tuple[str, dict[int | None, str]]:
        """What leaves a function; and what it gives back, by place: what nobody has to know is called nothing."""
        changed: set[str] = set()
        norms: set[str] = set()  # what holds the norm, or what came of it
        back: dict[int | None, str] = {}
        statements = sorted((n for n in ast.walk(function) if isinstance(n, ast.stmt)), key=self._tree.span)
        took(len(statements))
        for stmt in statements[1:]:
            for part in _parts(stmt):
                of_norm = self._has(part.value, self._made) or self._read(part.value, norms)
                name = "" if self._has(part.value, self._made) else self._changed(part, changed, edited=not of_norm)
                own = self._has(part.value, self._steps) or self._has(part.value, self._edits)
                if isinstance(part.target, ast.Name):
                    for names, held in ((changed, name), (norms, of_norm and not name)):
                        (names.add if held else names.discard)(part.target.id)
                elif name and isinstance(stmt, ast.Return):
                    back[part.at] = "" if own else name
                elif name and (part.target is not None or not own):
                    return self._tree.source(part.target) if part.target is not None else name, back
        return "", back

    def _changed(self, part: _Part, changed: Collection[str], *, edited: bool) -> str:
        """A name in it whose value is another one than before."""
        for node in ast.walk(part.value):
            several = self._back.get(node, ())
            if part.at in several or None in several or (several and node is not part.value):
                return self._tree.source(node)
        edited = edited and self._has(part.value, self._edits)
        return self._read(part.value, changed) or ("what is edited" if edited else "")

    def _read(self, value: ast.AST, names: Collection[str]) -> str:
        """The first of these names that is read in it, and not only looked at."""
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
    """The values in a statement and where they go; those of the statements in it are their own."""
    match stmt:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value, stmt)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield _Part(target, stmt)
        case ast.Return(value=ast.Tuple(elts=values) | ast.List(elts=values) | ast.Dict(values=values)):
            yield from (_Part(None, value, at) for at, value in enumerate(values))
        case _ if hasattr(stmt, "body"):
            yield from (_Part(None, one) for one in ast.iter_child_nodes(stmt) if isinstance(one, ast.expr))
        case _:
            yield _Part(None, stmt)


def _paired(target: ast.expr, value: ast.expr, stmt: ast.stmt) -> Iterator[_Part]:
    """Each name of a tuple with what it is given."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield _Part(target, stmt)
        return
    several = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else ()
    yield from (_Part(one, several[at] if several else value, at) for at, one in enumerate(target.elts))

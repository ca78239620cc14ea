"""Private helpers that nobody calls any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from normlint.fixes.tree import Function, Tree
from normlint.fixes.work import walk
from normlint.text.finding import Edit, Span


def unused_helpers(tree: Tree, function: Function, removed: Span) -> tuple[Edit, ...]:
    """The edits that take out what only the removed lines of the function called."""
    edits = []
    home = tree.enclosing_class(function)
    for name in sorted(_private_names(tree, removed)):
        found = [n for n in walk(home or tree.root) if isinstance(n, ast.FunctionDef) and n.name == name]
        mentions = [m.start() for m in re.finditer(rf"\b{re.escape(name)}\b", tree.text)]
        if home is not None:
            mentions = [at for at in mentions if not _of_another(tree, at, home)]
        inside = [at for at in mentions if removed.start <= at < removed.end]
        if len(found) == 1 and len(mentions) == len(inside) + 1 and _beside(tree, found[0], function):
            edits.append(_without(tree, found[0]))
    return tuple(edits)


def _of_another(tree: Tree, at: int, home: ast.ClassDef) -> bool:
    """What stands there belongs to a class that has nothing to do with this one."""
    owner = tree.around(Span(at, at), ast.ClassDef)
    names = {n.id for n in walk(owner) if isinstance(n, ast.Name)} if owner is not None else {home.name}
    return owner is not home and home.name not in names


def _private_names(tree: Tree, removed: Span) -> set[str]:
    return {n for n in re.findall(r"\b_[a-z]\w*", tree.text[removed.start : removed.end]) if not n.endswith("__")}


def _beside(tree: Tree, helper: Function, function: Function) -> bool:
    """In the same class, or in the module, and not the only thing there."""
    home = tree.parent(helper)
    same = home is tree.parent(function) or home is tree.root
    return same and len(tree.body_of(helper)) > 1


def _without(tree: Tree, helper: Function) -> Edit:
    """The function with its decorators and the blank lines that keep it from the next."""
    first = min([helper.lineno, *(d.lineno for d in helper.decorator_list)])
    start = _line(tree, first)
    end = tree.text.find("\n", tree.span(helper).end) + 1 or len(tree.text)
    if tree.body_of(helper)[-1] is helper:
        while start > 0 and (before := _line_before(tree.text, start)) is not None:
            start = before
    else:
        end += sum(map(len, _blank(tree.text[end:])))
    return Edit(Span(start, end), "")


def _line(tree: Tree, number: int) -> int:
    return sum(len(line) for line in tree.text.splitlines(keepends=True)[: number - 1])


def _line_before(text: str, start: int) -> int | None:
    """Where the line in front of `start` begins, if it is blank."""
    before = text.rfind("\n", 0, start - 1) + 1
    return before if not text[before:start].strip() else None


def _blank(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if line.strip():
            return
        yield line

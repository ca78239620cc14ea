"""What goes along with an edit: the same where the same text stands again in its statement, and comments."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

import libcst as cst

from normlint.fixes.document import Document
from normlint.fixes.tree import Tree
from normlint.text.edit import apply, comments, loses_comment
from normlint.text.finding import Edit, Span


def with_remarks(tree: Tree, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits, and those that keep the comments in what they replace; nothing where a comment can't be kept."""
    try:
        lost = _lost(tree, edits) if loses_comment(tree.text, edits) else {}
        if not lost:
            return edits
        kept = (*(_lines_above(tree, stmt, *remarks) for stmt, remarks in lost.items()), *edits)
        return () if _lost(tree, kept) else kept
    except (SyntaxError, ValueError):
        return ()


def _lines_above(tree: Tree, stmt: ast.stmt, *lines: str) -> Edit:
    """New lines in front of a statement and of the comments directly above it; ValueError where it starts no line."""
    end = tree.span(stmt).start
    start = tree.text.rfind("\n", 0, end) + 1
    indent = tree.text[start:end]
    if indent.strip(" \t\f"):
        raise ValueError("another statement stands in front of it")
    while start:
        above = tree.text.rfind("\n", 0, start - 1) + 1
        if not tree.text[above:start].startswith(f"{indent}#"):
            break
        start = above
    return Edit(Span(start, start), "".join(f"{indent}{line}\n" for line in lines))


def _lost(tree: Tree, edits: tuple[Edit, ...]) -> dict[ast.stmt, list[str]]:
    """The comments that are gone, by the statement that they stand in or in front of, which isn't gone."""
    after = apply(tree.text, edits)
    left = Counter(comment for comment, _ in comments(after) or ())
    old, new = (Counter(map(_target, _simple(root))) for root in (tree.root, ast.parse(after)))
    gone = old - new if old.total() > new.total() else Counter()
    found: dict[ast.stmt, list[str]] = {}
    for comment, line in comments(tree.text) or ():
        home = next((stmt for stmt in _simple(tree.root) if line <= _end(stmt)), None)
        deleted = home is not None and gone[_target(home)] and home.lineno <= line
        if not left[comment] and not deleted and home is not None:
            found.setdefault(_first(tree, home, edits), []).append(comment)
        left[comment] -= left[comment] > 0
    return found


def _first(tree: Tree, stmt: ast.stmt, edits: tuple[Edit, ...]) -> ast.stmt:
    """The statement, or the first of those that are replaced together with it."""
    start = tree.span(stmt).start
    begin = min((e.span.start for e in edits if e.span.start <= start < e.span.end), default=start)
    return next(one for one in _simple(tree.root) if tree.span(one).end > begin)


def _simple(root: ast.AST) -> list[ast.stmt]:
    """The statements of a tree that contain no other statements, in order."""
    nodes = (node for node in ast.walk(root) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    return sorted(nodes, key=_end)


def _end(stmt: ast.stmt) -> int:
    return stmt.end_lineno or stmt.lineno


def _target(stmt: ast.stmt) -> str:
    """What tells a statement from others, whatever value it has: its kind, and what it gives a value or calls."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
    call = getattr(stmt, "value", None) if isinstance(stmt, ast.Expr) else None
    return " ".join([type(stmt).__name__, *(ast.dump(n) for n in (*targets, getattr(call, "func", None)) if n)])


def with_twins(tree: Tree, edits: tuple[Edit, ...], places: Collection[Span]) -> tuple[Edit, ...]:
    """The edits, and those in a statistic at one of the places also where the same text stands in its statement."""
    return tuple(dict.fromkeys((*edits, *(copy for place in places for copy in _copied(tree.document, edits, place)))))


def _copied(document: Document, edits: tuple[Edit, ...], place: Span) -> Iterator[Edit]:
    """The edits inside a stretch that the text repeats, for its repetitions; none where an edit crosses its bounds."""
    here, *others = _twins(document, place) or [place]
    inside = [edit for edit in edits if here.holds(edit.span)]
    if any(edit.span.start < here.end and here.start < edit.span.end for edit in edits if edit not in inside):
        return
    for there in others:
        if not any(there.holds(edit.span) for edit in edits):
            yield from (replace(edit, span=edit.span.shift(there.start - here.start)) for edit in inside)


def _twins(document: Document, place: Span) -> list[Span]:
    """The widest expression around the statistic that stands in its statement more than once, then where else."""
    node: Any = document.at(place)
    stmt: Any = document.around(node, cst.BaseSmallStatement)
    if stmt is None:
        return []
    above = takewhile(lambda n: n is not stmt, document.above(node))
    for one in reversed([node, *(n for n in above if isinstance(n, cst.BaseExpression))]):
        here = document.outer(one)
        text = document.text[slice(*here)]
        alike = {document.outer(n) for n in document.below(stmt, type(one)) if n is not one}
        others = sorted(span for span in alike - {here} if document.text[slice(*span)] == text)
        if others:
            return [here, *others]
    return []

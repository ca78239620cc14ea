"""A statistic that is written twice in one statement is mended in both places."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import replace

from normlint.fixes.tree import Tree
from normlint.fixes.work import walk
from normlint.text.finding import Edit, Span


def with_twins(tree: Tree, edits: tuple[Edit, ...], places: Collection[Span]) -> tuple[Edit, ...]:
    """The edits, and those in a statistic at one of the places also where the same text stands in its statement."""
    return tuple(dict.fromkeys((*edits, *(copy for place in places for copy in _copies(tree, edits, place)))))


def _copies(tree: Tree, edits: tuple[Edit, ...], place: Span) -> Iterator[Edit]:
    node = tree.at(place)
    stmt = tree.statement(node) if node is not None else None
    twins: list[Span] = _twins(tree, node, stmt) if node is not None and stmt is not None else []
    if twins:
        here, *others = twins
        inside = [edit for edit in edits if _within(edit.span, here)]
        if not any(edit.span.start < here.end and here.start < edit.span.end for edit in edits if edit not in inside):
            for there in others:
                if not any(_within(edit.span, there) for edit in edits):
                    yield from (replace(edit, span=edit.span.shift(there.start - here.start)) for edit in inside)


def _twins(tree: Tree, node: ast.expr, stmt: ast.stmt) -> list[Span]:
    """The widest expression around the statistic that stands there more than once, then where else."""
    for one in reversed([n for n in (node, *tree.above(node)) if isinstance(n, ast.expr)]):
        here = tree.with_parentheses(one)
        text = tree.text[slice(*here)]
        alike = {tree.with_parentheses(n) for n in walk(stmt) if isinstance(n, type(one)) and n is not one}
        others = sorted(span for span in alike - {here} if tree.text[slice(*span)] == text)
        if others:
            return [here, *others]
    return []


def _within(one: Span, two: Span) -> bool:
    return two.start <= one.start and one.end <= two.end

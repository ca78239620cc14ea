"""What goes along with an edit: the same where the same text stands again in its statement."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

import libcst as cst

from normlint.fixes.document import Document
from normlint.fixes.tree import Tree
from normlint.text.finding import Edit, Span


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

"""Norms where they are made and called: what is passed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from normlint.fixes.calls import with_arguments
from normlint.fixes.spelling import argument, expression
from normlint.fixes.tree import Tree
from normlint.fixes.work import NOW, LimitReached, Work
from normlint.text.finding import Applicability, Finding, Fix, Span
from normlint.text.pieces import with_line_feeds

if TYPE_CHECKING:
    from normlint.rules.callers import Called


def with_argument(span: Span, name: str, source: str, tree: Tree) -> Fix | None:
    """What is called there gets one more argument, by name."""
    document = tree.document
    call = document.at(span, cst.Call)
    if call is None:
        return None
    new = argument(expression(source), name)
    edits = document.edits({call: partial(with_arguments, new=(new,), at=len(call.args))})
    return Fix(f"Pass `{name}={source}`", edits, Applicability.UNSAFE) if edits else None


def fixed(text: str, called: Called, *, snippet: bool = False) -> tuple[Finding, ...]:
    """The findings, each with its fix, or without where none can be made in bounded work."""
    before = NOW.set(Work())
    try:
        tree = Tree(with_line_feeds(text), snippet=snippet)
        return tuple(replace(one, fix=repair(tree) if repair else None) for one, repair in called.found)
    except (LimitReached, SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(one for one, _ in called.found)
    finally:
        NOW.reset(before)

"""Build fixes for calls that make or use norms: pass the right arguments."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import libcst as cst

from normlint.fixes import calls
from normlint.fixes.tree import Tree
from normlint.norm.kept import STEP, LimitReached, kept, took
from normlint.rules.callers import Called
from normlint.rules.callers import called as read
from normlint.text.edit import apply
from normlint.text.finding import Applicability, Edit, Finding, Fix, Span
from normlint.text.pieces import with_line_feeds


def with_argument(span: Span, name: str, source: str, tree: Tree) -> Fix | None:
    """Pass one more keyword argument to the call."""
    call = tree.document.at(span, cst.Call)
    changes = calls.with_argument(call, name, source) if call is not None else {}
    return tree.document.fix(f"Pass `{name}={source}`", changes, Applicability.UNSAFE) if changes else None


def edited(message: str, edits: tuple[Edit, ...], _: Tree) -> Fix:
    """Return a fix of the edits that the rule gives."""
    return Fix(message, edits, Applicability.UNSAFE)


def fixed(text: str, called: Called, path: str = "", *, snippet: bool = False) -> tuple[Finding, ...]:
    """Add fixes to the findings, as far as they can be made in bounded work."""
    try:
        with kept():
            tree = Tree(with_line_feeds(text), snippet=snippet)
            fixes = [(one, repair(tree) if repair else None) for one, repair in called.found]
            # a fix must leave fewer findings than before, and none that is new
            was = _counts(tree.text, path) if any(fix for _, fix in fixes) else Counter()
            made = [
                (one, fix if fix and _counts(apply(tree.text, fix.edits), path) < was else None) for one, fix in fixes
            ]
            return tuple(replace(one, fix=fix) for one, fix in made)
    except (LimitReached, SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(one for one, _ in called.found)


def _counts(text: str, path: str) -> Counter[tuple[str, str]]:
    took(len(text) // STEP)
    return Counter((one.code, one.norm) for one, _ in read(text, path).found)

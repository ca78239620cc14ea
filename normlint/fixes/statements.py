"""Statements taken out: a print."""

from __future__ import annotations

import ast
from typing import Final

from normlint.fixes.tree import Tree
from normlint.fixes.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span

_PURE: Final = frozenset(
    (
        "abs all any bool dict dir float format getattr hasattr id int isinstance len list max min repr round "
        "set sorted str sum tuple type vars zip"
    ).split()
)
_MARKS: Final = "\t\f "  # white space inside a line


def without_print(span: Span, tree: Tree) -> Fix | None:
    """The statement is a call of print: it goes; a block that is left empty gets `pass`."""
    call = tree.at(span, ast.Call)
    stmt = tree.parent(call) if call is not None else None
    if call is None or not isinstance(stmt, ast.Expr) or not isinstance(call.func, ast.Name):
        return None
    told = _applicability(call)
    if told is None:
        return None
    edit = _emptied(tree, stmt) if _leaves_nothing(tree, stmt) else _removed(tree, stmt)
    return Fix("Remove the print", (edit,), told)


def _applicability(call: ast.Call) -> Applicability | None:
    """SAFE where the arguments only look; None where they change something."""
    told = Applicability.SAFE
    for node in walk(call):
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return None
        if not isinstance(node, ast.Call) or node is call:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name.endswith("_"):
            return None
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if (owner is None and name not in _PURE) or (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
            told = Applicability.UNSAFE
    return told


def _leaves_nothing(tree: Tree, stmt: ast.stmt) -> bool:
    """It is the first of a block that consists of prints: this one makes place for `pass`, the others go."""
    block = tree.body_of(stmt)
    return block[0] is stmt and all(_is_print(one) for one in block) and not isinstance(tree.parent(stmt), ast.Module)


def _is_print(stmt: ast.stmt) -> bool:
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"
    return named and isinstance(call, ast.Call) and _applicability(call) is not None


def _emptied(tree: Tree, stmt: ast.stmt) -> Edit:
    return Edit(tree.span(stmt), "pass")


def _removed(tree: Tree, stmt: ast.stmt) -> Edit:
    """The statement with its line, or with its semicolon where it shares the line."""
    text, (start, end) = tree.text, tree.span(stmt)
    first = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    after = _skip(text, end, _MARKS)
    if text[after : after + 1] == ";":
        following = _skip(text, after + 1, _MARKS)
        if text[following : following + 1] not in ("\n", "\r", "#", ""):
            return Edit(Span(start, following), "")
        after = following
    if text[first:start].strip(_MARKS):
        return _behind(text, start, end)
    line_end = _line_end(text, after)
    return Edit(Span(first, _blank_lines(text, first, line_end)), "")


def _behind(text: str, start: int, end: int) -> Edit:
    """The last of several on a line goes with the semicolon in front of it; `if x: print()` has none."""
    before = start
    while text[before - 1] in _MARKS:
        before -= 1
    if text[before - 1] != ";":
        return Edit(Span(start, end), "pass")
    before -= 1
    while text[before - 1] in _MARKS:
        before -= 1
    return Edit(Span(before, end), "")


def _skip(text: str, at: int, marks: str) -> int:
    while at < len(text) and text[at] in marks:
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    """Behind the line end; a comment up to there goes along."""
    while at < len(text) and text[at] not in "\r\n":
        at += 1
    return at + (2 if text.startswith("\r\n", at) else 1 if at < len(text) else 0)


def _blank_lines(text: str, start: int, end: int) -> int:
    """A blank line that stood behind the statement goes along where one stands in front of it, too."""
    before = text[:start].rstrip(_MARKS)
    doubled = before.endswith(("\n\n", "\r\n\r\n", "\r\r"))
    after = _line_end(text, end)
    blank = end < len(text) and not text[end:after].strip()
    return after if doubled and blank else end

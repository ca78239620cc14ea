"""Texts in which one expression is replaced by something that nobody can read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

NOT_READ = ("annotation", "returns", "decorator_list", "bases", "func", "targets", "target", "type")
HOLDERS = ast.ClassDef | ast.FunctionDef | ast.arguments | ast.Attribute | ast.JoinedStr | ast.FormattedValue


def variants(text: str) -> Iterator[tuple[str, str]]:
    """(what was replaced, the text) for each expression: a call of something unknown, with it or without it."""
    places = [place for place in _places(ast.parse(text)) if _is_value(*place)]
    for number in range(len(places)):
        for keeping in (True, False):
            tree = ast.parse(text)
            holder, field, at, old = [place for place in _places(tree) if _is_value(*place)][number]
            if keeping and isinstance(old, ast.Constant):
                continue
            new = ast.Call(ast.Name("unread", ast.Load()), [old] if keeping else [], [])
            if at is None:
                setattr(holder, field, new)
            else:
                getattr(holder, field)[at] = new
            what = f"{ast.unparse(old)} as {'unread(…)' if keeping else 'unread()'}"
            yield what, ast.unparse(ast.fix_missing_locations(tree))


def _places(tree: ast.AST) -> list[tuple[ast.AST, str, int | None, ast.expr]]:
    """Where each expression hangs: the node, its field, and the place in a list."""
    found: list[tuple[ast.AST, str, int | None, ast.expr]] = []
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            found += [(node, field, at, one) for at, one in items if isinstance(one, ast.expr)]
    return found


def _is_value(holder: ast.AST, field: str, at: int | None, old: ast.expr) -> bool:
    """May anything stand there that has a value?"""
    text = isinstance(old, ast.Constant) and isinstance(old.value, str)
    sliced = any(
        isinstance(n, ast.Slice | ast.Starred) for n in ([old, *old.elts] if isinstance(old, ast.Tuple) else [old])
    )
    stored = isinstance(getattr(old, "ctx", None), ast.Store | ast.Del)
    return not (text or sliced or stored or isinstance(holder, HOLDERS) or field in NOT_READ)

"""The roots in a statement, and which words stand under each of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from normlint.text.marks import REDUCING

Words = frozenset[str]
_ROOTS: Final = frozenset(
    f"{word}{end}" for word in ("sqrt", "rsqrt", "pow", "float_power", "reciprocal") for end in ("", "_")
)
_STAT_ROOTS: Final = frozenset(("norm", "vector_norm", "normalize", "std", "std_mean"))
_UNNAMED_ROOT: Final = re.compile(r"sqrt|reciprocal")
_FOREIGN: Final = ("self", "np", "numpy")
SIZES: Final = ("shape", "size", "ndim", "dim", "numel", "device", "dtype")
STATISTIC: Final = "()"  # among the words under a root: a reduction is there


def roots_in(parts: Sequence[ast.expr], text: str) -> tuple[tuple[Words, ...], bool]:
    """For each root in a statement the words under it; and is a call there both a statistic and its root?"""
    found: list[Words] = []
    rooted = False
    for node in (inner for part in parts for inner in ast.walk(part)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _whole(node.right):
            found.append(under(node.left))
        elif isinstance(node, ast.Call):
            name = _called(node)
            rooted = rooted or (name in _STAT_ROOTS and _first_name(node.func) not in _FOREIGN)
            if name in _ROOTS and not (name.startswith(("pow", "float")) and _whole(_exponent(node))):
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                found.append(under(*given, *([node.func.value] if isinstance(node.func, ast.Attribute) else ())))
    if not found and not rooted and _UNNAMED_ROOT.search(text):
        found.append(under(*parts) | {STATISTIC})  # a root that is handed on, not called
    return tuple(found), rooted


def _exponent(node: ast.Call) -> ast.expr | None:
    """Of a call of `pow`: what is named so, else the last argument."""
    named = [keyword.value for keyword in node.keywords if keyword.arg in ("exponent", "exp")]
    return next(iter(named or node.args[-1:]), None)


def _whole(exponent: ast.expr | None) -> bool:
    """A whole power, which is no root."""
    return isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)


def under(*nodes: ast.expr) -> Words:
    """The words in an expression, and STATISTIC where a reduction is called."""
    every = list(_inside(nodes))
    words = {
        n.id if isinstance(n, ast.Name) else f".{n.attr}" for n in every if isinstance(n, ast.Name | ast.Attribute)
    }
    calls = (n for n in every if isinstance(n, ast.Call))
    return frozenset(words | {STATISTIC} if any(_called(c) in REDUCING and not _on_self(c) for c in calls) else words)


def _inside(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, ast.Attribute) and node.attr in SIZES):
            yield node
            waiting += ast.iter_child_nodes(node)


def _called(node: ast.Call) -> str:
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _first_name(func: ast.expr) -> str:
    """Of `np.linalg.norm`: np; of `self.norm`, but not of `self.x.norm`, self."""
    depth = 0
    while isinstance(func, ast.Attribute):
        func, depth = func.value, depth + 1
    name = func.id if isinstance(func, ast.Name) else ""
    return "" if name == "self" and depth > 1 else name


def _on_self(node: ast.Call) -> bool:
    func = node.func
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"

"""Read the numbers that defaults and constants are written as."""

from __future__ import annotations

import ast
import contextlib
import math
from typing import Final

from normlint.text.elsewhere import File

UNKNOWN: Final = math.nan  # a value that can't be read
_LEAST, _MOST = 1e-12, 1e-3  # of a norm's eps: that of a logarithm is smaller, a clipping range larger


def number(node: ast.expr | None, file: File | None = None) -> float:
    """Return the number that an expression is: written, a constant of the file, or a dataclass field's default."""
    if isinstance(node, ast.Call):
        node = next((k.value for k in node.keywords if k.arg in ("default", "default_factory")), None)
    node = node.body if isinstance(node, ast.Lambda) else node
    if isinstance(node, ast.Name):
        node = file.value_of(node.id) if file is not None else None
    if isinstance(node, ast.BinOp):
        return _calculated(node)
    with contextlib.suppress(ValueError, TypeError, SyntaxError, RecursionError):
        return float(ast.literal_eval(node)) if isinstance(node, ast.UnaryOp | ast.Constant) else UNKNOWN
    return UNKNOWN


def _calculated(node: ast.BinOp) -> float:
    left, right = number(node.left), number(node.right)
    with contextlib.suppress(ArithmeticError, TypeError):
        match node.op:
            case ast.Pow():
                return float(left**right)
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
    return UNKNOWN


def may_be_eps(name: str, value: float) -> bool:
    """Return whether a value may be a norm's eps, and not that of a logarithm, an optimizer or a clipping range."""
    return "norm" in name.lower() or not (value < _LEAST or value > _MOST)

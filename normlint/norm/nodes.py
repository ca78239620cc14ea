"""Ask nodes of Python's syntax tree for names, parameters and the class that an annotation names."""

from __future__ import annotations

import ast

from normlint.text.finding import Span
from normlint.text.syntax import parsed_part

Function = ast.FunctionDef | ast.AsyncFunctionDef


def dotted(node: ast.expr) -> str:
    """Return a dotted name as it is written, such as `a.b.c`, without what is before a call or a subscript."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def plain(call: ast.Call) -> bool:
    """Return whether a call unpacks no arguments with `*` or `**`."""
    return not any(isinstance(a, ast.Starred) for a in call.args) and all(k.arg for k in call.keywords)


def arguments(function: Function) -> tuple[ast.arg, ...]:
    """Return the parameters that may be passed by name."""
    return (*function.args.args, *function.args.kwonlyargs)


def annotated(node: ast.expr | None) -> str:
    """Return the one class that an annotation names; empty if it names none or several."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        body = parsed_part(node.value, Span(0, len(node.value))).body
        node = body[0].value if body and isinstance(body[0], ast.Expr) else None
    if isinstance(node, ast.Subscript) and dotted(node.value).rpartition(".")[2] == "Optional":
        return annotated(node.slice)
    if isinstance(node, ast.BinOp):
        sides = {annotated(node.left), annotated(node.right)} - {""}
        return sides.pop() if len(sides) == 1 else ""
    return dotted(node) if isinstance(node, ast.Name | ast.Attribute) else ""

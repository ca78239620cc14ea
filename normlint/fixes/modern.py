"""Root and division in one: rsqrt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from normlint.fixes.spelled import spelled
from normlint.fixes.tree import ATOM, Function, Tree, binding
from normlint.fixes.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span

_PRODUCTS: Final = {"div": "mul", "divide": "multiply", "true_divide": "mul", "div_": "mul_", "divide_": "multiply_"}


def one_root(root: Span, division: Span, tree: Tree) -> Fix | None:
    """`1 / sqrt(v)`, `x / sqrt(v)`, and the same through a name, with rsqrt."""
    taken = tree.at(root)
    if taken is None or tree.span(taken) != root or not (inverse := _inverse(tree, taken)):
        return None
    holder = tree.parent(taken)
    edits: tuple[Edit, ...] = ()
    if isinstance(holder, ast.Attribute) and holder.attr == "reciprocal":
        call = tree.parent(holder)
        end = tree.with_parentheses(taken).end
        edits = (*inverse, Edit(Span(end, tree.span(call).end), "")) if isinstance(call, ast.Call) else ()
    elif holder is not None and _divides(holder, taken):
        edits = (*_turned(tree, holder, taken), *inverse)
    elif isinstance(holder, ast.Assign) and holder.value is taken:
        edits = _through_name(tree, holder, inverse, division)
    return Fix("Take the inverse root at once, with rsqrt", edits, Applicability.SAFE) if edits else None


def _inverse(tree: Tree, root: ast.expr) -> tuple[Edit, ...]:
    """The root as one of rsqrt."""
    if isinstance(root, ast.BinOp):
        return _of_power(tree, root)
    if not isinstance(root, ast.Call) or root.keywords:
        return ()
    if isinstance(root.func, ast.Name):
        written = spelled(tree, "torch.rsqrt") if root.func.id == spelled(tree, "torch.sqrt") else None
        return (tree.replace(root.func, written),) if written else ()
    name = _name(root)
    end = tree.span(root.func).end
    renamed = Edit(Span(end - len(name), end), "rsqrt")
    if name == "sqrt":
        return (renamed,)
    if name != "pow" or not root.args or not _half(root.args[-1]):
        return ()
    first = root.args[0] if len(root.args) > 1 else None
    start = tree.with_parentheses(first).end if first is not None else end + 1
    return (renamed, Edit(Span(start, tree.span(root).end - 1), ""))


def _of_power(tree: Tree, root: ast.BinOp) -> tuple[Edit, ...]:
    """`v ** 0.5`."""
    if not isinstance(root.op, ast.Pow) or not _half(root.right):
        return ()
    inner, whole = tree.with_parentheses(root.left), tree.span(root)
    if inner != tree.span(root.left) or binding(root.left) >= ATOM:
        return (Edit(Span(inner.end, whole.end), ".rsqrt()"),)
    written = spelled(tree, "torch.rsqrt")
    if not written:
        return ()
    return (Edit(Span(whole.start, whole.start), f"{written}("), Edit(Span(inner.end, whole.end), ")"))


def _half(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0.5


# --- the division ----------------------------------------------------------------------------------------------------


def _divides(holder: ast.AST, part: ast.expr) -> bool:
    """The holder divides by the part and does nothing else."""
    if isinstance(holder, ast.BinOp | ast.AugAssign):
        right = holder.right if isinstance(holder, ast.BinOp) else holder.value
        return isinstance(holder.op, ast.Div) and right is part
    if not isinstance(holder, ast.Call) or holder.keywords:
        return False
    return _reciprocal(holder, part) or (_name(holder) in _PRODUCTS and holder.args[-1:] == [part])


def _reciprocal(holder: ast.AST, part: ast.expr) -> bool:
    """`torch.reciprocal(part)`, `1 / part`."""
    if isinstance(holder, ast.BinOp):
        one = isinstance(holder.left, ast.Constant) and holder.left.value == 1
        return one and isinstance(holder.op, ast.Div) and holder.right is part
    return isinstance(holder, ast.Call) and _name(holder) == "reciprocal" and holder.args == [part]


def _turned(tree: Tree, holder: ast.AST, part: ast.expr) -> tuple[Edit, ...]:
    """The division as a product; one divided by the part as the part alone."""
    inner = tree.with_parentheses(part)
    if _reciprocal(holder, part):
        outer = tree.with_parentheses(holder)
        return (Edit(Span(outer.start, inner.start), ""), Edit(Span(inner.end, outer.end), ""))
    if isinstance(holder, ast.BinOp):
        return (_sign(tree, tree.with_parentheses(holder.left).end, inner.start),)
    if isinstance(holder, ast.AugAssign):
        return (_sign(tree, tree.span(holder.target).end, inner.start),)
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
        end = tree.span(holder.func).end
        return (Edit(Span(end - len(holder.func.attr), end), _PRODUCTS[holder.func.attr]),)
    return ()


def _sign(tree: Tree, start: int, end: int) -> Edit:
    """The slash between two operands becomes a star."""
    at = tree.text.index("/", start, end)
    return Edit(Span(at, at + 1), "*")


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


# --- through a name --------------------------------------------------------------------------------------------------


def _through_name(tree: Tree, stmt: ast.Assign, inverse: tuple[Edit, ...], division: Span) -> tuple[Edit, ...]:
    """`rms = sqrt(v)` and `x / rms`: what the name stands for is inverted, and so is the name."""
    function = tree.function(stmt)
    target = stmt.targets[0]
    if function is None or len(stmt.targets) != 1 or not isinstance(target, ast.Name):
        return ()
    uses = list(_uses(function, target))
    inverted = target.id.lower().startswith(("inv", "rsqrt", "rstd", "rrms"))  # the name has been right all along
    new = target.id if inverted else f"inv_{target.id}"
    if uses and all(_over(tree, use) for use in uses) and (inverted or not _used(function, new)):
        if not any(tree.around(division, type(tree.parent(use) or use)) for use in uses):
            return ()
        edits = [*inverse, tree.replace(target, new)]
        for use in uses:
            holder = tree.parent(use)
            assert holder is not None
            edits += [*_turned(tree, holder, use), tree.replace(use, new)]
        return tuple(edits)
    return ()


def _uses(function: Function, target: ast.Name) -> Iterator[ast.Name]:
    """Where else the function has the name."""
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id == target.id and node is not target:
            yield node


def _over(tree: Tree, use: ast.Name) -> bool:
    """It is divided by, and not only inverted: that would make a name of a name."""
    holder = tree.parent(use)
    divided = holder is not None and _divides(holder, use)
    return divided and holder is not None and not _reciprocal(holder, use)


def _used(function: Function, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(function))

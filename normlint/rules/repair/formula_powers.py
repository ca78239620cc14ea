"""Another power: the roots, powers and divisions that a statistic goes through, each changed by a factor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from normlint.evaluate.monomial import Step
from normlint.rules.repair.formula_flow import Product, bound_to_root, called, definitions, product_at, read_once
from normlint.rules.repair.formula_text import (
    FIXED,
    HALF,
    NAMED,
    around,
    decimal,
    function,
    instead,
    number,
    parenthesised,
    tight,
)
from normlint.rules.repair.tree import POWER, PRODUCT, Tree
from normlint.text.finding import Edit, Span

Edits = tuple[Edit, ...]
_FLIPPED: Final = {
    "mul": "div", "mul_": "div_", "multiply": "divide", "div": "mul", "div_": "mul_", "divide": "multiply",
    "true_divide": "mul",
}  # fmt: skip
_POWERS: Final = ("pow", "pow_", "float_power")


def scaled(tree: Tree, step: Step, factor: Fraction) -> Iterator[Edits]:
    """The step with its power multiplied by the factor."""
    assigned = tree.at(step.span, ast.AugAssign)
    if assigned is not None and tree.span(assigned) == step.span:
        yield from _division(tree, assigned, factor)
        return
    node = tree.at(step.span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield from _power(tree, node, node.left, node.right, factor)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield from _division(tree, node, factor)
    elif isinstance(node, ast.Call):
        yield from _call(tree, node, factor)


def _call(tree: Tree, node: ast.Call, factor: Fraction) -> Iterator[Edits]:
    name = called(node)
    plain = name.rstrip("_")
    if plain in FIXED:
        yield from _fixed(tree, node, FIXED[plain] * factor)
    elif name in _POWERS and (found := _operands(node)) is not None:
        yield from _power(tree, node, *found, factor)
    elif name in _FLIPPED:
        yield from _division(tree, node, factor)
    elif plain in ("std", "std_mean") and factor == 2:
        yield from _renamed(tree, node, plain.replace("std", "var"))


def _operands(node: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """(base, exponent) of a call of pow, as a method or a function."""
    exponents = [k.value for k in node.keywords if k.arg in ("exponent", "p")] or node.args[-1:]
    method = isinstance(node.func, ast.Attribute) and len(node.args) + len(node.keywords) == 1
    base = node.func.value if method and isinstance(node.func, ast.Attribute) else node.args[0] if node.args else None
    return (base, exponents[0]) if base is not None and exponents and base is not exponents[0] else None


def _argument(node: ast.Call) -> ast.expr | None:
    """What the root is taken of: the sole argument of a function, or the receiver of a method."""
    if len(node.args) == 1 and not node.keywords:
        return node.args[0]
    bare = not node.args and not node.keywords
    return node.func.value if bare and isinstance(node.func, ast.Attribute) else None


def _fixed(tree: Tree, node: ast.Call, power: Fraction) -> Iterator[Edits]:
    """A root, square or reciprocal becomes another, or goes."""
    base = _argument(node)
    if base is None:
        return
    if power == 1:
        yield instead(tree, node, base)
    elif power in NAMED:
        yield from _inverse_in_product(tree, node, base, power)
        yield from _renamed(tree, node, NAMED[power] + ("_" if called(node).endswith("_") else ""))


def _inverse_in_product(tree: Tree, node: ast.Call, base: ast.expr, power: Fraction) -> Iterator[Edits]:
    """`x * torch.rsqrt(norm)` becomes `x / norm`, and `torch.rsqrt(norm)` alone `1 / norm`."""
    if power != -1 or base not in node.args:
        return
    holder = tree.parent(node)
    if isinstance(holder, ast.BinOp) and isinstance(holder.op, ast.Mult) and holder.right is node:
        yield (*_operator(tree, holder, "/"), tree.replace(node, tight(tree, base, POWER)))
    yield (tree.replace(node, _one_over(tree, node, base)),)


def _one_over(tree: Tree, node: ast.expr, base: ast.expr) -> str:
    text = f"1 / {tight(tree, base, POWER)}"
    holder = tree.parent(node)
    operand = isinstance(holder, ast.Attribute) or (isinstance(holder, ast.BinOp) and holder.right is node)
    return f"({text})" if operand and not parenthesised(tree, node) else text


def _renamed(tree: Tree, node: ast.Call, name: str) -> Iterator[Edits]:
    """The same call of another function or method."""
    end = tree.span(node.func).end
    if isinstance(node.func, ast.Attribute):
        yield (Edit(Span(end - len(node.func.attr), end), name),)
    elif isinstance(node.func, ast.Name) and (by_name := function(tree, name)):
        yield (tree.replace(node.func, by_name),)


def _power(tree: Tree, node: ast.expr, base: ast.expr, exponent: ast.expr, factor: Fraction) -> Iterator[Edits]:
    value = number(exponent)
    if value is None:
        return
    if value * factor == 1:
        yield instead(tree, node, base)
    else:
        yield (Edit(tree.with_parentheses(exponent), decimal(value * factor)),)


# --- divisions and products ------------------------------------------------------------------------------------------


def _division(tree: Tree, node: ast.expr | ast.AugAssign, factor: Fraction) -> Iterator[Edits]:
    divisor = _divisor(node)
    if divisor is None:
        return
    if factor == -1:
        if isinstance(node, ast.BinOp) and number(node.left) == 1:
            yield instead(tree, node, node.right)
        found = product_at(tree, divisor)
        yield from flipped(tree, found) if found else ()
    if factor == HALF:
        given = definitions(tree, divisor)
        if len(given) == 1 and bound_to_root(tree, given[0]) and read_once(tree, given[0]):
            yield around(tree, given[0], "sqrt")  # std = var + eps
        yield around(tree, divisor, "sqrt")


def _divisor(node: ast.expr | ast.AugAssign) -> ast.expr | None:
    if isinstance(node, ast.BinOp):
        return node.right
    if isinstance(node, ast.AugAssign):
        return node.value
    return node.args[-1] if isinstance(node, ast.Call) and node.args and not node.keywords else None


def flipped(tree: Tree, product: Product) -> Iterator[Edits]:
    """The product as a division by its value, the division as a product."""
    node = product.node
    if isinstance(node, ast.AugAssign):
        yield (_sign(tree, tree.span(node.target).end, tree.with_parentheses(node.value).start, node.op),)
    elif isinstance(node, ast.BinOp) and not product.first:
        yield _operator(tree, node, "/" if isinstance(node.op, ast.Mult) else "*")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        other, value = tight(tree, product.other, PRODUCT), tight(tree, product.value, POWER)
        yield (tree.replace(node, f"{other} / {value}"),)
    elif isinstance(node, ast.Call) and not product.first:
        yield from _renamed(tree, node, _FLIPPED[called(node)])
    elif isinstance(node, ast.Call):
        yield from _swapped(tree, node, product)


def _operator(tree: Tree, node: ast.BinOp, sign: str) -> Edits:
    start, end = tree.with_parentheses(node.left).end, tree.with_parentheses(node.right).start
    at = tree.text.find("*" if isinstance(node.op, ast.Mult) else "/", start, end)
    return (Edit(Span(at, at + 1), sign),)


def _sign(tree: Tree, start: int, end: int, op: ast.operator) -> Edit:
    old, new = ("*", "/") if isinstance(op, ast.Mult) else ("/", "*")
    at = tree.text.find(old, start, end)
    return Edit(Span(at, at + 1), new)


def _swapped(tree: Tree, node: ast.Call, product: Product) -> Iterator[Edits]:
    """`torch.mul(r, x)` becomes `torch.div(x, r)`, `r.mul(x)` becomes `x.div(r)`."""
    if called(node) not in ("mul", "multiply"):
        return
    renamed = next(_renamed(tree, node, "div"), ())
    if product.value in node.args:
        value, other = tree.source(product.value), tree.source(product.other)
        yield (*renamed, tree.replace(product.value, other), tree.replace(product.other, value))
    else:
        yield (tree.replace(node, f"{tight(tree, product.other)}.div({tree.source(product.value)})"),)

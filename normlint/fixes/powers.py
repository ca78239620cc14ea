"""Read and rewrite roots and powers, and turn products by them into divisions and back."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import Product, carried, product_at
from normlint.fixes.spelling import (
    HALF,
    NAMED,
    POWER,
    POWERS,
    PRODUCT,
    bare,
    called,
    expression,
    instead,
    number,
    operands,
    operation,
    placed,
    rooted,
    spread,
    tight,
)
from normlint.fixes.tree import Tree, spelled
from normlint.norm.norm import Computation


class Power(NamedTuple):
    """An expression that is another one to a power."""

    whole: cst.BaseExpression
    base: cst.BaseExpression
    power: Fraction

    def to(self, document: Document, tree: Tree, power: Fraction) -> Changes:
        """Change the power of the base; nothing if the new power is none of 1, -1, 1/2 and -1/2."""
        if power == 1:
            return {self.whole: in_place_of(document, self.whole, self.base)}
        if power not in (HALF, -HALF, -1):
            return {}
        return {self.whole: in_place_of(document, self.whole, rooted(tree, self.base, NAMED[power]))}


def power_of(node: Any) -> Power | None:
    """Return a root, square, reciprocal or power, however it is written."""
    several, name = operands(node), called(node).rstrip("_")
    if name in POWERS:
        return next((Power(node, base, POWERS[name]) for base in operands(node, 1)), None)
    if operation(node) == "div" and several and number(several[0]) == 1:
        return Power(node, several[1], Fraction(-1))
    value = number(several[1]) if operation(node) == "pow" and several else None
    return None if value is None else Power(node, several[0], value)


def powers_of(document: Document, c: Computation) -> list[Power]:
    """Return the powers that are taken of the statistic, the last first; directly nested ones are combined."""
    found: list[Power] = []
    for span in (s.span for s in c.own_steps() if s.span != c.statistic.span):
        taken = power_of(document.at(span))
        if taken is None or document.span(taken.whole) != span or taken.whole in [one.whole for one in found]:
            continue
        if found and found[-1].whole is taken.base:
            before = found.pop()
            taken = Power(taken.whole, before.base, before.power * taken.power)
        found.append(taken)
    return found[::-1]


def squared_base(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """Return x for `x ** 2`, `x * x`, `x.pow(2)`, `x.square()` or `x.mul(x)`."""
    found = power_of(node)
    if found is not None:
        return found.base if found.power == 2 else None
    factors = operands(node) if operation(node) == "mul" else ()
    return factors[0] if factors and factors[0].deep_equals(factors[1]) else None


def in_place_of(document: Document, whole: cst.BaseExpression, part: cst.BaseExpression) -> cst.BaseExpression:
    """Return the part to replace the whole expression, without parentheses that become unnecessary."""
    kept = placed(document, whole, bare(part))
    if whole.lpar and not kept.lpar and spread(kept):
        return kept.with_changes(lpar=whole.lpar, rpar=whole.rpar)
    return kept


def renamed(tree: Tree, call: cst.Call, name: str) -> cst.Call:
    """Change the name of the called function or method."""
    name += "_" * called(call).endswith("_")
    if isinstance(call.func, cst.Attribute):
        return call.with_changes(func=call.func.with_changes(attr=cst.Name(name)))
    return call.with_changes(func=cst.parse_expression(spelled(tree, f"torch.{name}") or name))


def joining(document: Document, start: cst.BaseExpression) -> Iterator[Product]:
    """Yield the products of the value with anything but a number, and the divisions by the value."""
    for node in carried(document, start):
        found = product_at(document, node)
        if found is not None and number(found.other) is None and (not found.first or operation(found.node) == "mul"):
            yield found


def turned(document: Document, product: Product, value: cst.BaseExpression | None = None) -> Changes:
    """Turn a product into a division by its value (or by the given one), and a division into a product."""
    node: Any = product.node
    divides, new = operation(node) == "div", tight(value or product.value, POWER)
    if called(node).endswith("_"):
        return {}
    if isinstance(node, cst.AugAssign):
        return {node.operator: cst.MultiplyAssign() if divides else cst.DivideAssign(), node.value: new}
    if isinstance(node, cst.BinaryOperation) and not product.first:  # keeps its white space
        spaces = {name: getattr(node.operator, name) for name in ("whitespace_before", "whitespace_after")}
        return {node.operator: (cst.Multiply if divides else cst.Divide)(**spaces), node.right: new}
    sign, other = "*" if divides else "/", tight(product.other, PRODUCT)
    return {node: instead(document, node, expression(f"{{x}} {sign} {{v}}", x=other, v=new))}
